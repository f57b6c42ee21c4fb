#!/bin/sh
# Compute the mean optimum and the cost of equal power for several numbers of users.
set -eu
anyk sweep --k 1,10,100 --samples 50
