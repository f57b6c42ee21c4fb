"""Learned response to a price: one function of one variable for any number of users."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

#: Number of kinks in the response of the price policy.
UNITS = 8
# Scale of the kinks' positions, so that one step of the optimizer changes positions and heights by similar amounts.
_SPREAD = 4.0


class PriceResponse(nn.Module):
    """Strictly decreasing response of one user to the logarithm of a price.

    ``ψ(t) = c − s·t − Σ_j h_j·√((t − m_j)² + d_j²)`` with ``s = e^σ + Σ_j |h_j|``.

    It decreases for all values of its parameters and approaches a straight line on both sides. As in the price
    policy, ``c, σ, h_j, m_j/4, ln d_j`` are parameters, or the outputs of a small network whose input, the context,
    describes the service class of a user.

    Parameters
    ----------
    context
        Number of inputs that describe a user's class; 0 if all users are alike.

    hidden
        Number of neurons of the context's network.

    units
        Number of kinks.

    generator
        Generator for the parameters (default: the global one of PyTorch).
    """

    #: Lets :class:`~anyk.torch.PriceLayer` pass ``t`` in double precision for every dtype of the parameters. The
    #: response computes in the precision of ``t``.
    takes_double = True

    def __init__(
        self,
        context: int = 0,
        hidden: int = 4,
        units: int = UNITS,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if context < 0 or hidden < 1 or units < 0:
            raise ValueError(
                f"context is {context}, hidden is {hidden} and units is {units}; expected context ≥ 0, hidden ≥ 1 and "
                f"units ≥ 0"
            )
        self.context = context
        self.units = units
        self.outputs = nn.Parameter(torch.empty(2 + 3 * units, device=device, dtype=dtype))
        self.network: nn.Sequential | None = None
        if context > 0:
            first = nn.Linear(context, hidden, device=device, dtype=dtype)
            last = nn.Linear(hidden, 2 + 3 * units, bias=False, device=device, dtype=dtype)
            self.network = nn.Sequential(first, nn.Tanh(), last)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the initial parameters of the price policy: nearly a straight line, with kinks from t = −18 to 3."""
        with torch.no_grad():
            self.outputs[0], self.outputs[1] = -2.0, -0.35
            heights, places, widths = self.outputs[2::3], self.outputs[3::3], self.outputs[4::3]
            heights.normal_(0.0, 0.03, generator=generator)
            for unit in range(self.units):
                places[unit] = (-18.0 + 21.0 * (unit + 0.5) / self.units) / _SPREAD
            widths.fill_(0.5)
            if self.network is not None:
                first, last = self.network[0], self.network[2]
                assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
                first.weight.normal_(0.0, 1.0 / math.sqrt(self.context), generator=generator)
                first.bias.zero_()
                last.weight.normal_(0.0, 0.1 / math.sqrt(last.in_features), generator=generator)

    def _parts(self, context: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor, list[tuple[Tensor, ...]]]:
        """Return the level ``c``, the slope ``s`` and ``(h, m, d)`` of each kink, clamped against overflow."""
        outputs: Tensor = self.outputs
        if self.network is not None:
            if context is None or context.shape[-1] != self.context:
                found = None if context is None else tuple(context.shape)
                raise ValueError(f"the context has shape {found}, expected (..., {self.context})")
            outputs = outputs + self.network(context.to(outputs.dtype))
        elif context is not None:
            raise ValueError("a context is given, expected none, because the response has context=0")
        outputs = outputs.to(dtype)
        heights = outputs[..., 2::3].clamp(-5.0, 5.0)
        places = (_SPREAD * outputs[..., 3::3]).clamp(-200.0, 200.0)
        widths = outputs[..., 4::3].clamp(-5.0, 5.0).exp()
        level = outputs[..., 0].clamp(-50.0, 50.0)
        slope = outputs[..., 1].clamp(-7.0, 3.0).exp() + heights.abs().sum(dim=-1)
        kinks = zip(heights.unbind(-1), places.unbind(-1), widths.unbind(-1), strict=True)
        return level, slope, list(kinks)

    def forward(self, t: Tensor, context: Tensor | None = None) -> Tensor:
        """Return ``ψ(t)``, ``(..., K)``, in the dtype of ``t``.

        Parameters
        ----------
        t
            Logarithm of the price in the units of each user, ``(..., K)``.

        context
            ``(..., K, context)`` or a shape that broadcasts to it; None if the response has no context.
        """
        level, slope, kinks = self._parts(context, t.dtype)
        value = level - slope * t
        # A loop over the kinks is faster than an extra axis, which would need eight times the memory.
        for height, place, width in kinks:
            value = value - height * torch.hypot(t - place, width)
        return value

    @torch.no_grad()
    def value_and_slope(self, t: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return ``ψ(t)`` and ``ψ'(t) < 0`` without gradients, for the search for the price."""
        level, slope, kinks = self._parts(context, t.dtype)
        value = level - slope * t
        by_t = (-slope).expand(value.shape).clone()
        for height, place, width in kinks:
            y = t - place
            q = torch.hypot(y, width)
            value.sub_(height * q)
            by_t.sub_(y.div_(q).mul_(height))
        return value, by_t
