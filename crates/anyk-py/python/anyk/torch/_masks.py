"""Masks of batches with different numbers of users.

The functions replace masked entries *before* they are used. Multiplying by 0 afterwards is not enough: the gradient
of a result that depends on a NaN in the padding is NaN times 0, which is NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor


def checked(mask: Tensor | None, shape: torch.Size, name: str) -> Tensor | None:
    """Return the mask, or raise an error if it does not have the given shape ``(..., K)`` or is not boolean."""
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        raise TypeError(f"the mask is {mask.dtype}, expected torch.bool, with True for users")
    if mask.shape != shape:
        raise ValueError(f"the mask has shape {tuple(mask.shape)}, expected {tuple(shape)}, that of {name}")
    return mask


def filled(values: Tensor, mask: Tensor | None, value: float = 0.0) -> Tensor:
    """Return ``values`` of shape ``(..., K)`` with ``value`` in masked entries."""
    return values if mask is None else torch.where(mask, values, torch.full_like(values, value))


def filled_features(features: Tensor, mask: Tensor | None, value: float = 0.0) -> Tensor:
    """Return ``features`` of shape ``(..., K, features)`` with ``value`` in masked entries."""
    return features if mask is None else filled(features, mask.unsqueeze(-1), value)


def users(values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the number of users in each cell, ``(..., 1)``, for ``values`` of shape ``(..., K)`` and in their dtype.

    It is at least 1, because callers divide by it and take its logarithm even for a cell without users.
    """
    if mask is None:
        shape = (*values.shape[:-1], 1)
        return torch.full(shape, float(max(values.shape[-1], 1)), dtype=values.dtype, device=values.device)
    return mask.sum(dim=-1, keepdim=True).clamp(min=1).to(values.dtype)
