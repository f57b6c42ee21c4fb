#!/bin/sh
# Compute the mean optimum and the cost of equal power for several numbers of users and two power budgets.
set -eu
anyk sweep - <<END
problem = "urllc"
policies = ["optimum", "equal-power"]
k = [1, 10, 100]
samples = 50

[options]
max-power-dbm = [40, 43]
END
