"""Trained AnyK models as PyTorch modules, to inspect them and to continue their training."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import anyk
from anyk.torch import _container, _masks
from anyk.torch.bandwidth import RequiredBandwidth
from anyk.torch.equivariant import EquivariantLayer, EquivariantNetwork
from anyk.torch.outputs import Pretrained, Softmax
from anyk.torch.price import PriceLayer
from anyk.torch.response import PriceResponse
from anyk.torch.urllc import UrllcService

Tensors = dict[str, NDArray[np.float64]]

# Fixed ln ν (ν in Hz/W) of price policies with a softmax output in files of version 0.2 (urllc/price_training.rs).
_FORMER_LN_PRICE = 9.0


def scaled_gain(gains: Tensor) -> Tensor:
    """Return ``ln α + 30``, the input of the networks, in double precision, because ``ln α`` is near −30."""
    return gains.to(torch.float64).log() + 30.0


class BandwidthLaw(nn.Module):
    """Outer function ``B^v(α, K) = unit·softplus(FNN(ln α + 30, size))`` of P-GNN, in Hz.

    Parameters
    ----------
    hidden
        Numbers of neurons of the hidden layers.

    unit_hz
        Bandwidth in Hz for an output of 1.

    logarithmic
        Whether the size input is ``ln K``; otherwise it is ``K/200``, as in the paper.
    """

    def __init__(self, hidden: list[int], unit_hz: float = 1e5, logarithmic: bool = False) -> None:
        super().__init__()
        widths = [2, *hidden, 1]
        pairs = zip(widths[:-1], widths[1:], strict=True)
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)
        self.unit_hz = unit_hz
        self.logarithmic = logarithmic

    def forward(self, x: Tensor, size: Tensor) -> Tensor:
        """Map scaled gains, the first feature of ``x``, and sizes ``(..., 1)`` to bandwidths ``(..., K)``."""
        second = size.log() if self.logarithmic else size / 200.0
        gain = x[..., 0]
        h = torch.stack((gain, second.expand_as(gain)), dim=-1)
        for layer in self.layers[:-1]:
            h = nn.functional.leaky_relu(layer(h), 0.01)
        output: Tensor = self.layers[-1](h)
        return self.unit_hz * nn.functional.softplus(output[..., 0])


class UrllcModel(nn.Module):
    """Base class of policies for (P1), which map gains to powers and bandwidths.

    Parameters
    ----------
    record
        Record of the training and its configuration, from the model file.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__()
        self.record = record
        config = record["config"]
        cell = {key: value for key, value in config["cell"].items() if key != "max_power_dbm"}
        # Files of version 0.2 name a quadrature; AnyK supports only this one now.
        if cell.pop("quadrature", "log-trapezoid") != "log-trapezoid":
            raise ValueError(f"cell.quadrature is {config['cell']['quadrature']}, expected log-trapezoid")
        self.cell: dict[str, Any] = {**cell, **config["frame"], **config["service"]}
        self.max_power_w = 1e-3 * 10 ** (config["cell"]["max_power_dbm"] / 10)
        #: Factor on the bandwidths of a calibrated model; otherwise 1.
        self.margin = float((record.get("guarantee") or {}).get("margin", 1.0))

    def _widened(self, bandwidth_hz: Tensor, most_hz: float) -> Tensor:
        return bandwidth_hz if self.margin == 1.0 else (self.margin * bandwidth_hz).clamp(max=most_hz)


