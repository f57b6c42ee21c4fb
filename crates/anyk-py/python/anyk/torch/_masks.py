"""Ragged batches: which of the K places of a cell hold a user.

Every function here replaces what is masked out *before* it is used. Multiplying by 0 afterwards would not do: the
gradient of what was computed from a NaN in the padding is NaN times 0, which is NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor


def checked(mask: Tensor | None, shape: torch.Size, name: str) -> Tensor | None:
    """The mask, of the given shape ``(..., K)``; an error says what does not fit."""
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        raise TypeError(f"the mask is {mask.dtype}, expected torch.bool: True where there is a user")
    if mask.shape != shape:
        raise ValueError(f"the mask has shape {tuple(mask.shape)}, expected {tuple(shape)}, that of {name}")
    return mask


def filled(values: Tensor, mask: Tensor | None, value: float = 0.0) -> Tensor:
    """``values`` of shape ``(..., K)``, with ``value`` where there is no user."""
    return values if mask is None else torch.where(mask, values, torch.full_like(values, value))


def filled_features(features: Tensor, mask: Tensor | None, value: float = 0.0) -> Tensor:
    """``features`` of shape ``(..., K, features)``, with ``value`` where there is no user."""
    return features if mask is None else filled(features, mask.unsqueeze(-1), value)


def users(values: Tensor, mask: Tensor | None) -> Tensor:
    """Users of each cell, ``(..., 1)``, for ``values`` of shape ``(..., K)``; in the dtype of ``values``.

    At least 1: a cell of no users is divided by it, too, and its logarithm is taken.
    """
    if mask is None:
        shape = (*values.shape[:-1], 1)
        return torch.full(shape, float(max(values.shape[-1], 1)), dtype=values.dtype, device=values.device)
    return mask.sum(dim=-1, keepdim=True).clamp(min=1).to(values.dtype)
