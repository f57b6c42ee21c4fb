"""Time of the price layer beside a softmax, and how far modules in single precision are from the compiled models:
`python bench/torch_layers.py`."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyk
import numpy as np
import torch
from anyk.torch import PriceLayer, PriceResponse, Softmax, from_model
from torch import Tensor

CELLS, USERS = 1000, 50


def milliseconds(work: Callable[[], object], device: str) -> float:
    """The fastest of 30, after three to warm up."""
    times = []
    for _ in range(33):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[3:])


def agreement() -> None:
    """Largest relative differences over three trainings of each method and cells of 1 to 1000 users."""
    print("from_model in single precision, largest relative difference to the compiled model")
    print("  method     power  bandwidth")
    for method in ("any-gnn", "p-gnn", "m-gnn"):
        worst = np.zeros(2)
        for seed in (1, 2, 3):
            model = anyk.train("urllc", method=method, train_k=10, seed=seed)
            module = from_model(model)
            for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
                # Gains that are the same number in both precisions.
                gains = np.asarray(anyk.sample("urllc", k=size, seed=seed)[0].gains, np.float32)
                answer = model.allocate(anyk.Urllc(gains=gains.astype(np.float64)))
                with torch.no_grad():
                    found = module(torch.from_numpy(gains))
                pairs = zip(found, (answer.power_w, answer.bandwidth_hz), strict=True)
                worst = np.maximum(worst, [np.abs(mine.double().numpy() / theirs - 1).max() for mine, theirs in pairs])
        print(f"  {method:7}  {worst[0]:7.1e}  {worst[1]:9.1e}")


def main() -> None:
    torch.set_num_threads(1)
    agreement()
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
