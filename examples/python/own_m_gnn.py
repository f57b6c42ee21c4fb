"""An M-GNN of one's own that fails at other sizes, why it does, and two lines that mend it.

    python examples/python/own_m_gnn.py --seed 1

Trains two networks among ten users and puts both beside the exact optimum at 1 to 1000. A minute or two on one core;
needs `pip install anyk[torch]`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import anyk
import torch
from anyk.torch import (
    EquivariantNetwork,
    PriceLayer,
    PriceResponse,
    PrimalDual,
    RequiredBandwidth,
    Softmax,
    Terms,
    UrllcService,
)
from torch import Tensor, nn

TRAIN_K = 10
SIZES = [1, 10, 50, 200, 1000]
MAX_POWER_W = 1e-3 * 10 ** (43 / 10)
# Bandwidth of the order of what a user needs among ten, Hz.
UNIT_HZ = 2e5


class OwnGnn(nn.Module):
    """Gains of users in, powers (W) and bandwidths (Hz) out: two networks that see the others by their mean."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.power = EquivariantNetwork([1, 8, 1], "mean", generator=generator)
        self.bandwidth = EquivariantNetwork([1, 8, 1], "mean", generator=generator)
        self.softmax = Softmax(MAX_POWER_W)

    def features(self, gains: Tensor) -> Tensor:
        """ln α, brought to the order of 1: ``(..., K, 1)``."""
        return (0.5 * (gains.log() + 26.0)).float().unsqueeze(-1)

    def forward(self, gains: Tensor) -> tuple[Tensor, Tensor]:
        x = self.features(gains)
        # What comes out is judged in double precision: its sum is the budget to the last digit.
        o = self.power(x)[..., 0].double()
        power_w = self.softmax(o)
        bandwidth_hz = UNIT_HZ * nn.functional.softplus(self.bandwidth(x)[..., 0])
        return power_w, bandwidth_hz.double()


class MendedGnn(OwnGnn):
    """The same with other output layers."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__(generator)
        self.price = PriceLayer(PriceResponse(generator=generator), MAX_POWER_W)
        self.required = RequiredBandwidth()

    def forward(self, gains: Tensor) -> tuple[Tensor, Tensor]:
        o = self.power(self.features(gains))[..., 0].double()
        least_w = self.required.least_power_w(gains)
        # The two lines.
        power_w = self.price(o, least=least_w, scale=least_w)
        bandwidth_hz = self.required(gains * power_w)
        return power_w, bandwidth_hz


def draw(generator: torch.Generator) -> Tensor:
    """Gains of 32 cells of ten users each, uniform along the paper's road: ``(32, 10)``."""
    along_m = (250.0**2 - 50.0**2) ** 0.5 * torch.rand(32, TRAIN_K, generator=generator, dtype=torch.float64)
    distance_m = (along_m**2 + 50.0**2).sqrt()
    gains: Tensor = 10 ** (-(35.3 + 37.6 * distance_m.log10()) / 10)
    return gains


def train_own(seed: int, steps: int = 5000) -> OwnGnn:
    """Algorithm 1: least total bandwidth such that each user's QoS holds, learned from draws of fading."""
    generator = torch.Generator().manual_seed(seed)
    own = OwnGnn(generator)
    multiplier = EquivariantNetwork([1, 8, 1], "mean", generator=generator)
    service = UrllcService()

    def terms(gains: Tensor) -> Terms:
        power_w, bandwidth_hz = own(gains)
        fading = service.fading((*gains.shape, 8), generator)
        violation = service.violation(gains * power_w, bandwidth_hz, fading)
        return Terms(bandwidth_hz.sum(-1) / UNIT_HZ, violation, multiplier(own.features(gains))[..., 0])

    PrimalDual(own, terms, multiplier, rate=1e-2, tightening=0.92, seed=seed).train(draw, steps)
    return own


def train_mended(seed: int, steps: int = 2000) -> MendedGnn:
    """The QoS holds by construction: least total bandwidth is all there is to learn."""
    mended = MendedGnn(torch.Generator().manual_seed(seed))

    def terms(gains: Tensor) -> Terms:
        return Terms(mended(gains)[1].sum(-1) / UNIT_HZ)

    PrimalDual(mended, terms, rate=1e-2, seed=seed).train(draw, steps)
    return mended


def policy(module: nn.Module) -> Callable[[anyk.Cell], tuple[Tensor, Tensor]]:
    """A module as `anyk` asks it: from a cell to powers and bandwidths."""

    @torch.no_grad()
    def answer(cell: anyk.Cell) -> tuple[Tensor, Tensor]:
        power_w, bandwidth_hz = module(torch.as_tensor(cell.gains))
        return power_w, bandwidth_hz

    return answer


def measured(module: nn.Module, sizes: list[int], samples: int) -> list[tuple[int, float, float]]:
    """For each size: users whose QoS is met, and bandwidth over the exact optimum in percent."""
    table = anyk.evaluate({"this": policy(module)}, problem="urllc", sizes=sizes, samples=samples)
    rows = [row for row in table.rows if row["policy"] == "this"]
    return [(row["k"], row["availability"], row["gap_percent"]) for row in rows]


def show(name: str, module: nn.Module, seconds: float) -> None:
    print(f"\n{name}: trained among {TRAIN_K} users in {seconds:.0f} s")
    print("    K  availability  bandwidth over the optimum (%)")
    for k, availability, gap_percent in measured(module, SIZES, 20):
        print(f"{k:5}  {availability:12.4f}  {gap_percent:30.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of networks, cells and fading [default: 1]")
    seed = parser.parse_args().seed
    # Tensors are small: threads would only wait for each other.
    torch.set_num_threads(1)

    start = time.perf_counter()
    own = train_own(seed)
    show("own", own, time.perf_counter() - start)

    for name, subject in (("of its own", policy(own)), ("of the optimum", "urllc-bandwidth")):
        found = anyk.diagnose(subject, problem="urllc", quantity="bandwidth", train_k=TRAIN_K, users=2000)
        print(f"\nbandwidths {name}, by anyk.diagnose")
        print(f"  size-invariant  {found.size_invariant}")
        print(f"  size law        {found.size_law}")
        print(f"  recommended     {found.recommended}\n                  {found.reason}")

    start = time.perf_counter()
    mended = train_mended(seed)
    show("mended", mended, time.perf_counter() - start)


if __name__ == "__main__":
    main()
