"""Comparison of policies on the same random cells."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import _anyk
from ._anyk import Cell, Infeasible, InputError
from ._answers import Answer, columns
from ._arrays import whole, wholes
from ._cells import Option
from ._models import Model, load
from ._progress import Progress, watching
from ._tables import Table

Policy = Union[Callable[[Cell], Answer], "batched", Model, str, None]
"""A policy: a function from a cell to an allocation, a :class:`Model` or its file, or the name of a baseline."""


class batched:
    """Policy for many cells at once: a function from a list of cells to a list of allocations.

    Examples
    --------
    >>> @batched
    ... def policy(cells):
    ...     return [equal_power(cell) for cell in cells]
    """

    def __init__(self, function: Callable[[list[Cell]], Sequence[Answer]]) -> None:
        self.function = function

    def __call__(self, cells: list[Cell]) -> Sequence[Answer]:
        return self.function(cells)


def asked(policy: Callable[[Cell], Answer], strict: bool = False) -> Callable[[Cell], tuple[Any, float]]:
    """Wrap a policy for the compiled module, which expects amounts or a reason, and the seconds of the call.

    With ``strict``, a result that is not an allocation raises an exception.
    """

    def ask(cell: Cell) -> tuple[Any, float]:
        start = time.perf_counter()
        try:
            answer = policy(cell)
        except Infeasible as why:
            return str(why), time.perf_counter() - start
        seconds = time.perf_counter() - start
        if strict:
            return [column.tolist() for column in columns(cell, answer)], seconds
        return _amounts(cell, answer), seconds

    return ask


def asked_many(policy: batched) -> Callable[[list[Cell]], tuple[list[Any], float]]:
    """Wrap a batched policy for the compiled module, as :func:`asked` does for a function of one cell."""

    def ask(cells: list[Cell]) -> tuple[list[Any], float]:
        start = time.perf_counter()
        answers = list(policy(cells))
        seconds = time.perf_counter() - start
        if len(answers) != len(cells):
            raise InputError(f"the policy returned {len(answers)} allocations, expected {len(cells)}: one per cell")
        return [_amounts(cell, answer) for cell, answer in zip(cells, answers)], seconds

    return ask


def _amounts(cell: Cell, answer: Answer) -> Any:
    try:
        return [column.tolist() for column in columns(cell, answer)]
    except InputError as why:
        return str(why)


class Comparison(Table):
    """Result of :func:`evaluate`: a table with one row for each policy and number of users.

    Attributes
    ----------
    objective
        Objective of the problem.

    reference
        Name of the reference that gaps are measured from.

    failures
        The first results that could not be checked, with the reasons.

    size_laws
        Size law of each of your policies, with the recommended network.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        rows = found["rows"]
        for row in rows:
            low, high = row.pop("availability_interval") or (None, None)
            row["availability_low"], row["availability_high"] = low, high
        first = ["policy", "k", "instances", "infeasible", "failed", "over_budget", "availability"]
        first += ["availability_low", "availability_high", "value", "standard_error", "reference", "gap_percent"]
        first += ["gap_standard_error", "worst_gap_percent", "reorder_change", "microseconds"]
        every = sorted(rows[0] if rows else [], key=lambda name: first.index(name) if name in first else len(first))
        # Hide these columns if they are 0 in all rows.
        hidden = {name for name in ("failed", "over_budget", "infeasible") if not any(row[name] for row in rows)}
        shown = ["policy", "k", "availability", "gap_percent", "gap_standard_error", "worst_gap_percent"]
        shown += ["reorder_change", "microseconds", "failed", "over_budget", "infeasible"]
        order = [name for name in shown if name in every and name not in hidden]
        super().__init__(order, rows, name="comparison", title=_title(found))
        self.every_column = every
        self.objective: str = found["objective"]
        self.reference: str = found["reference"]
        self.failures: list[dict[str, Any]] = found["failures"]
        self.size_laws: list[dict[str, Any]] = found["size_laws"]
        self.chart = _chart(found)

    def plot(self, ax: Any = None, *, symlog: bool = False) -> Any:
        """Draw the gaps over K and return the matplotlib axes; ``symlog`` shows small and large gaps on one scale."""
        ax = super().plot(ax)
        if symlog:
            ax.set_yscale("symlog", linthresh=0.1)
        return ax

    def to_pandas(self) -> Any:
        """Return all columns as a ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.every_column)

    def __str__(self) -> str:
        lines = [super().__str__()]
        lines += [
            "{policy} at K = {k}: cell {instance} of seed {seed}: {why}".format(**failure) for failure in self.failures
        ]
        for law in self.size_laws:
            advice = "" if law["recommended"] is None else f"; a network that follows it: {law['recommended']}"
            lines.append(f"{law['policy']}: size law of the powers: {law['size_law']}{advice}")
        return "\n".join(lines)


def _title(found: dict[str, Any]) -> str:
    seeds = ", ".join(str(seed) for seed in found["seeds"])
    return f"{found['problem']}: {found['objective']}, compared with {found['reference']}; {found['samples']} cells for each K, seed {seeds}"


def _chart(found: dict[str, Any]) -> dict[str, Any]:
    series = []
    for policy in dict.fromkeys(row["policy"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["policy"] == policy and row["gap_percent"] is not None]
        spread = [1.96 * (row["gap_standard_error"] or 0.0) for row in rows]
        least = min((row["availability"] for row in rows if row["availability"] is not None), default=1.0)
        label = policy if least >= 0.995 else f"{policy} (serves {100 * least:.0f} % at worst)"
        series.append(
            {
                "label": label,
                "points": [(row["k"], row["gap_percent"]) for row in rows],
                "spread": [(row["gap_percent"] - one, row["gap_percent"] + one) for row, one in zip(rows, spread)],
            }
        )
    return {
        "title": f"{found['problem']}: gap to {found['reference']}",
        "x_label": "K",
        "y_label": f"{found['objective']}: % worse than {found['reference']}",
        "log_x": True,
        "log_y": False,
        "series": series,
    }


def _name(policy: Policy) -> str:
    if isinstance(policy, (str, os.PathLike)):
        return os.path.basename(policy)
    return str(getattr(policy, "__name__", "mine"))


def evaluate(
    policies: Mapping[str, Policy] | Policy,
    *,
    problem: str | None = None,
    sizes: Sequence[int] = (1, 10, 100),
    samples: int = 100,
    seed: int = 7,
    seeds: Sequence[int] | None = None,
    progress: Progress = None,
    **options: Option,
) -> Comparison:
    """Compare policies on the same random cells, with the same checks.

    The comparison always includes the reference and the baseline of the problem. AnyK calls your functions on the
    calling thread. A function can raise :class:`Infeasible` if it has no allocation; any other exception ends the
    evaluation. The column ``microseconds`` measures only the policy.

    Parameters
    ----------
    policies
        One policy, or several by name. A policy is a function from a cell to an allocation (:class:`batched` for many
        cells at once), or a :class:`Model` or its file. ``None`` stands for the baseline with this name, such as
        ``{"optimum": None}``.

    problem
        Name of the problem; required unless a policy is a model.

    sizes
        Numbers of users to compare at.

    samples
        Number of cells for each size and seed.

    seed, seeds
        One seed, or a list of seeds.

    progress
        Progress bar or function, as in :func:`train`.

    **options
        Options of random cells, such as ``max_power_dbm=40`` or ``scenario="d2d"``.

    Returns
    -------
    Comparison
        One row for each policy and number of users.

    Raises
    ------
    InputError
        If an argument is missing or out of range, or a model is for another problem or cell.
    """
    if not isinstance(policies, Mapping):
        policies = {_name(policies): policies}
    given: list[tuple[str, Any]] = []
    models: list[Model] = []
    for name, policy in policies.items():
        if isinstance(policy, (str, os.PathLike)) and os.path.isfile(policy):
            policy = load(policy)
        if isinstance(policy, Model):
            problem = problem or policy.problem
            given.append((name, policy._model))
            models.append(policy)
        elif policy is None or isinstance(policy, str):
            given.append((name, name if policy is None else policy))
        elif isinstance(policy, batched):
            given.append((name, (asked_many(policy), True)))
        elif callable(policy):
            given.append((name, (asked(policy), False)))
        else:
            raise InputError(
                f"the policy {name!r} is of the type {type(policy).__name__}, expected a function of a cell, a Model, "
                "its file, or None for a baseline"
            )
    if problem is None:
        raise InputError(f"problem is missing, expected one of {', '.join(row[0] for row in _anyk.problems())}")
    known = {name: baselines for name, _, _, _, baselines in _anyk.problems()}.get(problem, [])
    for baseline, _ in known[:2]:
        if not any(isinstance(policy, str) and policy == baseline for _, policy in given):
            taken = any(name == baseline for name, _ in given)
            given.append((f"{baseline} (anyk)" if taken else baseline, baseline))
    of, count = wholes("sizes", sizes, 1), whole("samples", samples, 1)
    drawn = [whole("seed", seed)] if seeds is None else wholes("seeds", seeds)
    with watching(progress) as tick:
        found = _anyk.evaluate(problem, given, of, count, drawn, options, tick)
    for policy in models:
        policy._warn_beyond(of)
    return Comparison(json.loads(found))
