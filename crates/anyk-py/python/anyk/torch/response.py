"""A learned response to a price: the function of one variable that any number of users share."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

#: Kinks of the response of the price policy.
UNITS = 8
# t in units of the network's output, so that a step of the optimizer moves kinks and heights alike.
_SPREAD = 4.0


class PriceResponse(nn.Module):
    """A strictly decreasing response to the logarithm of a price,

    ``ψ(t) = c − s·t − Σ_j h_j·√((t − m_j)² + d_j²)`` with ``s = e^σ + Σ_j |h_j|``.

    It decreases whatever its parameters are, and is straight far away on both sides. The parametrisation is that of
    the price policy: ``c, σ, h_j, m_j/4, ln d_j`` are parameters, or the outputs of a small network of a context that
    describes what users ask for (their service class).

    Args:
        context: numbers that describe a user's class; 0 where all users are alike.
        hidden: neurons of the network of the context.
        units: kinks.
        generator: what the parameters are drawn from; PyTorch's own without.
    """

    #: :class:`~anyk.torch.PriceLayer` may give ``t`` in double precision, whatever the dtype of the parameters: they
    #: are few, and what they are used for is done in the precision of ``t``.
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
            raise ValueError(f"context, hidden, units are {context}, {hidden}, {units}, expected ≥ 0, ≥ 1, ≥ 0")
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
        """Nearly straight, with kinks spread over prices from e^−18 to e^3, as the price policy starts."""
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
        """Level ``c``, slope ``s`` and ``(h, m, d)`` of each kink, within the range of numbers."""
        outputs: Tensor = self.outputs
        if self.network is not None:
            if context is None or context.shape[-1] != self.context:
                found = None if context is None else tuple(context.shape)
                raise ValueError(f"the context has shape {found}, expected (..., {self.context})")
            outputs = outputs + self.network(context.to(outputs.dtype))
        elif context is not None:
            raise ValueError("a context is given, expected none: the response was made with context=0")
        outputs = outputs.to(dtype)
        heights = outputs[..., 2::3].clamp(-5.0, 5.0)
        places = (_SPREAD * outputs[..., 3::3]).clamp(-200.0, 200.0)
        widths = outputs[..., 4::3].clamp(-5.0, 5.0).exp()
        level = outputs[..., 0].clamp(-50.0, 50.0)
        slope = outputs[..., 1].clamp(-7.0, 3.0).exp() + heights.abs().sum(dim=-1)
        kinks = zip(heights.unbind(-1), places.unbind(-1), widths.unbind(-1), strict=True)
        return level, slope, list(kinks)

    def forward(self, t: Tensor, context: Tensor | None = None) -> Tensor:
        """``ψ(t)``.

        Args:
            t: logarithms of the price as users see it, ``(..., K)``.
            context: ``(..., K, context)``, or what broadcasts to it; none where the response has none.

        Returns:
            ``(..., K)``, in the dtype of ``t``.
        """
        level, slope, kinks = self._parts(context, t.dtype)
        value = level - slope * t
        # One kink after the other: an axis for them would be eight times the memory, and slower.
        for height, place, width in kinks:
            value = value - height * torch.hypot(t - place, width)
        return value

    @torch.no_grad()
    def value_and_slope(self, t: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``ψ(t)`` and ``ψ'(t) < 0``, without gradients: what a search for the price asks for again and again."""
        level, slope, kinks = self._parts(context, t.dtype)
        value = level - slope * t
        by_t = (-slope).expand(value.shape).clone()
        for height, place, width in kinks:
            y = t - place
            q = torch.hypot(y, width)
            value.sub_(height * q)
            by_t.sub_(y.div_(q).mul_(height))
        return value, by_t
