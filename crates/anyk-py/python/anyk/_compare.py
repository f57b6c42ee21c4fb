"""Comparison of policies on the same random cells."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import _anyk
from ._anyk import Batch, Cell, Infeasible, InputError
from ._answers import Answer, columns
from ._arrays import whole, wholes
from ._cells import Option, batch_of
from ._models import Model, load
from ._problems import ProblemName
from ._progress import Progress, watching
from ._separable import Separable
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
        except (TypeError, AttributeError) as why:
            if not hasattr(policy, "state_dict"):
                raise
            raise InputError(
                f"the module {type(policy).__name__} cannot take a cell: {why}. Wrap it in a function from a cell to "
                "amounts, which makes the tensors that the module expects, such as torch.as_tensor(cell.gains)"
            ) from why
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
        Reasons why results could not be checked: for each, the ``policy``, ``k``, the first cell (``seed`` and
        ``instance``), ``why``, and the ``count`` of cells with this reason.

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
        self._drawn = bool(found["seeds"])
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

    def _foot(self) -> list[str]:
        over = [row for row in self.rows if row["over_budget"]]
        lines = [f"{row['policy']}, K = {row['k']}: {row['over_budget']} allocations exceed the budget" for row in over]
        return [*super()._foot(), *lines]

    def __str__(self) -> str:
        lines = [super().__str__()]
        for failure in self.failures:
            where = f"cell {failure['instance']}" + (f" of seed {failure['seed']}" if self._drawn else "")
            count = f"{failure['count']} cells, first {where}" if failure["count"] > 1 else where
            lines.append(f"{failure['policy']} at K = {failure['k']}: {count}: {failure['why']}")
        for law in self.size_laws:
            advice = "" if law["recommended"] is None else f"; a network that follows it: {law['recommended']}"
            lines.append(f"{law['policy']}: size law of the powers: {law['size_law']}{advice}")
        return "\n".join(lines)


def _title(found: dict[str, Any]) -> str:
    seeds = ", ".join(str(seed) for seed in found["seeds"])
    cells = f"{found['samples']} cells for each K, seed {seeds}" if seeds else f"{found['samples']} given cells"
    return f"{found['problem']}: {found['objective']}, compared with {found['reference']}; {cells}"


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
    problem: ProblemName | Separable | None = None,
    cells: Batch | Sequence[Cell] | Cell | None = None,
    sizes: Sequence[int] | None = None,
    samples: int | None = None,
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    progress: Progress = None,
    **options: Option,
) -> Comparison:
    """Compare policies on the same cells, random or given, with the same checks.

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
        Name of the problem; required unless a policy is a model. With a :class:`Separable`, the random cells have its
        costs and its budget, and gains that are log-uniform between its smallest and its largest gain.

    cells
        Your own cells, such as those of :func:`from_table` or a list of :class:`Urllc`, instead of random ones. The
        table then has a row for each number of users in them.

    sizes
        Numbers of users to compare at (default: 1, 10 and 100).

    samples
        Number of cells for each size and seed (default: 100).

    seed, seeds
        One seed, or a list of seeds (default: 7).

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

    FileNotFoundError
        If there is no file with the name of a model.
    """
    is_named = isinstance(policies, Mapping)
    if not isinstance(policies, Mapping):
        policies = {_name(policies): policies}
    given: list[tuple[str, Any]] = []
    models: list[Model] = []
    for name, policy in policies.items():
        path = file_of(policy)
        if path is not None:
            policy = load(path)
        if isinstance(policy, Model):
            problem = policy.problem if problem is None and cells is None else problem
            given.append((name, policy._model))
            models.append(policy)
        elif policy is None or isinstance(policy, str):
            given.append((name, name if policy is None else policy))
        elif isinstance(policy, batched):
            given.append((name, (asked_many(policy), True)))
        elif callable(policy):
            given.append((name, (asked(policy), False)))
        else:
            what = f"the policy {name!r}" if is_named else "policies"
            other = "None for a baseline" if is_named else "a dict of policies by name"
            raise InputError(
                f"{what} is of the type {type(policy).__name__}, expected a function of a cell, a Model, its file, or {other}"
            )
    given_cells, template = own_cells(cells, problem, {"sizes": sizes, "samples": samples, "seed": seed, "seeds": seeds, **options})
    own = template if given_cells is None else given_cells
    name = named(problem) if own is None else own.problem
    all_baselines = {row[0]: [baseline for baseline, _ in row[4]] for row in _anyk.problems()}
    known = all_baselines.get(name, []) if own is None else own._policies
    for baseline in known[:2]:
        if not any(isinstance(policy, str) and policy == baseline for _, policy in given):
            taken = any(label == baseline for label, _ in given)
            given.append((f"{baseline} (anyk)" if taken else baseline, baseline))
    of = wholes("sizes", (1, 10, 100) if sizes is None else sizes, 1)
    count = whole("samples", 100 if samples is None else samples, 1)
    drawn = [whole("seed", 7 if seed is None else seed)] if seeds is None else wholes("seeds", seeds)
    with watching(progress) as tick:
        found = _anyk.evaluate(name, given, given_cells, template, of, count, drawn, options, tick)
    for policy in models:
        policy._warn_beyond(of if given_cells is None else given_cells.sizes)
    return Comparison(json.loads(found))


def file_of(policy: Any) -> str | None:
    """Return the name of a policy's file, which may not exist; None if the policy is not a file.

    Names of baselines contain neither dots nor slashes.
    """
    is_name = isinstance(policy, str) and not os.path.isfile(policy) and not {".", "/", os.sep} & set(policy)
    return None if is_name or not isinstance(policy, (str, os.PathLike)) else os.fspath(policy)


def named(problem: str | Separable | None) -> str:
    """Return the name of a problem; raise :class:`InputError` if it is missing."""
    if problem is None:
        raise InputError(f"problem is missing, expected one of {', '.join(row[0] for row in _anyk.problems())}")
    return problem.problem if isinstance(problem, Separable) else problem


def own_cells(
    cells: Batch | Sequence[Cell] | Cell | None, problem: str | Separable | None, drawn: dict[str, Any]
) -> tuple[Batch | None, Separable | None]:
    """Return the given cells, and the problem whose random cells are drawn; each is None if it is not given.

    ``drawn`` has the arguments of random cells, which must be None if there are given ones.
    """
    template = problem if isinstance(problem, Separable) else None
    if cells is None:
        return None, template
    extra = [name for name, value in drawn.items() if value is not None]
    if extra:
        raise InputError(f"{extra[0]} applies to random cells, but cells are given; remove {extra[0]} or cells")
    batch = batch_of(cells)
    name = problem.problem if isinstance(problem, Separable) else problem
    if name is not None and name != batch.problem:
        raise InputError(f"problem is {name!r}, but the cells are of {batch.problem}; remove problem")
    return batch, template
