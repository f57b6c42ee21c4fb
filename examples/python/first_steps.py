"""Solve a cell, train a price policy, and compare your own policy with both at several numbers of users.

python examples/python/first_steps.py
"""

from __future__ import annotations

import anyk
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def equal_power(cell: anyk.Cell) -> tuple[Floats, Floats]:
    """Give every user the same power and the exact bandwidth that it requires."""
    power_w = np.full(len(cell), cell.max_power_w / len(cell))
    bandwidth_hz, _ = anyk.required_bandwidth(cell.gains * power_w)
    return power_w, bandwidth_hz


def main() -> None:
    cell = anyk.Urllc(distances_m=np.array([60.0, 90.0, 240.0]))
    best = cell.solve()
    print(best)
    print(f"total: {best.total_bandwidth_hz:.0f} Hz")
    print(cell.judge(equal_power(cell)))
    model = anyk.train("urllc", method="price", train_k=10)
    policies: dict[str, anyk.Policy] = {"mine": equal_power, "price": model, "optimum": None}
    table = anyk.evaluate(policies, problem="urllc", sizes=[1, 10, 100, 1000], samples=20)
    print(table)
    print(anyk.diagnose(equal_power, problem="urllc"))


if __name__ == "__main__":
    main()
