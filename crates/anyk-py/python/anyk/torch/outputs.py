"""Output modules, which determine the size law of a network.

They turn the outputs ``o_k`` of a network's last layer, ``(..., K)``, into amounts ``y_k`` of the same shape. Masks are
boolean ``(..., K)`` and True for users; the amounts of masked entries are 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from anyk.torch import _masks


def _shares(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Return the softmax over the users of each cell."""
    if mask is None:
        return logits.softmax(dim=-1)
    # For a cell without users, the softmax is over the masked entries and its result is discarded. This avoids an
    # intermediate NaN, at which PyTorch's anomaly detection would stop.
    empty = ~mask.any(dim=-1, keepdim=True)
    shares = torch.where(mask | empty, logits, -torch.inf).softmax(dim=-1)
    return _masks.filled(shares, mask)


class Softmax(nn.Module):
    """Softmax ``y_k = X·e^{o_k} / Σ_j e^{o_j}`` (paper, eq. (P-case2-equi)).

    The amounts sum to the budget X and scale as 1/K. The ratios between the amounts of two users stay those of the
    training size.

    Parameters
    ----------
    budget
        ``X``, in the unit of the amounts; 1 for shares.
    """

    def __init__(self, budget: float = 1.0) -> None:
        super().__init__()
        self.budget = budget

    def forward(self, o: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map outputs ``o`` to amounts, both ``(..., K)``."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        return self.budget * _shares(_masks.filled(o, mask), mask)


class SumNormalisation(nn.Module):
    """Normalization ``y_k = X·s_k / Σ_j s_j`` with ``s = softplus(o)`` (paper, footnote 2).

    Parameters
    ----------
    budget
        ``X``, in the unit of the amounts; 1 for shares.
    """

    def __init__(self, budget: float = 1.0) -> None:
        super().__init__()
        self.budget = budget

    def forward(self, o: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map outputs ``o`` to amounts, both ``(..., K)``."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        # Use the softmax of ln s, which avoids 0/0 if every softplus underflows.
        return self.budget * _shares(_ln_softplus(_masks.filled(o, mask)), mask)


def _ln_softplus(x: Tensor) -> Tensor:
    # For x < −40, softplus(x) = e^x up to rounding. The clamp keeps the unused branch and its gradient finite.
    far_below = x < -40.0
    return torch.where(far_below, x, nn.functional.softplus(x.clamp(min=-40.0)).log())


class Pretrained(nn.Module):
    """Output ``y_k = softplus(o_k)·f(x_k, K)`` whose size law is that of a pre-trained f (paper, section IV-B1).

    Parameters
    ----------
    outer
        ``f``, from features ``(..., K, features)`` and sizes ``(..., 1)`` to positive numbers ``(..., K)``.

    trainable
        Whether the parameters of ``f`` stay trainable; by default they are frozen.
    """

    def __init__(self, outer: Callable[[Tensor, Tensor], Tensor], trainable: bool = False) -> None:
        super().__init__()
        self.outer = outer
        if isinstance(outer, nn.Module) and not trainable:
            outer.requires_grad_(False)

    def forward(self, o: Tensor, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map outputs ``o``, ``(..., K)``, and features ``x``, ``(..., K, features)``, to amounts ``(..., K)``."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        o, x = _masks.filled(o, mask), _masks.filled_features(x, mask)
        f = self.outer(x, _masks.users(o, mask))
        return _masks.filled(nn.functional.softplus(o) * f, mask)
