"""Compare the speed of WMMSE on interference networks with NumPy.

`cargo xtask compare wmmse` runs this script: 100 dense networks of K = 100 links, 100 iterations from full power,
float64, one thread. NumPy computes the networks in batches of 100, and of 10, which fit in the cache. The two sums of
an iteration are batched matrix products; everything else is elementwise.

The powers of both must agree to 1e-8; otherwise the comparison is void.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

ANYK = sys.argv[1]
N, K, ITERATIONS = 100, 100, 100
BATCHES = (100, 10)


def wmmse(gains, direct, root):
    """Return the powers of a batch from its gains (N, K, K), their diagonals, and the roots of these."""
    v = np.ones_like(direct)
    for _ in range(ITERATIONS):
        p = v * v
        total = (gains @ p[:, :, None])[:, :, 0] + 1
        u = root * v / total
        w = total / (total - direct * p)
        wu = w * u
        v = np.minimum(wu * root / ((wu * u)[:, None, :] @ gains)[:, 0], 1)
    return v * v


def median_us(call, seconds):
    """Return the median processor time; other programs would affect the wall time of a call of 100 ms."""
    call()
    times, started = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - started < seconds:
        before = time.process_time()
        call()
        times.append(time.process_time() - before)
    return 1e6 * sorted(times)[len(times) // 2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gains.npy")
        sample = ["--scenario", "dense", "--k", str(K), "--count", str(N), "--seed", "1"]
        subprocess.run([ANYK, "sample", "interference", *sample, "--format", "npy", "--out", path], check=True)
        solve = ["--iterations", str(ITERATIONS), "--input", path, "--json"]
        answer = json.loads(subprocess.run([ANYK, "solve", "interference", *solve], capture_output=True, check=True).stdout)
        gains = np.load(path)
    figures = json.loads(subprocess.run([ANYK, "bench", "--json"], capture_output=True, check=True).stdout)

    direct = np.ascontiguousarray(np.diagonal(gains, axis1=1, axis2=2))
    root = np.sqrt(direct)
    ours = np.array([instance["power"] for instance in answer["instances"]])
    off = np.abs(wmmse(gains, direct, root) - ours).max()
    if not off <= 1e-8:
        sys.exit(f"numpy: a power is off by {off:.1e}: the comparison is void")
    result = {"k": K, "iterations": ITERATIONS, "anyk_us": figures["wmmse_us_k100"]}
    result["anyk_all_cores_us"] = figures["wmmse_all_cores_us_k100"]
    result["numpy_disagreement"] = off
    for batch in BATCHES:
        part = gains[:batch].copy(), direct[:batch].copy(), root[:batch].copy()
        us = median_us(lambda: wmmse(*part), 3) / batch
        result[f"numpy_batch{batch}_us"], result[f"numpy_batch{batch}_over_anyk"] = us, us / result["anyk_us"]
    if "--json" in sys.argv:
        print(json.dumps(result))
        return
    print(f"WMMSE, K = {K}, {ITERATIONS} iterations, one thread; powers agree to {off:.1e}")
    print(f"{'':20}{'µs':>12}{'times anyk':>14}")
    print(f"{'anyk':20}{result['anyk_us']:12.1f}{1:14.1f}")
    ours = result["anyk_all_cores_us"]
    print(f"{'anyk, all cores':20}{ours:12.1f}{ours / result['anyk_us']:14.1f}")
    for batch in BATCHES:
        us, ratio = result[f"numpy_batch{batch}_us"], result[f"numpy_batch{batch}_over_anyk"]
        print(f"{f'numpy, batch {batch}':20}{us:12.1f}{ratio:14.1f}")


main()
