"""Plot the extra bandwidth of two policies against the number of users, at the width of a column."""

import anyk
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def equal_quality(cell: anyk.Cell) -> tuple[Floats, Floats]:
    """Give every user the same received power, and the exact bandwidth for it."""
    power_w = cell.max_power_w / cell.gains / np.sum(1.0 / cell.gains)
    return power_w, anyk.required_bandwidth(cell.gains * power_w)[0]


sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
policies: dict[str, anyk.Policy] = {"equal received power": equal_quality, "equal power": "equal-power"}
table = anyk.evaluate(policies, problem="urllc", sizes=sizes, samples=50).to_pandas()

figure, axes = plt.subplots(figsize=(3.5, 2.4), layout="constrained")
for (name, rows), marker in zip(table.groupby("policy", sort=False), "os^"):
    if name != "optimum":
        axes.semilogx(rows.k, rows.gap_percent, marker=marker, markersize=3, label=name)
axes.set_xlabel("number of users K")
axes.set_ylabel("extra bandwidth (%)")
axes.set_ylim(bottom=0)
axes.legend(frameon=False)
figure.savefig("plot-for-a-paper.png", dpi=200)
figure.savefig("plot-for-a-paper.pdf")
