"""PyTorch modules for any number of users: equivariant layers, output layers with a size law, and a trainer.

``pip install anyk[torch]`` installs PyTorch. ``import anyk`` does not import it; ``import anyk.torch`` does.

==========================  ==========================================================================
:class:`EquivariantLayer`   permutation-equivariant layer with mean, sum or max;
                            :class:`EquivariantNetwork` stacks several
:class:`Softmax`            amounts that sum to a budget and scale as 1/K, as do those of
                            :class:`SumNormalisation`
:class:`Pretrained`         outputs times a pre-trained function of the number of users
:class:`PriceLayer`         amounts that sum to a budget, with one price and a :class:`PriceResponse`
:class:`RequiredBandwidth`  exact bandwidth that a received power requires, with its derivative
:class:`UrllcService`       QoS constraint of (P1), for training
:class:`PrimalDual`         training under constraints (the paper's Algorithm 1)
:func:`from_model`          trained AnyK model as a module
==========================  ==========================================================================

Cells of K users are tensors ``(batch, K, features)`` or ``(K, features)``. To batch cells with different K, pass a
boolean mask ``(batch, K)`` that is True for users. Masked entries can have any value, including NaN: they affect no
result.
"""

from anyk.torch.bandwidth import RequiredBandwidth
from anyk.torch.equivariant import EquivariantLayer, EquivariantNetwork, aggregate
from anyk.torch.models import BandwidthLaw, PricePolicy, UrllcGnn, UrllcModel, from_model, scaled_gain
from anyk.torch.outputs import Pretrained, Softmax, SumNormalisation
from anyk.torch.price import PriceLayer
from anyk.torch.primal_dual import Diverged, Multipliers, PrimalDual, Record, Terms
from anyk.torch.response import PriceResponse
from anyk.torch.urllc import UrllcService

# Name of the class in version 0.2.
AnyGnn = PricePolicy

__all__ = [
    "BandwidthLaw",
    "Diverged",
    "EquivariantLayer",
    "EquivariantNetwork",
    "Multipliers",
    "Pretrained",
    "PriceLayer",
    "PricePolicy",
    "PriceResponse",
    "PrimalDual",
    "Record",
    "RequiredBandwidth",
    "Softmax",
    "SumNormalisation",
    "Terms",
    "UrllcGnn",
    "UrllcModel",
    "UrllcService",
    "aggregate",
    "from_model",
    "scaled_gain",
]
