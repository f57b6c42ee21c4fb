"""Measure what shards and Ray add to a run on this machine, and the memory of a long stream.

    python3 bench/shards.py --anyk target/release/anyk           # four shards and a merge, and 10 million users
    PYTHONPATH=target/python-package python bench/shards.py --ray    # a sweep on Ray, compared with local threads
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

SHARDS = 4


def seconds(command: list[str], folder: Path, out: str | None = None) -> float:
    """Run a command and return its wall time."""
    start = time.perf_counter()
    with open(folder / (out or "stdout"), "wb") as file:
        subprocess.run(command, cwd=folder, stdout=file, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def peak_mb(command: list[str], folder: Path, out: str) -> float:
    """Run a command in its own process, and return its largest resident memory."""
    seconds(command, folder, out)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3


def shards(anyk: str, folder: Path) -> None:
    line = [anyk, "evaluate", "equal-power", "--problem", "urllc", "--k", "10,100,1000", "--samples", "6000"]
    for attempt in range(3):
        whole = seconds(line, folder)
        own = ["--out", f"parts-{attempt}"]
        split = sum(seconds([*line, "--shard", f"{shard}/{SHARDS}", *own], folder) for shard in range(1, SHARDS + 1))
        merge = seconds([anyk, "merge", f"parts-{attempt}"], folder)
        more = 100 * ((split + merge) / whole - 1)
        print(f"one run {whole:.1f} s; {SHARDS} shards {split:.1f} s and merge {merge:.2f} s: {more:+.1f} %")


def memory(anyk: str, folder: Path) -> None:
    seconds([anyk, "sample", "urllc", "--k", "100", "--count", "100000"], folder, "cells.json")
    line = [anyk, "solve", "urllc", "cells.json", "--json", "--no-check"]
    for shard in range(1, SHARDS + 1):
        mb = peak_mb([*line, "--shard", f"{shard}/{SHARDS}", "--out", "stream"], folder, "stdout")
        print(f"10 million users, up to shard {shard}/{SHARDS}: at most {mb:.0f} MB")
    mb = peak_mb([anyk, "merge", "stream"], folder, "merged")
    print(f"10 million users, with the merge: at most {mb:.0f} MB")


def on_ray() -> None:
    import anyk
    import ray

    spec = {"problem": "urllc", "policies": ["equal-power"], "k": [200], "samples": 100_000, "test_seed": 7}
    ray.init(log_to_driver=False)
    for _ in range(2):
        times, tables = [], []
        for backend in ("local", "ray"):
            start = time.perf_counter()
            tables.append(anyk.sweep(spec, backend=backend).rows)
            times.append(time.perf_counter() - start)
        assert tables[0] == tables[1]
        print(f"local {times[0]:.1f} s, Ray {times[1]:.1f} s: {100 * (times[1] / times[0] - 1):+.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anyk", default="anyk", help="path of the program")
    parser.add_argument("--ray", action="store_true", help="measure Ray instead")
    options = parser.parse_args()
    if options.ray:
        on_ray()
        return
    anyk = str(Path(options.anyk).resolve())
    with tempfile.TemporaryDirectory() as folder:
        shards(anyk, Path(folder))
        memory(anyk, Path(folder))


if __name__ == "__main__":
    main()
