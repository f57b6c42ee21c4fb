"""The bandwidth that a received power needs, with its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

import anyk
from anyk.torch import _masks

# Nearest to u_min that b is read, relative: it ends there with a vertical tangent, and a derivative must be a number.
_NEAREST = 1e-12


class _Required(torch.autograd.Function):
    """``b(u_min·(1 + e))`` in Hz, for an excess ``e``."""

    @staticmethod
    def forward(ctx: Any, excess: Tensor, limits: tuple[float, float], cell: dict[str, Any]) -> Tensor:
        min_received_w, max_bandwidth_hz = limits
        e = excess.detach().to("cpu", torch.float64).numpy().ravel()
        read_w = min_received_w * (1.0 + np.maximum(e, _NEAREST))
        bandwidth_hz, slope_hz_per_w = anyk.required_bandwidth(read_w, **cell)
        slope = np.where(e > _NEAREST, slope_hz_per_w * min_received_w, 0.0)

        def tensor(values: NDArray[np.float64]) -> Tensor:
            return torch.from_numpy(values.reshape(excess.shape)).to(excess.device, excess.dtype)

        ctx.save_for_backward(tensor(slope))
        bandwidth = tensor(np.where(e > 0.0, bandwidth_hz, max_bandwidth_hz))
        # To the next number up, where rounding to single precision may have gone down.
        return bandwidth if excess.dtype == torch.float64 else bandwidth.nextafter(torch.full_like(bandwidth, torch.inf))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


class RequiredBandwidth(nn.Module):
    """``b(u)``: the least bandwidth that meets the QoS at a received power ``u = αP``, certified as that of the solver is
    (``anyk.required_bandwidth``); differentiable once.

    It decreases, is convex, and ends at ``u_min``, the least that any bandwidth can serve, with a vertical tangent.
    Under ``u_min`` no bandwidth will do: there it is held at its largest value, with gradient 0, and
    :meth:`serves` tells.

    A judge that knows the QoS exactly sees the difference between a power and that power in single precision: what is
    to be judged is best computed in double precision from the offsets of the price layer on.

    >>> required = RequiredBandwidth()
    >>> required(torch.tensor([1e-12], dtype=torch.float64))
    tensor([209480.7037], dtype=torch.float64)

    Args:
        cell: options of the cell and the service class by the program's names, such as ``epsilon=1e-6`` or
            ``antennas=16``; the paper's by default.
    """

    def __init__(self, **cell: Any) -> None:
        super().__init__()
        self.cell = cell
        #: ``u_min``, W.
        self.min_received_w: float = anyk.least_received_w(**cell)
        # Next to its end b is smooth in √e: a parabola through three places says where it ends.
        places = 1e-7 * np.array([1.0, 4.0, 9.0])
        first, second, third = anyk.required_bandwidth(self.min_received_w * (1.0 + places), **cell)[0]
        #: ``b(u_min)``, Hz: the largest bandwidth.
        self.max_bandwidth_hz = float(3.0 * first - 3.0 * second + third)

    def forward(self, received_w: Tensor, mask: Tensor | None = None) -> Tensor:
        """Received powers in W, ``(..., K)``, to bandwidths in Hz, ``(..., K)``; 0 where there is no user."""
        return self.at_excess(received_w / self.min_received_w - 1.0, mask)

    def at_excess(self, excess: Tensor, mask: Tensor | None = None) -> Tensor:
        """The same at ``e = u/u_min − 1``, ``(..., K)``: next to ``u_min`` in single precision ``u`` alone has lost
        it. With :meth:`PriceLayer.split <anyk.torch.PriceLayer.split>` it is what is over the least, divided by the
        least."""
        mask = _masks.checked(mask, excess.shape, "the received powers")
        limits = (self.min_received_w, self.max_bandwidth_hz)
        bandwidth_hz: Tensor = _Required.apply(_masks.filled(excess, mask, 1.0), limits, self.cell)
        return _masks.filled(bandwidth_hz, mask)

    def least_power_w(self, gains: Tensor) -> Tensor:
        """``u_min/α_k``, W: the least power that serves users of these gains."""
        return self.min_received_w / gains

    def serves(self, received_w: Tensor) -> Tensor:
        """Whether some bandwidth can meet the QoS at these received powers."""
        return received_w >= self.min_received_w

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.cell.items())
