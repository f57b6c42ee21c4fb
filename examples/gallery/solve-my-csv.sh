#!/bin/sh
# Solve every cell of a CSV file. Answers keep your other columns.
set -eu
anyk solve urllc users.csv --format csv
