"""Evaluate your own PyTorch network at any number of users, and find out why it fails."""

import anyk
import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# One small network for every user: it maps the gain to a score. A softmax of the scores splits the power.
torch.manual_seed(1)
torch.set_num_threads(1)  # faster for a network of this size
network = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).double()


def scores(cell: anyk.Cell) -> torch.Tensor:
    gain_db = torch.from_numpy(10.0 * np.log10(cell.gains))
    return network((gain_db[:, None] + 110.0) / 10.0)


def allocate(cell: anyk.Cell) -> tuple[Floats, Floats]:
    """Return the powers in W and the bandwidths in Hz."""
    with torch.no_grad():
        power, bandwidth = scores(cell).T
        power_w = cell.max_power_w * torch.softmax(power, 0)
        return power_w.numpy(), (1e5 * torch.exp(bandwidth)).numpy()


# Imitate the optimum in cells of ten users.
cells = anyk.sample("urllc", k=10, count=200, seed=1)
optima = cells.solve()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for step in range(1000):
    cell, best = cells[step % 200], optima[step % 200]
    power, bandwidth = scores(cell).T
    share = torch.from_numpy(best.power_w / cell.max_power_w)
    target = torch.from_numpy(np.log(1.02 * best.bandwidth_hz / 1e5))
    loss = torch.mean((torch.log_softmax(power, 0) - torch.log(share)) ** 2 + (bandwidth - target) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(anyk.evaluate({"mine": allocate}, problem="urllc", sizes=[5, 10, 20, 100], samples=50))
own_law = anyk.diagnose(allocate, problem="urllc", quantity="bandwidth", check=False)
optimal_law = anyk.diagnose("urllc-bandwidth", check=False)
print(f"bandwidth of this network: {own_law.size_law}")
print(f"bandwidth of the optimum: {optimal_law.size_law}; a network for it: {optimal_law.recommended}")
