#!/bin/sh
# Compare a policy in C++ with WMMSE: AnyK starts it once and sends it one network per line.
set -eu
c++ -O2 -Wall -Wextra -Werror policy.cpp -o policy
anyk evaluate --problem interference cmd:./policy --k 5,20 --samples 50
