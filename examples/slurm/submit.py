"""Evaluate policies on a Slurm cluster with submitit: ``python submit.py price.safetensors --k 10,100,1000``."""

import os
import subprocess
import sys

import submitit

SHARDS = 4


def evaluate(shard: int, arguments: list[str]) -> None:
    """Compute one shard, in a task of the array job."""
    threads = {"RAYON_NUM_THREADS": os.environ.get("SLURM_CPUS_PER_TASK", "1")}
    command = ["anyk", "evaluate", *arguments, "--shard", f"{shard}/{SHARDS}", "--out", "parts"]
    subprocess.run(command, env=os.environ | threads, check=True)


executor = submitit.AutoExecutor(folder="logs")
executor.update_parameters(name="anyk", cpus_per_task=2, timeout_min=60)
for job in executor.map_array(evaluate, range(1, SHARDS + 1), [sys.argv[1:]] * SHARDS):
    job.result()  # waits for the task
subprocess.run(["anyk", "merge", "parts"], check=True)
