"""Time of the price layer beside a softmax, on 1000 cells of 50 users: `python bench/torch_layers.py`."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from anyk.torch import PriceLayer, PriceResponse, Softmax
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


def main() -> None:
    torch.set_num_threads(1)
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        for dtype in (torch.float32, torch.float64):
            least = torch.rand(CELLS, USERS, generator=torch.Generator().manual_seed(1)).to(device, dtype) * 0.1
            offsets = (least.log() - 15.0).requires_grad_()
            price = PriceLayer(PriceResponse(dtype=dtype), budget=20.0).to(device)
            softmax = Softmax(20.0)

            def by_price() -> Tensor:
                return price(offsets, least=least, scale=least)

            def by_softmax() -> Tensor:
                return softmax(offsets)

            print(f"{device}, {str(dtype).removeprefix('torch.')}, {CELLS} cells of {USERS} users, ms")
            print("  layer    forward  forward and backward")
            for name, layer in (("price", by_price), ("softmax", by_softmax)):
                with torch.no_grad():
                    forward = milliseconds(layer, device)
                both = milliseconds(lambda: layer().square().sum().backward(), device)  # noqa: B023
                print(f"  {name:7}  {forward:7.3f}  {both:20.3f}")


if __name__ == "__main__":
    main()
