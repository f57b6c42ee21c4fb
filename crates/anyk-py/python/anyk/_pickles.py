"""Functions that rebuild cells and answers from pickles. The state is that of ``__reduce__`` in the compiled module."""

from __future__ import annotations

from typing import Any

from ._anyk import Allocation, Allocations, Batch, Cell
from ._anyk import Cost as _Cost
from ._cells import EqualBandwidth, Interference, LinkScheduling, QosPower, Urllc, UrllcPower
from ._separable import Separable, wrapped


def _restore_cost(values: Any) -> _Cost:
    return _Cost._restored(values)


def _restore_cell(problem: str | None, options: dict[str, Any], state: tuple[Any, ...]) -> Cell:
    if problem is None:
        costs, gains, classes, weights, budget = state
        cost = [wrapped(one) for one in costs]
        return Separable(cost, gains=gains, budget=budget, classes=classes, weights=weights)
    kinds: tuple[type[Cell], ...] = (Urllc, UrllcPower, QosPower, EqualBandwidth, Interference, LinkScheduling)
    own = {getattr(kind, "_problem"): kind for kind in kinds}
    return Cell.__new__(own.get(problem, Cell), problem, {}, options, stored=state)


def _restore_batch(
    problem: str | None, options: dict[str, Any], states: list[tuple[Any, ...]], rows: tuple[list[int], Any] | None
) -> Batch:
    if problem is None:
        return Batch.of_cells([_restore_cell(None, {}, state) for state in states])
    return Batch._restored(problem, options, states, rows)


def _restore(*state: Any) -> Allocation:
    return Allocation._restored(*state)


def _restore_all(*state: Any) -> Allocations:
    return Allocations._restored(*state)
