"""Compare the speed of the Python package with Rust, and with SciPy and CVXPY for the same optimum.

    cargo xtask compare python
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import anyk
from anyk import _anyk


def seconds(call: Callable[[], object], least_s: float = 0.5) -> float:
    """Return the median time of a call in seconds, measured for at least ``least_s`` seconds."""
    call()
    times: list[float] = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < least_s or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(what: str, *values: str) -> None:
    print(f"{what:<58}" + "".join(f"{value:>16}" for value in values))


def beside_rust() -> None:
    model = anyk.train("urllc", method="price", progress=False)
    cell = anyk.sample("urllc", 200, seed=1)[0]
    batch = anyk.sample("urllc", 50, count=10_000, seed=1)
    one = [cell.gains.tolist()]
    all_gains = [each.gains.tolist() for each in batch]
    print("one cell of K = 200, microseconds; 10,000 cells of K = 50 on all cores, milliseconds\n")
    row("", "Python", "Rust", "more", "ratio")
    for name, bytes_of, single, many in (
        ("solve", None, cell.solve, batch.solve),
        ("price", model.to_bytes(), lambda: model.allocate(cell), lambda: model.allocate(batch)),
    ):
        # Measure in turns, so that a slower machine affects both.
        ours, rusts = [], []
        for _ in range(5):
            ours.append(seconds(single, 0.2))
            rusts.append(_anyk.rust_seconds(one, bytes_of, 2000)[0])
        us, rust = 1e6 * min(ours), 1e6 * min(rusts)
        row(f"{name}, one cell", f"{us:.1f}", f"{rust:.1f}", f"{us - rust:+.1f}", f"{us / rust:.2f}")
        ours, rusts = [], []
        for _ in range(5):
            ours.append(min(_timed(many) for _ in range(5)))
            rusts.append(_anyk.rust_seconds(all_gains, bytes_of, 1)[1])
        ms, rust = 1e3 * min(ours), 1e3 * min(rusts)
        row(f"{name}, 10,000 cells", f"{ms:.1f}", f"{rust:.1f}", f"{ms - rust:+.1f}", f"{ms / rust:.2f}")


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def beside_scipy() -> None:
    """Compare the dual search for (P1) at K = 20 with SciPy's general method SLSQP, given b(u) and its derivative."""
    from scipy.optimize import minimize

    size = 20
    cell = anyk.sample("urllc", size, seed=1)[0]
    best = cell.solve()
    gains, budget = cell.gains, cell.max_power_w

    def cost(power: np.ndarray) -> tuple[float, np.ndarray]:
        bandwidth, slope = anyk.required_bandwidth(gains * power)
        return bandwidth.sum() / 1e5, slope * gains / 1e5

    least = anyk.least_received_w() / gains * (1 + 1e-9)
    start = least + (budget - least.sum()) / size
    constraint = {"type": "eq", "fun": lambda power: budget - power.sum(), "jac": lambda power: -np.ones(size)}

    def scipy() -> float:
        found = minimize(
            cost, start, jac=True, method="SLSQP", bounds=[(one, None) for one in least], constraints=[constraint],
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        return float(found.fun) * 1e5

    off = scipy() / best.bandwidth_hz.sum() - 1
    ours, theirs = seconds(cell.solve), seconds(scipy)
    print(f"\n(P1) at K = {size}\n")
    row("", "anyk", "SciPy", "ratio", "off by")
    row("seconds", f"{ours:.2e}", f"{theirs:.2e}", f"{theirs / ours:.0f}", f"{off:.1e}")


def beside_cvxpy() -> None:
    """Compare water-filling at K = 200 with CVXPY and Clarabel, as a parametrized problem that is compiled once."""
    import cvxpy

    size = 200
    gains = np.random.default_rng(1).exponential(size=size)
    problem = anyk.Separable(lambda u: -np.log1p(u), gains=gains, budget=10.0)
    best = problem.solve()
    x, alpha = cvxpy.Variable(size, nonneg=True), cvxpy.Parameter(size, nonneg=True)
    convex = cvxpy.Problem(cvxpy.Minimize(-cvxpy.sum(cvxpy.log1p(cvxpy.multiply(alpha, x)))), [cvxpy.sum(x) <= 10.0])
    alpha.value = gains

    def solve() -> float:
        return float(convex.solve(solver=cvxpy.CLARABEL))

    off = solve() / -np.log1p(gains * best.x).sum() - 1
    ours, theirs = seconds(problem.solve), seconds(solve)
    print(f"\nwater-filling with K = {size}, {int((best.x == 0).sum())} users without power\n")
    row("", "anyk", "CVXPY", "ratio", "off by")
    row("seconds", f"{ours:.2e}", f"{theirs:.2e}", f"{theirs / ours:.0f}", f"{off:.1e}")


if __name__ == "__main__":
    beside_rust()
    for part in (beside_scipy, beside_cvxpy):
        try:
            part()
        except ImportError as why:
            print(f"\n{part.__name__}: left out, since {why}", file=sys.stderr)
