"""Results of policies in all accepted forms, and verdicts on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._anyk import Allocation, Cell, InputError
from ._arrays import Floats, numbers
from ._tables import ROUNDING

Answer = Any
"""Result of a policy: an :class:`Allocation`, a mapping of arrays by name, or arrays in the order of the problem."""


def columns(cell: Cell, answer: Answer) -> list[Floats]:
    """Return the amounts of a result in the order of ``cell.amounts()``.

    Raises :class:`InputError` if an amount is missing or does not have one number per user (or one for all users).
    """
    amounts = cell.amounts()
    names = [name for name, _ in amounts]
    if isinstance(answer, Allocation):
        answer = answer.as_dict()
    if isinstance(answer, Mapping):
        missing = [name for name in names if name not in answer]
        if missing:
            raise InputError(f"the result lacks {', '.join(missing)}, expected {', '.join(names)}")
        found = [answer[name] for name in names]
    elif all(hasattr(answer, name) for name in names):
        found = [getattr(answer, name) for name in names]
    elif len(names) == 1 and not (isinstance(answer, tuple) and len(answer) == 1):
        found = [answer]
    elif isinstance(answer, Sequence) or hasattr(answer, "__len__"):
        if len(answer) != len(names):
            is_list = isinstance(answer, list) and len(answer) > 0 and all(isinstance(one, (int, float)) for one in answer)
            parts = "is one array" if is_list or getattr(answer, "ndim", 0) == 1 else f"has {len(answer)} parts"
            raise InputError(f"the result {parts}, expected {len(names)} arrays ({', '.join(names)})")
        found = list(answer)
    else:
        raise InputError(f"the result is of the type {type(answer).__name__}, expected {', '.join(names)}")
    size = len(cell)
    arrays = []
    for (name, common), value in zip(amounts, found):
        array = numbers(name, value)
        if common and array.size == size and size > 1 and bool((array == array.flat[0]).all()):
            # A policy may repeat the common number for each user.
            array = array.reshape(-1)[:1].copy()
        expected = 1 if common else size
        if array.size != expected or array.ndim > 2:
            each = "one for all users" if common else "one for each user"
            raise InputError(f"{name} has the shape {array.shape}, expected ({expected},): {each}")
        arrays.append(array.reshape(-1))
    return arrays


class Verdict:
    """Result of the check of an allocation.

    Attributes
    ----------
    status
        ``feasible``, ``misses`` (a user's demand is not met), ``over-budget``, or ``infeasible`` (no allocation could
        serve every user).

    k
        Number of users or links.

    objective
        Name and unit of the objective.

    value
        Objective of the allocation.

    reference
        Best known objective of the cell.

    gap_percent
        Distance of the value from the reference, in percent; positive is worse.

    availability
        Share of users whose demand is met, even if the allocation exceeds the budget.

    budget_used
        Share of the budget that the allocation uses.

    kkt_residual
        Distance from the optimality conditions; 0 at the optimum.

    warning
        Warning if the allocation is outside the range in which the model of the problem is meant to hold.

    missed
        Users that are not served: dicts with ``user`` (position), ``what``, ``value`` and ``target``.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self.status: str = fields["status"]
        self.k: int = fields["k"]
        self.objective: str = "{name} ({unit})".format(**fields["objective"])
        self._larger_is_better: bool = fields["objective"]["larger_is_better"]
        self.value: float | None = fields["value"]
        self.reference: float | None = fields["reference"]
        self.gap_percent: float | None = fields["gap_percent"]
        self.availability: float | None = fields.get("availability")
        self.budget_used: float | None = fields.get("budget_used")
        self.kkt_residual: float | None = fields["kkt_residual"]
        self.warning: str | None = fields.get("warning")
        self.missed: list[dict[str, Any]] = [
            {"user": int(miss["id"]), "what": miss["what"], "value": miss["value"], "target": miss["target"]}
            for miss in fields.get("missed", [])
        ]

    @property
    def is_feasible(self) -> bool:
        """Whether the allocation meets every demand within the budget."""
        return self.status == "feasible"

    def _side(self) -> str:
        worse = (self.gap_percent or 0.0) >= 0
        return "above" if worse != self._larger_is_better else "below"

    def __repr__(self) -> str:
        size = abs(self.gap_percent or 0.0)
        gap = f", {size:.4g} % {self._side()} the reference" if size >= ROUNDING else ", equal to the reference"
        gap = "" if self.gap_percent is None else gap
        served = "" if self.availability is None else f", {100 * self.availability:.2f} % served"
        value = "" if self.value is None else f", {self.objective} {self.value:.6g}"
        return f"<{self.status}: K = {self.k}{served}{value}{gap}>"


def verdict(text: str) -> Verdict:
    """Build a verdict from the JSON of the compiled module."""
    return Verdict(json.loads(text))


def one_to_pandas(answer: Allocation) -> Any:
    """Return the allocation of one cell as a ``pandas.DataFrame`` with one row per user."""
    amounts = [(name, np.atleast_1d(values)) for name, values in answer.as_dict().items()]
    users = max(values.size for _, values in amounts)
    return to_pandas([users], amounts, [answer.status], None).droplevel("cell")


def to_pandas(
    sizes: list[int],
    amounts: list[tuple[str, Floats]],
    status: list[str],
    rows: tuple[list[int], Any] | None,
) -> Any:
    """Return the allocations of cells with ``sizes`` users as a ``pandas.DataFrame`` with one row per user.

    ``rows`` has the row of each user and the index of the table that the users come from.
    """
    import pandas

    cell = np.repeat(np.arange(len(sizes)), sizes)
    # An amount that all users of a cell share has one number per cell.
    columns = {name: values if values.size == cell.size else values[cell] for name, values in amounts}
    columns["status"] = np.array(status, dtype=object)[cell]
    if rows is None:
        user = np.concatenate([np.arange(size) for size in sizes])
        return pandas.DataFrame(columns, index=pandas.MultiIndex.from_arrays([cell, user], names=["cell", "user"]))
    of_users, index = rows
    in_order = np.argsort(of_users)
    return pandas.DataFrame({name: values[in_order] for name, values in columns.items()}, index=index)
