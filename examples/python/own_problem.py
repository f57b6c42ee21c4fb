"""Solve your own problem, water-filling, exactly and with a policy for any number of users.

python examples/python/own_problem.py
"""

from __future__ import annotations

import anyk
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lost_rate(u: Floats) -> Floats:
    """Return the negative rate at a signal-to-noise ratio, nat."""
    return -np.log1p(u)


def main() -> None:
    rng = np.random.default_rng(0)
    problem = anyk.Separable(lost_rate, gains=rng.exponential(size=200), budget=10.0)
    best = problem.solve()
    print(best, f"{int((best.x == 0).sum())} of {len(problem)} users get nothing")
    print(problem.judge(problem.solve("equal-shares")))
    model = anyk.train(problem)
    print(model.evaluate([1, 10, 100, 1000]))


if __name__ == "__main__":
    main()
