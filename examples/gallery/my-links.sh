#!/bin/sh
# Choose the powers of links that share a band, from a matrix of gains.
set -eu
anyk solve interference --input links.csv --p-max 10
