"""Permutation-equivariant networks for any number of users (paper, eq. (Out-hidd))."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from anyk.torch import _masks

Aggregator = Literal["mean", "sum", "max"]
Activation = str | Callable[[Tensor], Tensor]

AGGREGATORS: tuple[Aggregator, ...] = ("mean", "sum", "max")
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    # Slope 0.01 below zero, as in the paper's table II.
    "leaky-relu": lambda x: nn.functional.leaky_relu(x, 0.01),
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softplus": nn.functional.softplus,
}


def activation(function: Activation) -> Callable[[Tensor], Tensor]:
    """Return the activation that has the given name; a function is returned unchanged."""
    if callable(function):
        return function
    if function not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ValueError(f"activation is {function!r}, expected one of {known}, or a function of a tensor")
    return ACTIVATIONS[function]


def aggregate(features: Tensor, aggregator: Aggregator, mask: Tensor | None = None) -> Tensor:
    """Aggregate, for each user k, the features of all other users in O(K) operations.

    * ``mean``: ``(1/K)·Σ_{j≠k} h_j``, divided by K rather than K − 1, as in the paper
    * ``sum``: ``Σ_{j≠k} h_j``
    * ``max``: ``max_{j≠k} h_j``, separately for each feature

    The result is 0 for a single user.

    Parameters
    ----------
    features
        ``(..., K, features)``.

    aggregator
        ``"mean"``, ``"sum"`` or ``"max"``.

    mask
        Boolean ``(..., K)``, True for users. Masked entries affect no result.

    Returns
    -------
    torch.Tensor
        ``(..., K, features)``.
    """
    if aggregator not in AGGREGATORS:
        raise ValueError(f"aggregator is {aggregator!r}, expected one of {', '.join(AGGREGATORS)}")
    if aggregator == "max":
        return _largest_of_others(features, mask)
    features = _masks.filled_features(features, mask)
    others = features.sum(dim=-2, keepdim=True) - features
    if aggregator == "mean":
        others = others / _masks.users(features[..., 0], mask).unsqueeze(-1)
    return _masks.filled_features(others, mask)


def _largest_of_others(features: Tensor, mask: Tensor | None) -> Tensor:
    if features.shape[-2] < 2:
        return torch.zeros_like(features)
    # The largest and the second largest value of each feature are enough for all users.
    lowest = -torch.inf
    best, chosen = _masks.filled_features(features, mask, lowest).topk(2, dim=-2)
    places = torch.arange(features.shape[-2], device=features.device).unsqueeze(-1)
    others = torch.where(places == chosen[..., :1, :], best[..., 1:, :], best[..., :1, :])
    if mask is None:
        return others
    seen = mask & (mask.sum(dim=-1, keepdim=True) > 1)
    return _masks.filled_features(others, seen)


class EquivariantLayer(nn.Module):
    """Layer ``y_k = σ(U x_k + V·agg_{j≠k} x_j + c)`` with the same weights for all users, for any number of users.

    Parameters
    ----------
    inputs
        Number of input features of a user.

    outputs
        Number of output features of a user.

    aggregator
        ``"mean"``, ``"sum"`` or ``"max"``, see :func:`aggregate`.

    activation
        ``σ``: a name (``"identity"``, ``"leaky-relu"``, …) or an elementwise function.

    Examples
    --------
    >>> layer = EquivariantLayer(3, 8, aggregator="mean")
    >>> layer(torch.zeros(5, 20, 3)).shape  # five cells of 20 users
    torch.Size([5, 20, 8])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        aggregator: Aggregator = "mean",
        activation: Activation = "leaky-relu",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if inputs < 1 or outputs < 1:
            raise ValueError(f"the layer has {inputs} inputs and {outputs} outputs, expected at least 1 of each")
        if aggregator not in AGGREGATORS:
            raise ValueError(f"aggregator is {aggregator!r}, expected one of {', '.join(AGGREGATORS)}")
        self.aggregator: Aggregator = aggregator
        self.activation = _activation(activation)
        # These are the names in model files.
        self.own = nn.Parameter(torch.empty(outputs, inputs, device=device, dtype=dtype))
        self.others = nn.Parameter(torch.empty(outputs, inputs, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(outputs, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the parameters uniformly within ``±1/√inputs``, as the linear layers of PyTorch do."""
        bound = 1.0 / math.sqrt(self.own.shape[1])
        with torch.no_grad():
            for parameter in (self.own, self.others, self.bias):
                parameter.uniform_(-bound, bound, generator=generator)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the output features of every user, ``(..., K, outputs)``; 0 for masked entries.

        Parameters
        ----------
        x
            ``(batch, K, inputs)``, or ``(K, inputs)`` for one cell.

        mask
            Boolean ``(batch, K)`` or ``(K,)``, True for users. Masked entries can have any value, including NaN, and
            get no gradient.
        """
        if x.ndim < 2 or x.shape[-1] != self.own.shape[1]:
            expected = f"(batch, K, {self.own.shape[1]}) or (K, {self.own.shape[1]})"
            raise ValueError(f"the features have shape {tuple(x.shape)}, expected {expected}")
        mask = _masks.checked(mask, x.shape[:-1], "the features without their last axis")
        x = _masks.filled_features(x, mask)
        others = aggregate(x, self.aggregator, mask)
        linear = nn.functional.linear
        y = self.activation(linear(x, self.own, self.bias) + linear(others, self.others))
        return _masks.filled_features(y, mask)

    def extra_repr(self) -> str:
        outputs, inputs = self.own.shape
        return f"{inputs}, {outputs}, aggregator={self.aggregator!r}"


# The class needs another name for this function, because an argument has the same name.
_activation = activation


class EquivariantNetwork(nn.Module):
    """Network of several :class:`EquivariantLayer` in sequence.

    Parameters
    ----------
    widths
        Numbers of features of the input, each hidden layer and the output.

    aggregator
        ``"mean"``, ``"sum"`` or ``"max"``, see :func:`aggregate`.

    activation
        Activation of the hidden layers.

    last
        Activation of the last layer; by default none, because an output module usually follows.

    generator
        Generator for the parameters (default: the global one of PyTorch).

    Examples
    --------
    >>> network = EquivariantNetwork([1, 4, 1])  # as in the paper: four hidden features for each user
    >>> network(torch.zeros(200, 1)).shape
    torch.Size([200, 1])
    """

    def __init__(
        self,
        widths: Sequence[int],
        aggregator: Aggregator = "mean",
        activation: Activation = "leaky-relu",
        last: Activation = "identity",
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if len(widths) < 2:
            raise ValueError(f"widths are {list(widths)}, expected at least an input width and an output width")
        pairs = list(zip(widths[:-1], widths[1:], strict=True))
        of_layers = [activation] * (len(pairs) - 1) + [last]
        self.layers = nn.ModuleList(
            EquivariantLayer(inputs, outputs, aggregator, sigma, device=device, dtype=dtype)
            for (inputs, outputs), sigma in zip(pairs, of_layers, strict=True)
        )
        if generator is not None:
            for layer in self.layers:
                assert isinstance(layer, EquivariantLayer)
                layer.reset_parameters(generator)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map ``(..., K, widths[0])`` to ``(..., K, widths[-1])``; see :meth:`EquivariantLayer.forward`."""
        for layer in self.layers:
            x = layer(x, mask)
        return x
