"""Output modules: where a network gets its size law.

They turn the numbers ``o_k`` of a network's last layer, ``(..., K)``, into amounts ``y_k`` of the same shape. Masks
are as everywhere: boolean ``(..., K)``, True where there is a user; 0 comes out where there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from anyk.torch import _masks


def _shares(logits: Tensor, mask: Tensor | None) -> Tensor:
    """The softmax over the users of a cell."""
    if mask is None:
        return logits.softmax(dim=-1)
    # A cell of no users gets the softmax of what it does not have, and nothing of it is kept: no NaN comes up even on
    # the way, where PyTorch's detection of anomalies would stop.
    empty = ~mask.any(dim=-1, keepdim=True)
    shares = torch.where(mask | empty, logits, -torch.inf).softmax(dim=-1)
    return _masks.filled(shares, mask)


class Softmax(nn.Module):
    """``y_k = X·e^{o_k} / Σ_j e^{o_j}``: sums to the budget ``X``, falls as 1/K (paper, eq. (P-case2-equi)).

    The shape of the split is that of the training size: a thousand users share as ten do.

    Args:
        budget: ``X``, in the unit of the amounts; 1 for shares.
    """

    def __init__(self, budget: float = 1.0) -> None:
        super().__init__()
        self.budget = budget

    def forward(self, o: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(..., K)`` in and out."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        return self.budget * _shares(_masks.filled(o, mask), mask)


class SumNormalisation(nn.Module):
    """``y_k = X·s_k / Σ_j s_j`` with ``s = softplus(o)``: the other normalisation (paper, footnote 2).

    Args:
        budget: ``X``, in the unit of the amounts; 1 for shares.
    """

    def __init__(self, budget: float = 1.0) -> None:
        super().__init__()
        self.budget = budget

    def forward(self, o: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(..., K)`` in and out."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        # The softmax of ln s: without 0/0 where every softplus underflows.
        return self.budget * _shares(_ln_softplus(_masks.filled(o, mask)), mask)


def _ln_softplus(x: Tensor) -> Tensor:
    # Below, softplus(x) = e^x to rounding. Clamped first: the branch that is not taken must be finite, too.
    far_below = x < -40.0
    return torch.where(far_below, x, nn.functional.softplus(x.clamp(min=-40.0)).log())


class Pretrained(nn.Module):
    """``y_k = softplus(o_k)·f(x_k, K)``: an outer function that was trained before carries the size law (paper,
    section IV-B1).

    Args:
        outer: ``f``, from features ``(..., K, features)`` and sizes ``(..., 1)`` to positive numbers ``(..., K)``.
            A module's parameters are frozen, unless ``trainable``.
        trainable: whether ``f`` goes on learning.
    """

    def __init__(self, outer: Callable[[Tensor, Tensor], Tensor], trainable: bool = False) -> None:
        super().__init__()
        self.outer = outer
        if isinstance(outer, nn.Module) and not trainable:
            outer.requires_grad_(False)

    def forward(self, o: Tensor, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """``o`` of shape ``(..., K)`` and the users' features ``(..., K, features)`` in; ``(..., K)`` out."""
        mask = _masks.checked(mask, o.shape, "the outputs")
        o, x = _masks.filled(o, mask), _masks.filled_features(x, mask)
        f = self.outer(x, _masks.users(o, mask))
        return _masks.filled(nn.functional.softplus(o) * f, mask)
