"""Answers of policies, in any form that people have them, and verdicts on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._anyk import Allocation, Cell, InputError
from ._arrays import Floats, numbers

Answer = Any
"""What a policy may return: an :class:`Allocation`, a mapping of arrays by name, or arrays in the problem's order."""


def columns(cell: Cell, answer: Answer) -> list[Floats]:
    """The amounts of an answer, in the order of the cell's, each as long as it should be."""
    amounts = cell.amounts()
    names = [name for name, _ in amounts]
    if isinstance(answer, Allocation):
        answer = answer.as_dict()
    if isinstance(answer, Mapping):
        missing = [name for name in names if name not in answer]
        if missing:
            raise InputError(f"the answer lacks {', '.join(missing)}, expected {', '.join(names)}")
        found = [answer[name] for name in names]
    elif all(hasattr(answer, name) for name in names):
        found = [getattr(answer, name) for name in names]
    elif len(names) == 1 and not (isinstance(answer, tuple) and len(answer) == 1):
        found = [answer]
    elif isinstance(answer, Sequence) or hasattr(answer, "__len__"):
        if len(answer) != len(names):
            raise InputError(f"the answer has {len(answer)} parts, expected {len(names)}: {', '.join(names)}")
        found = list(answer)
    else:
        raise InputError(f"the answer is of the type {type(answer).__name__}, expected {', '.join(names)}")
    size = len(cell)
    arrays = []
    for (name, common), value in zip(amounts, found):
        array = numbers(name, value)
        if common and array.size == size and size > 1 and bool((array == array.flat[0]).all()):
            # One for each user, where all are the same.
            array = array.reshape(-1)[:1].copy()
        expected = 1 if common else size
        if array.size != expected or array.ndim > 2:
            each = "one for all users" if common else "one for each user"
            raise InputError(f"{name} has the shape {array.shape}, expected ({expected},): {each}")
        arrays.append(array.reshape(-1))
    return arrays


class Verdict:
    """What the judge finds about an answer.

    ``status`` is ``feasible``, ``misses``, ``over-budget`` or ``infeasible`` (no answer could serve everyone); ``value``
    is the ``objective``, ``reference`` the best there is, ``gap_percent`` how far the value is from it (positive is worse),
    ``availability`` the share of users whose demand is met, whether or not the budget is kept, ``budget_used`` the share of
    the budget that is given away, ``kkt_residual`` 0 at the optimum, ``k`` the number of users, and ``missed`` who is not
    served: dicts with ``user`` (a position), ``what``, ``value`` and ``target``.
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
        self.missed: list[dict[str, Any]] = [
            {"user": int(miss["id"]), "what": miss["what"], "value": miss["value"], "target": miss["target"]}
            for miss in fields.get("missed", [])
        ]

    @property
    def is_feasible(self) -> bool:
        """Whether every demand is met within the budget."""
        return self.status == "feasible"

    def _side(self) -> str:
        worse = (self.gap_percent or 0.0) >= 0
        return "over" if worse != self._larger_is_better else "under"

    def __repr__(self) -> str:
        gap = "" if self.gap_percent is None else f", {abs(self.gap_percent):.4g} % {self._side()} the reference"
        served = "" if self.availability is None else f", {100 * self.availability:.2f} % served"
        value = "" if self.value is None else f", {self.objective} {self.value:.6g}"
        return f"<{self.status}: K = {self.k}{served}{value}{gap}>"


def verdict(text: str) -> Verdict:
    """The verdict that the compiled part has found."""
    return Verdict(json.loads(text))


def to_pandas(
    sizes: list[int],
    amounts: list[tuple[str, Floats]],
    status: list[str],
    rows: tuple[list[int], Any] | None,
) -> Any:
    """Answers of cells with these numbers of users as a ``pandas.DataFrame``, a row for each user."""
    import pandas

    cell = np.repeat(np.arange(len(sizes)), sizes)
    # An amount that all users of a cell share has one number for each cell.
    columns = {name: values if values.size == cell.size else values[cell] for name, values in amounts}
    columns["status"] = np.array(status, dtype=object)[cell]
    if rows is None:
        user = np.concatenate([np.arange(size) for size in sizes])
        return pandas.DataFrame(columns, index=pandas.MultiIndex.from_arrays([cell, user], names=["cell", "user"]))
    of_users, index = rows
    in_order = np.argsort(of_users)
    return pandas.DataFrame({name: values[in_order] for name, values in columns.items()}, index=index)
