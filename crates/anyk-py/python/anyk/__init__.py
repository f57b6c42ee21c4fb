"""Resource allocation in wireless networks for any number of users: exact, or with learned policies.

>>> import anyk, numpy as np
>>> cell = anyk.Urllc(distances_m=np.array([60.0, 90.0, 240.0]))
>>> best = cell.solve()
>>> best.status, best.duality_gap < 1e-8
('optimal', True)

Each problem is a class, such as :class:`Urllc`; :class:`Separable` is for problems that you define. :func:`train`
trains a policy for any number of users, :func:`evaluate` compares policies, including your own, with the optimum, and
:func:`diagnose` finds the size law of a policy. ``anyk.torch`` has layers for PyTorch; import it separately.
"""

from ._anyk import Allocation, Allocations, Batch, Cell, Infeasible, InputError, __version__
from ._answers import Verdict
from ._cells import (
    EqualBandwidth,
    Interference,
    LinkScheduling,
    QosPower,
    Urllc,
    UrllcPower,
    cells,
    least_received_w,
    options,
    problems,
    read,
    required_bandwidth,
    sample,
)
from ._compare import Comparison, Policy, batched, evaluate
from ._diagnose import Diagnosis, diagnose
from ._interop import from_table, gains_of_deepmimo, gains_of_sionna
from ._models import Model, load, train
from ._separable import Cost, Separable
from ._studies import Study, studies, study
from ._sweep import SweepTable, sweep
from ._tables import Table

__all__ = [
    "Allocation",
    "Allocations",
    "Batch",
    "Cell",
    "Comparison",
    "Cost",
    "Diagnosis",
    "EqualBandwidth",
    "Infeasible",
    "InputError",
    "Interference",
    "LinkScheduling",
    "Model",
    "Policy",
    "QosPower",
    "Separable",
    "Study",
    "SweepTable",
    "Table",
    "Urllc",
    "UrllcPower",
    "Verdict",
    "__version__",
    "batched",
    "cells",
    "diagnose",
    "evaluate",
    "from_table",
    "gains_of_deepmimo",
    "gains_of_sionna",
    "least_received_w",
    "load",
    "options",
    "problems",
    "read",
    "required_bandwidth",
    "sample",
    "studies",
    "study",
    "sweep",
    "train",
]
