"""Names of problems, methods and commands, as types: editors complete them, and type checkers find typos."""

from typing import Literal

ProblemName = Literal[
    "urllc", "urllc-power", "qos-power", "equal-bandwidth", "interference", "link-scheduling", "separable"
]
"""Name of a problem."""

MethodName = Literal["price", "p-gnn", "m-gnn", "fnn", "any-gnn"]
"""Name of a method to train. Version 0.2 calls ``price`` ``any-gnn``."""

SolverName = Literal[
    "optimum", "equal-power", "equal-bandwidth", "equal-shares", "wmmse", "full-power", "fplinq", "greedy", "exact"
]
"""Name of a policy that needs no training."""

Verb = Literal["solve", "assess", "sample", "train", "evaluate", "allocate", "calibrate"]
"""Name of a command that has options."""
