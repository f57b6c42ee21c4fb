"""PyTorch modules that know the number of users: layers, output layers with a size law, a trainer.

PyTorch is imported with this module and not before; ``pip install anyk[torch]`` brings it.

==========================  ==========================================================================
:class:`EquivariantLayer`   the permutation-equivariant layer, by mean, sum or max; with
                            :class:`EquivariantNetwork`, layer after layer
:class:`Softmax`            outputs that sum to a budget and fall as 1/K; so does :class:`SumNormalisation`
:class:`Pretrained`         outputs times a function of the size that was trained before
:class:`PriceLayer`         outputs that sum to a budget by one price, by a :class:`PriceResponse`
:class:`RequiredBandwidth`  the exact bandwidth that a received power needs, with its derivative
:class:`UrllcService`       the QoS constraint of (P1), for training
:class:`PrimalDual`         training under constraints (the paper's Algorithm 1)
:func:`from_model`          the weights of a trained model of anyk, as a module
==========================  ==========================================================================

Cells of K users are tensors ``(batch, K, features)`` or ``(K, features)``. Ragged batches have a boolean mask
``(batch, K)``, True where there is a user; what is masked out may hold anything, NaN included, and influences nothing.
"""

from anyk.torch.bandwidth import RequiredBandwidth
from anyk.torch.equivariant import EquivariantLayer, EquivariantNetwork, aggregate
from anyk.torch.models import BandwidthLaw, PricePolicy, UrllcGnn, UrllcModel, from_model, scaled_gain
from anyk.torch.outputs import Pretrained, Softmax, SumNormalisation
from anyk.torch.price import PriceLayer
from anyk.torch.primal_dual import Diverged, Multipliers, PrimalDual, Record, Terms
from anyk.torch.response import PriceResponse
from anyk.torch.urllc import UrllcService

# Its name in version 0.2.
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
