"""Bandwidth that a received power requires, with its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

import anyk
from anyk.torch import _masks

# Smallest relative distance from u_min at which b is evaluated. At u_min, the tangent of b is vertical.
_NEAREST = 1e-12


class _Required(torch.autograd.Function):
    """``b(u_min·(1 + e))`` in Hz as a differentiable function of the excess ``e``."""

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
        # Rounding to single precision may have lowered the bandwidth, so take the next larger number.
        return bandwidth if excess.dtype == torch.float64 else bandwidth.nextafter(torch.full_like(bandwidth, torch.inf))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


class RequiredBandwidth(nn.Module):
    """Minimum bandwidth ``b(u)`` that meets the QoS at a received power ``u = αP``.

    The result is rounded up as in ``anyk.required_bandwidth`` and is differentiable once. ``b`` is decreasing and
    convex, and has a vertical tangent at ``u_min``, the smallest received power that some bandwidth can serve. Below
    ``u_min``, the module returns ``b(u_min)`` with gradient 0; :meth:`serves` distinguishes the two cases.

    A power that was rounded to single precision can fail the feasibility check. If you want to check allocations,
    compute them in double precision from the offsets of the price layer onwards.

    Parameters
    ----------
    **cell
        Options of the cell and the service class, such as ``epsilon=1e-6`` or ``antennas=16`` (default: those of the
        paper).

    Examples
    --------
    >>> required = RequiredBandwidth()
    >>> required(torch.tensor([1e-12], dtype=torch.float64))
    tensor([209480.7037], dtype=torch.float64)
    """

    def __init__(self, **cell: Any) -> None:
        super().__init__()
        self.cell = cell
        #: ``u_min``, W.
        self.min_received_w: float = anyk.least_received_w(**cell)
        # Near u_min, b is smooth in √e: extrapolate a parabola through three points to e = 0.
        places = 1e-7 * np.array([1.0, 4.0, 9.0])
        first, second, third = anyk.required_bandwidth(self.min_received_w * (1.0 + places), **cell)[0]
        #: ``b(u_min)``, the largest bandwidth, Hz.
        self.max_bandwidth_hz = float(3.0 * first - 3.0 * second + third)

    def forward(self, received_w: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the bandwidths in Hz at received powers in W, both ``(..., K)``; 0 for masked entries."""
        return self.at_excess(received_w / self.min_received_w - 1.0, mask)

    def at_excess(self, excess: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the bandwidths at the excess ``e = u/u_min − 1``, ``(..., K)``.

        Near ``u_min``, ``u`` in single precision is not accurate enough. To compute ``e`` accurately, divide the
        differences that ``PriceLayer.split`` returns by the minimum.
        """
        mask = _masks.checked(mask, excess.shape, "the received powers")
        limits = (self.min_received_w, self.max_bandwidth_hz)
        bandwidth_hz: Tensor = _Required.apply(_masks.filled(excess, mask, 1.0), limits, self.cell)
        return _masks.filled(bandwidth_hz, mask)

    def least_power_w(self, gains: Tensor) -> Tensor:
        """Return ``u_min/α_k`` in W, the minimum powers that serve users with these gains."""
        return self.min_received_w / gains

    def serves(self, received_w: Tensor) -> Tensor:
        """Return whether some bandwidth can meet the QoS at each received power."""
        return received_w >= self.min_received_w

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.cell.items())
