#!/bin/sh
# Train a policy on cells of 10 users, and compare it with the optimum and with equal power in larger cells.
set -eu
anyk train urllc --method price --out price.safetensors
anyk evaluate price.safetensors equal-power --k 10,100,1000 --samples 20
