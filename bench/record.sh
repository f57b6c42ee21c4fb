#!/usr/bin/env bash
# Records the answers, printed text and measurements of the program, to compare two versions bit for bit:
#   bench/record.sh PROGRAM FOLDER      # about five minutes on two cores
#   bench/compare_records.py FOLDER OTHER_FOLDER
# Only times may differ between two versions with the same figures.
set -u
A=$(realpath "$1"); O=$2; E=$(realpath "$(dirname "$0")/../examples")
mkdir -p "$O/m"; cd "$O" || exit 1
solve(){ "$A" solve "$@"; }; train(){ "$A" train "$@"; }
samp(){ p=$1; shift; if [ "$p" = fading ]; then "$A" sample fading --law "$@"; else "$A" sample "$p" "$@"; fi; }
samp urllc --k 50 --count 3 --seed 5 > u50.json
samp urllc --k 7 --seed 3 --format csv > u7.csv
samp urllc --k 1000 --seed 2 > u1000.json
samp interference --scenario dense --k 10 --count 20 --seed 1 --format npy --out g10.npy --force
samp interference --scenario d2d --k 50 --count 5 --seed 1 > g50.json
samp fading rician:k=3 --count 2000 --seed 1 --format npy --out fad.npy --force
for f in u50.json u7.csv u1000.json "$E"/five-users.json "$E"/mixed.csv; do b=$(basename $f); solve urllc --input $f --json > solve_$b.json; done
solve urllc --input "$E"/mixed.csv --max-power-dbm 8 --json > solve_inf.json
solve urllc --input u50.json > solve_u50.txt
solve qos-power --input u50.json --rate-bps 2e6 --json > solve_p5.json
solve equal-bandwidth --input u50.json --json > solve_p6.json
solve equal-bandwidth --input "$E"/five-users.json --max-power-dbm 11 --json > solve_p6inf.json
for m in wmmse fplinq greedy exact; do solve interference --input g10.npy --method $m --json > solve_i_$m.json; done
solve interference --input g10.npy --tolerance 1e-9 --random-starts 5 --seed 3 --trace --json > solve_i_tr.json
solve link-scheduling --input g50.json --json > solve_ls.json
solve interference --input g50.json --json > solve_d2d.json
for s in 1 2; do
train urllc --method p-gnn --seed $s --out m/pgnn$s --json > train_pgnn$s.json
train urllc --method p-gnn --pretraining unsupervised --epsilon-d 8e-6 --aggregator sum --train-k 5,10 --samples 100 --seed $s --out m/pgnnu$s --json > train_pgnnu$s.json
train urllc --method m-gnn --seed $s --out m/mgnn$s --json > train_mgnn$s.json
train urllc --method m-gnn --aggregator max --samples 50 --seed $s --out m/mgnnx$s --json > train_mgnnx$s.json
train urllc --method fnn --train-k 20 --samples 1000 --seed $s --out m/fnn$s --json > train_fnn$s.json
train urllc --method price --seed $s --out m/any$s --json > train_any$s.json
train urllc --method price --fading fad.npy --seed $s --out m/anyf$s --json > train_anyf$s.json
train urllc --method price --fading fad.npy --pretraining unsupervised --seed $s --out m/anyfu$s --json > train_anyfu$s.json
train qos-power --seed $s --out m/p5$s --json > train_p5$s.json
train equal-bandwidth --seed $s --out m/p6$s --json > train_p6$s.json
train equal-bandwidth --method m-gnn --output sum-normalisation --seed $s --out m/p6m$s --json > train_p6m$s.json
train interference --scenario dense --seed $s --out m/dense$s --json > train_dense$s.json
train interference --scenario d2d --seed $s --out m/d2d$s --json > train_d2d$s.json
train interference --scenario dense --labels wmmse --output sigmoid --hidden 8 --steps 3000 --samples 2000 --seed $s --out m/densew$s --json > train_densew$s.json
train link-scheduling --scenario d2d --labels fplinq --output classifier --steps 2000 --seed $s --out m/ls$s --json > train_ls$s.json
for m in pgnn pgnnu mgnn mgnnx any p5 p6 p6m; do "$A" evaluate m/$m$s --k 1,2,10,50,200 --samples 40 --json > eval_$m$s.json; "$A" evaluate m/$m$s --k 2,10 --samples 20 > eval_$m$s.txt; done
"$A" evaluate m/fnn$s --k 1,10,20 --samples 40 --json > eval_fnn$s.json
for m in anyf anyfu; do "$A" evaluate m/$m$s --fading rician:k=3 --k 1,10,100 --samples 40 --json > eval_$m$s.json; done
for m in dense densew; do "$A" evaluate m/$m$s --k 5,10,50 --samples 20 --json > eval_$m$s.json; done
for m in d2d ls; do "$A" evaluate m/$m$s --k 20,50,200 --samples 10 --json > eval_$m$s.json; done
"$A" evaluate m/any$s --max-power-dbm 40 --antennas 4 --k 10,100 --samples 20 --json > eval_anyo$s.json
for m in pgnn mgnn any p5 p6 p6m anyf; do "$A" allocate m/$m$s --input u50.json --json > alloc_$m$s.json; done
for m in pgnn mgnn any; do "$A" allocate m/$m$s --input u50.json --certify --json > cert_$m$s.json; done
"$A" allocate m/any$s --input "$E"/mixed.csv --certify --max-power-dbm 8 --json > cert_inf$s.json
"$A" allocate m/any$s --input "$E"/mixed.csv --certify > cert_mix$s.txt
for m in d2d ls; do "$A" allocate m/$m$s --input g50.json --json > alloc_$m$s.json; done
"$A" allocate m/dense$s --input g10.npy --json > alloc_dense$s.json
"$A" calibrate m/pgnn$s --k 10 --out m/cal$s --json > cal$s.json
"$A" calibrate m/pgnn$s --k 5,10 --cells 4000 --shrink --out m/cals$s --json > cals$s.json
"$A" calibrate m/anyf$s --fading rician:k=3 --k 10 --out m/calf$s --json > calf$s.json
"$A" evaluate m/cal$s --k 10 --samples 40 --json > evalcal$s.json
done
for p in qos-power equal-bandwidth-power equal-bandwidth-bandwidth urllc-power urllc-bandwidth interference link-scheduling toy-one toy-two; do "$A" diagnose --policy $p --users 2000 --no-check --json > diag_$p.json; done
"$A" diagnose --policy qos-power --users 2000 --json > diagcheck.json
for m in pgnn any p6 dense ls; do "$A" diagnose m/${m}1 --users 2000 --no-check --json > diag_m_$m.json; done
"$A" diagnose m/pgnn1 --quantity bandwidth --users 2000 --json > diag_m_pb.json
"$A" sweep "$E"/sweeps/small.toml --json > sweep.json
"$A" sweep "$E"/sweeps/small.toml > sweep.txt
rm -rf out; "$A" reproduce --out out > reproduce.txt 2>/dev/null
