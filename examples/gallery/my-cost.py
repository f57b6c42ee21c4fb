"""Split a budget with your own cost function: exactly, and with a policy for any number of users.

Here the cost is the negative rate, so the exact split is water-filling.
"""

import anyk
import numpy as np
from numpy.typing import NDArray


def lost_rate(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the negative rate at a signal-to-noise ratio, nat."""
    return -np.log1p(u)


rng = np.random.default_rng(0)
problem = anyk.Separable(lost_rate, gains=rng.exponential(size=200), budget=10.0)
best = problem.solve()
print(best)
print(f"{int((best.x == 0).sum())} of {len(problem)} users get nothing")
print(problem.judge(problem.solve("equal-shares")))
model = anyk.train(problem)
print(model.evaluate([1, 10, 100, 1000]))
