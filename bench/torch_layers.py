"""Compare the price layer with a softmax and a CvxpyLayer, and modules in single precision with the compiled models.

    python bench/torch_layers.py

Without cvxpylayers, the CvxpyLayer is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyk
import numpy as np
import torch
from anyk.torch import PriceLayer, PriceResponse, Softmax, from_model
from torch import Tensor, nn

CELLS, USERS = 1000, 50
#: Water-filling in a batch of cells, which a CvxpyLayer can also solve: cells, budget, and weight of the barrier.
FILLED_CELLS, FILLED_BUDGET, BARRIER = 32, 20.0, 0.01


def milliseconds(work: Callable[[], object], device: str, times: int = 30) -> float:
    """Return the time of the fastest of ``times`` calls, after three calls to warm up."""
    spent = []
    for _ in range(times + 3):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        spent.append(time.perf_counter() - start)
    return 1e3 * min(spent[3:])


def agreement() -> None:
    """Print the largest relative differences over three training runs of each method and cells of 1 to 1000 users."""
    print("from_model in single precision, largest relative difference to the compiled model")
    print("  method     power  bandwidth")
    for method in ("price", "p-gnn", "m-gnn"):
        worst = np.zeros(2)
        for seed in (1, 2, 3):
            model = anyk.train("urllc", method=method, train_k=10, seed=seed)
            module = from_model(model)
            for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
                # Use gains that single precision represents exactly.
                gains = np.asarray(anyk.sample("urllc", k=size, seed=seed)[0].gains, np.float32)
                answer = model.allocate(anyk.Urllc(gains=gains.astype(np.float64)))
                with torch.no_grad():
                    found = module(torch.from_numpy(gains))
                pairs = zip(found, (answer.power_w, answer.bandwidth_hz), strict=True)
                worst = np.maximum(worst, [np.abs(mine.double().numpy() / theirs - 1).max() for mine, theirs in pairs])
        print(f"  {method:7}  {worst[0]:7.1e}  {worst[1]:9.1e}")


class WaterFilling(nn.Module):
    """Response of ``min −Σ_k ln(1 + α_k x_k) − μ Σ_k ln x_k`` under a budget.

    The offsets are ``o_k = −ln α_k`` and the scales ``s_k = 1/α_k``; ``z = α_k x_k`` solves ``1/(1 + z) + μ/z = e^t``.

    Without the barrier, some users may get nothing, but a price layer gives every user a positive amount. With the
    barrier, both layers have the same smooth optimum.
    """

    def forward(self, t: Tensor) -> Tensor:
        rate = t.exp()
        half = 0.5 * (1.0 + BARRIER - rate)
        root = (half.square() + BARRIER * rate).sqrt()
        # Positive root of e^t z² − 2·half·z − μ, computed without cancellation.
        root_over = torch.where(half > 0, (half + root) / rate, BARRIER / (root - half))
        return root_over.log()


def beside_cvxpylayers() -> None:
    """Compare water-filling by the price layer and by a CvxpyLayer: times and errors of amounts and gradients."""
    try:
        import cvxpy as cp
        from cvxpylayers.torch import CvxpyLayer
    except ImportError as why:
        print(f"CvxpyLayer: left out, since it is not installed ({why})")
        return
    x, alpha = cp.Variable(USERS), cp.Parameter(USERS, nonneg=True)
    objective = cp.Minimize(-cp.sum(cp.log(1 + cp.multiply(alpha, x))) - BARRIER * cp.sum(cp.log(x)))
    convex = CvxpyLayer(cp.Problem(objective, [cp.sum(x) == FILLED_BUDGET]), parameters=[alpha], variables=[x])
    price = PriceLayer(WaterFilling(), budget=FILLED_BUDGET)
    # α from 0.1 to 10: without the barrier, some users would get nothing.
    drawn = torch.rand(FILLED_CELLS, USERS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gains = (10.0 ** (2.0 * drawn - 1.0)).requires_grad_()
    weights = torch.linspace(1.0, 2.0, USERS, dtype=torch.float64)

    def by_price() -> Tensor:
        amounts: Tensor = price(-gains.log(), scale=1.0 / gains)
        return amounts

    def by_convex(**arguments: object) -> Callable[[], Tensor]:
        def layer() -> Tensor:
            # The argument ``mode`` is only valid if gradients are computed.
            given = {name: value for name, value in arguments.items() if name != "mode" or torch.is_grad_enabled()}
            amounts: Tensor = convex(gains, solver_args=given)[0]
            return amounts

        return layer

    def worked(layer: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
        amounts = layer()
        (gradient,) = torch.autograd.grad((weights * amounts.square()).sum(), gains)
        return amounts.detach(), gradient

    # Analytic derivative of the optimum: α/(1 + αx) + μ/x is equal for all users, and Σ dx = 0.
    with torch.no_grad():
        best = by_price()
        bend = (gains / (1.0 + gains * best)).square() + BARRIER / best.square()
        pull = 2.0 * weights * best
        mean = (pull / bend).sum(-1, keepdim=True) / (1.0 / bend).sum(-1, keepdim=True)
        slopes = (pull - mean) / bend / (1.0 + gains * best).square()

    print(f"cpu, float64, water-filling in {FILLED_CELLS} cells of {USERS} users; the price layer on one core")
    print("                                      ms                 times the price layer    largest difference")
    print("  layer                     forward  and backward     forward  and backward    amounts  gradients")
    first: tuple[float, float] | None = None
    for name, layer in (
        ("price", by_price),
        ("CvxpyLayer, as it comes", by_convex()),
        ("CvxpyLayer, as precise", by_convex(eps=1e-10, mode="dense")),
    ):
        with torch.no_grad():
            forward = milliseconds(layer, "cpu", 5)
        both = milliseconds(lambda: worked(layer), "cpu", 5)  # noqa: B023
        first = first or (forward, both)
        amounts, gradient = worked(layer)
        # Errors relative to the largest value: amounts against the price layer, gradients against the analytic ones.
        off = [float((a - b).abs().max() / b.abs().max()) for a, b in ((amounts, best), (gradient, slopes))]
        print(
            f"  {name:24}  {forward:7.2f}  {both:12.2f}     {forward / first[0]:7.0f}  {both / first[1]:12.0f}"
            f"    {off[0]:7.0e}  {off[1]:9.0e}"
        )


def main() -> None:
    torch.set_num_threads(1)
    agreement()
    beside_cvxpylayers()
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        for dtype in (torch.float32, torch.float64):
            least = torch.rand(CELLS, USERS, generator=torch.Generator().manual_seed(1)).to(device, dtype) * 0.1
            offsets = (least.log() - 15.0).requires_grad_()
            price = PriceLayer(PriceResponse(dtype=dtype), budget=20.0).to(device)
            softmax = Softmax(20.0)

            def by_price() -> Tensor:
                amounts: Tensor = price(offsets, least=least, scale=least)
                return amounts

            def by_softmax() -> Tensor:
                amounts: Tensor = softmax(offsets)
                return amounts

            print(f"{device}, {str(dtype).removeprefix('torch.')}, {CELLS} cells of {USERS} users, ms")
            print("  layer    forward  forward and backward")
            for name, layer in (("price", by_price), ("softmax", by_softmax)):
                with torch.no_grad():
                    forward = milliseconds(layer, device)
                both = milliseconds(lambda: torch.autograd.backward(layer().square().sum()), device)  # noqa: B023
                print(f"  {name:7}  {forward:7.3f}  {both:20.3f}")


if __name__ == "__main__":
    main()