class UrllcGnn(UrllcModel):
    """P-GNN or M-GNN: powers from a softmax, bandwidths with or without a frozen pre-trained outer function."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        training = record["training"]
        self.sees_size = training.get("inputs", "gain") == "gain-and-size"
        widths = [2 if self.sees_size else 1, *training["hidden"], 1]
        self.power = EquivariantNetwork(widths, training["aggregator"])
        self.bandwidth = EquivariantNetwork(widths, training["aggregator"])
        self.split = Softmax(self.max_power_w)
        shape, unit_hz = record.get("law"), float(record["unit_hz"])
        self.law: BandwidthLaw | None = None
        if shape is not None:
            logarithmic = shape.get("scale", "linear") == "logarithmic"
            self.law = BandwidthLaw(shape["hidden"], 1e3 * shape.get("unit_khz", 100), logarithmic)
        self.outer = Pretrained(self.law or (lambda x, size: torch.full_like(x[..., 0], unit_hz)))
        self.most_hz = math.inf if self.margin == 1.0 else RequiredBandwidth(**self.cell).max_bandwidth_hz

    def forward(self, gains: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return powers (W) and bandwidths (Hz) for channel gains (ratios), all ``(..., K)`` and of the same dtype."""
        mask = _masks.checked(mask, gains.shape, "the gains")
        gains = _masks.filled(gains, mask, 1.0)
        dtype = self.power.layers[0].own.dtype
        assert isinstance(dtype, torch.dtype)
        x = scaled_gain(gains).to(dtype).unsqueeze(-1)
        if self.sees_size:
            size = _masks.users(x[..., 0], mask).log().unsqueeze(-1)
            x = torch.cat((x, size.expand_as(x)), dim=-1)
        # In the dtype of the gains, the powers sum to the budget as exactly as that dtype allows.
        power_w = self.split(self.power(x, mask)[..., 0].to(gains.dtype), mask)
        bandwidth_hz = self.outer(self.bandwidth(x, mask)[..., 0], x, mask)
        return power_w, self._widened(bandwidth_hz.to(gains.dtype), self.most_hz)


class PricePolicy(UrllcModel):
    """Price policy: powers from each user's learned response to one price, and the bandwidths that they require.

    All users have the service class of the model.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        training, scaling = record["training"], record["scaling"]
        known = {field.name for field in dataclasses.fields(UrllcService)}
        service = UrllcService(**{key: value for key, value in self.cell.items() if key in known})
        places = zip(service.context, scaling["mean"], scaling["deviation"], strict=True)
        context = [max(-10.0, min(10.0, (c - mean) / d)) if d > 1e-7 else 0.0 for c, mean, d in places]
        self.context: Tensor
        self.register_buffer("context", torch.tensor(context))
        self.layer = PriceLayer(PriceResponse(len(context), training["network"]["hidden"]))
        self.by_price = training.get("output", "kkt") == "kkt"
        fixed = training.get("fixed_ln_price")
        self.fixed_ln_price = _FORMER_LN_PRICE if fixed is None else float(fixed)
        self.required = RequiredBandwidth(**self.cell)

    def forward(
        self, gains: Tensor, mask: Tensor | None = None, max_power_w: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return powers (W) and bandwidths (Hz), ``(..., K)`` each and in the dtype of the gains.

        In double precision, every user meets its QoS if the budget can serve the cell.

        Parameters
        ----------
        gains
            Channel gains ``α_k`` (ratios), ``(batch, K)``, or ``(K,)`` for one cell.

        mask
            Boolean ``(..., K)``, True for users.

        max_power_w
            Power budget in W, one number or ``(batch,)`` (default: that of the model's cell).
        """
        mask = _masks.checked(mask, gains.shape, "the gains")
        gains = _masks.filled(gains, mask, 1.0)
        # Logarithms of small numbers and differences from minimums need double precision up to the last line.
        least_w = self.required.least_power_w(gains.to(torch.float64))
        offsets = least_w.log() - math.log(self.required.max_bandwidth_hz)
        budget = self.max_power_w if max_power_w is None else max_power_w
        if self.by_price:
            power_w, over_w = self.layer.split(offsets, budget, least_w, least_w, self.context, mask)
        else:
            ln_share = least_w.log() + self.layer.response(self.fixed_ln_price + offsets, self.context)
            total_w = torch.as_tensor(budget, dtype=torch.float64, device=gains.device)
            power_w = Softmax()(ln_share, mask) * total_w.unsqueeze(-1)
            over_w = power_w - least_w
        bandwidth_hz = self.required.at_excess(over_w / least_w, mask)
        bandwidth_hz = self._widened(bandwidth_hz, self.required.max_bandwidth_hz)
        return power_w.to(gains.dtype), bandwidth_hz.to(gains.dtype)


