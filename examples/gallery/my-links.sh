#!/bin/sh
# Choose the powers of links that share a band, from a matrix of gains.
set -eu
anyk solve interference links.csv --p-max 10
