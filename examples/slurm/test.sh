#!/usr/bin/env bash
# Runs the array job on a Slurm cluster with one node, this machine, and compares the merged result with a run without
# shards. It starts the daemons itself, in a temporary folder, and stops them at the end:
#
#   examples/slurm/test.sh PROGRAM [PYTHON]    # PYTHON also runs submit.py, if it has submitit
#
# If Slurm cannot be started here, it prints the reason and exits with code 77.
set -euo pipefail

program=$(realpath "$1")
python=${2:-}
here=$(realpath "$(dirname "$0")")

skip() {
    echo "$1"
    exit 77
}

for name in munged slurmctld slurmd sbatch; do
    PATH="$PATH:/usr/sbin" command -v "$name" > /dev/null || skip "$name is missing; on Debian, install slurm-wlm and munge"
done
PATH="$PATH:/usr/sbin"

folder=$(mktemp -d)
daemons=()
stop() {
    # slurmctld must run until the jobs have ended.
    timeout 5 scancel --user="$(id -un)" 2> /dev/null || true
    for daemon in "${daemons[@]}"; do
        kill "$daemon" 2> /dev/null || true
        timeout 5 tail --pid="$daemon" -f /dev/null || kill -KILL "$daemon" 2> /dev/null || true
    done
    rm -rf "$folder"
}
trap stop EXIT

# Starts a daemon in the foreground, so that this script can stop it.
start() {
    "$@" > "$folder/$1.out" 2>&1 &
    daemons=("$!" "${daemons[@]}")
}

# Repeats a command until it succeeds, for half a minute.
await() {
    local end=$((SECONDS + 30))
    while [ "$SECONDS" -lt "$end" ]; do
        if "$@"; then return; fi
        sleep 0.5
    done
    for file in "$folder"/*.out; do
        echo "$(basename "$file"): $(tail -n 1 "$file")"
    done
    skip "Slurm did not start within 30 seconds"
}

host=$(hostname -s)
user=$(id -un)
mkdir "$folder/state" "$folder/spool" "$folder/bin" "$folder/work"
ln -s "$program" "$folder/bin/anyk"
head -c 64 /dev/urandom > "$folder/key"
chmod 600 "$folder/key"
# Two ports that are probably free; the defaults may belong to a real cluster.
port=$((20000 + RANDOM % 10000))
cat > "$folder/slurm.conf" << END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthInfo=socket=$folder/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0,bf_interval=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
export SLURM_CONF="$folder/slurm.conf"
export PATH="$folder/bin:$PATH"

start munged --foreground --force --key-file="$folder/key" --socket="$folder/socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/seed"
await test -S "$folder/socket"
start slurmctld -D -f "$SLURM_CONF"
start slurmd -D -f "$SLURM_CONF"
idle() { timeout 5 sinfo --noheader --format=%T 2> /dev/null | grep -q idle; }
await idle

cd "$folder/work"
anyk train urllc --method m-gnn --samples 200 --out model.safetensors > /dev/null
arguments=(model.safetensors --k "1,10,100" --samples 300)
anyk evaluate "${arguments[@]}" > whole.txt

# As in evaluate.sbatch.
id=$(sbatch --parsable "$here/evaluate.sbatch" "${arguments[@]}")
timeout 90 sbatch --wait --dependency=afterok:"$id" --kill-on-invalid-dep=yes --output=merged.txt --error=merged.err \
    --wrap="anyk merge parts" > /dev/null || {
    cat slurm-* merged.err
    exit 1
}
diff whole.txt merged.txt
echo "the array job and the run without shards print the same result"

if [ -n "$python" ] && "$python" -c "import submitit" 2> /dev/null; then
    rm -r parts
    # Without accounting, submitit also prints warnings.
    timeout 90 "$python" "$here/submit.py" "${arguments[@]}" > submitted.txt 2>&1 || {
        cat submitted.txt
        exit 1
    }
    anyk merge parts | diff whole.txt -
    echo "submit.py and the run without shards print the same result"
fi
