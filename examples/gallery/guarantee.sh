#!/bin/sh
# Give a trained network a margin on its bandwidths, so that at most 1 % of users miss their target.
set -eu
anyk train urllc --method m-gnn --samples 500 --out network.safetensors
anyk calibrate network.safetensors --k 10 --beta 0.01 --out guaranteed.safetensors
anyk sample urllc --k 10 | anyk allocate guaranteed.safetensors - --format csv