def from_model(model: str | os.PathLike[str] | anyk.Model, *, dtype: torch.dtype = torch.float32) -> UrllcModel:
    """Build a differentiable module from a trained model; it returns the same powers and bandwidths.

    Parameters
    ----------
    model
        A model file, or a model from ``anyk.train`` or ``anyk.load``: price (known fading distribution), p-gnn or m-gnn
        for urllc.

    dtype
        Type of the parameters. The results have the type of the gains.

    Returns
    -------
    PricePolicy or UrllcGnn
        A module from gains ``(..., K)`` to powers (W) and bandwidths (Hz).

    Raises
    ------
    ValueError
        If the file is damaged, or the model is not a ``price`` (known fading distribution), ``p-gnn`` or ``m-gnn``
        model for ``urllc``.

    Examples
    --------
    >>> module = anyk.torch.from_model("price.safetensors")
    >>> power_w, bandwidth_hz = module(torch.tensor([1e-10, 3e-12, 4e-13]))
    """
    if isinstance(model, str | os.PathLike):
        name = os.fspath(model)
        with open(name, "rb") as file:
            content, tensors = _container.read(file.read(), name)
    elif isinstance(model, anyk.Model):
        name = "the model"
        content, tensors = _container.read(model.to_bytes(), name)
    else:
        raise TypeError(f"the model is a {type(model).__name__}, expected a path or an anyk.Model")
    problem, method, record = content["problem"], content["method"], content["record"]
    module: UrllcModel
    if problem == "urllc" and method in ("p-gnn", "m-gnn"):
        module = UrllcGnn(record).to(dtype)
        names = _names_of_gnn(module)
    elif problem == "urllc" and method in ("price", "any-gnn") and record.get("sampled") is None:
        module = PricePolicy(record).to(dtype)
        names = _names_of_price(module)
    else:
        sampled = " from samples of fading" if record.get("sampled") else ""
        raise ValueError(
            f"{name} has the problem {problem} and the method {method}{sampled}; expected a urllc model: p-gnn, "
            f"m-gnn, or price with a known fading distribution"
        )
    _load(name, names, tensors)
    return module


def _names_of_gnn(module: UrllcGnn) -> dict[str, Tensor]:
    names: dict[str, Tensor] = {}
    for network in ("power", "bandwidth"):
        for index, layer in enumerate(getattr(module, network).layers):
            assert isinstance(layer, EquivariantLayer)
            for part in ("own", "others", "bias"):
                names[f"{network}.{index}.{part}"] = getattr(layer, part)
    if module.law is not None:
        for index, dense in enumerate(module.law.layers):
            assert isinstance(dense, nn.Linear)
            names |= {f"law.{index}.weight": dense.weight, f"law.{index}.bias": dense.bias}
    return names


def _names_of_price(module: PricePolicy) -> dict[str, Tensor]:
    response = module.layer.response
    assert isinstance(response, PriceResponse) and response.network is not None
    first, last = response.network[0], response.network[2]
    assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    return {
        "response.0.weight": first.weight,
        "response.0.bias": first.bias,
        "response.1.weight": last.weight,
        # The biases of the last layer are the response without a context.
        "response.1.bias": response.outputs,
    }


def _load(file: str, names: dict[str, Tensor], tensors: Tensors) -> None:
    if names.keys() != tensors.keys():
        missing, unknown = sorted(names.keys() - tensors.keys()), sorted(tensors.keys() - names.keys())
        raise ValueError(f"{file}: tensors {missing} are missing and {unknown} are unknown, expected {sorted(names)}")
    with torch.no_grad():
        for name, parameter in names.items():
            if tensors[name].shape != tuple(parameter.shape):
                expected = f"{tuple(parameter.shape)}, as in its record"
                raise ValueError(f"{file}: tensor {name} has shape {tensors[name].shape}, expected {expected}")
            parameter.copy_(torch.from_numpy(tensors[name].copy()))
