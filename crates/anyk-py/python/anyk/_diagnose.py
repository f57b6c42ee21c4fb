"""Diagnosis of the size law of a policy, and of the networks that have the same size law."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Union

import numpy as np

from . import _anyk
from ._anyk import Batch, Cell, InputError
from ._answers import Answer
from ._arrays import numbers, whole, wholes
from ._cells import Option
from ._compare import asked, file_of, named, own_cells
from ._models import Model, load
from ._problems import ProblemName
from ._progress import Progress, watching
from ._separable import Separable
from ._tables import Table, of_study


class Diagnosis:
    """Result of :func:`diagnose`; ``print`` shows it as the program does.

    Attributes
    ----------
    policy, samples
        Description of the policy and of the samples.

    equivariant, function_of_x_and_k, size_invariant, size_law
        Findings, as text.

    recommended, reason
        Network with the same size law, and why it was chosen.

    tables
        List of :class:`Table`.

    details
        All findings, as in the JSON of the program.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        text: dict[str, str] = found["text"]
        self.policy = text["policy"]
        self.samples = text["samples"]
        self.equivariant = text["equivariant"]
        self.function_of_x_and_k = text["function_of_x_and_k"]
        self.size_invariant = text["size_invariant"]
        self.size_law = text["size_law"]
        self.recommended = text["recommended"]
        self.reason = text["reason"]
        self.details: dict[str, Any] = found["finding"]
        self.tables: list[Table] = [of_study(table) for table in found["tables"]]

    def plot(self, ax: Any = None) -> Any:
        """Draw the first chart, the policy over x with a curve for each K, and return the matplotlib axes.

        Raises ``ValueError`` if there is no chart.
        """
        drawn = next((table for table in self.tables if table.chart is not None), None)
        if drawn is None:
            raise ValueError("this diagnosis has no chart")
        return drawn.plot(ax)

    def __str__(self) -> str:
        rows = [
            ("policy", self.policy),
            ("samples", self.samples),
            ("equivariant", self.equivariant),
            ("function of x, K", self.function_of_x_and_k),
            ("size-invariant", self.size_invariant),
            ("size law", self.size_law),
            ("recommended", self.recommended),
            ("", self.reason),
        ]
        lines = [f"{name:<17} {text}".rstrip() for name, text in rows]
        # The fit of every candidate, as in the output of the program.
        fits = [table for table in self.tables if table.name in ("networks", "prediction")]
        lines += [f"\n{Table(fit.columns, fit.rows, text=fit._cells())}" for fit in fits]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


class Samples(Protocol):
    """Samples as columns by name: a mapping or a ``pandas.DataFrame``."""

    def keys(self) -> Any: ...
    def __getitem__(self, name: str, /) -> Any: ...


PolicySource = Union[Callable[[Cell], Answer], Model, str, "os.PathLike[str]", Samples]


def diagnose(
    policy: PolicySource,
    *,
    problem: ProblemName | Separable | None = None,
    cells: Batch | Sequence[Cell] | Cell | None = None,
    quantity: str = "power",
    sizes: Sequence[int] | None = None,
    users: int | None = None,
    train_k: int = 20,
    seed: int | None = None,
    check: bool = True,
    progress: Progress = None,
    **options: Option,
) -> Diagnosis:
    """Find the size law of a policy, and a network with the same size law (remark 1 of the paper).

    Parameters
    ----------
    policy
        A function from a cell to an allocation, a :class:`Model` or its file, the name of a built-in policy such as
        ``"urllc-power"``, or samples. Samples are a mapping ``{"k": …, "x": …, "y": …}``, a ``pandas.DataFrame`` or a
        CSV file with one row per user; add a column ``instance`` if you know which rows belong together.

    problem
        Name of the problem, or a :class:`Separable` as in :func:`evaluate`; required for a function.

    cells
        Your own cells, instead of random ones, for a function or a model. A size law needs at least two numbers of
        users with at least 8 cells and 100 users each; the diagnosis leaves out other numbers of users.

    quantity
        The amount to diagnose: ``"power"`` or ``"bandwidth"``.

    sizes
        Numbers of users to sample (default: 2, 3, 5, 10, 20, 50, 100 and 200).

    users
        Minimum number of users to sample for each size (default: 2,000 for a function, otherwise 20,000).

    train_k
        Small number of users from which the recommendation extrapolates.

    seed
        Seed of the random cells (default: 1).

    check
        Also train networks at ``train_k`` users, measure their losses at a larger number, and correct the
        recommendation if another network has a smaller loss. This takes about a second. Only the check can recommend
        a price layer.

    progress
        Progress bar or function, as in :func:`train`.

    **options
        Options of the cells of a function or a built-in policy.

    Returns
    -------
    Diagnosis
        The findings and the recommended network. Results of a function that cannot be used are left out.

    Raises
    ------
    InputError
        If an argument is missing or out of range, or if there are too few samples.
    """
    patient: Any = policy
    given, template = own_cells(cells, problem, {"sizes": sizes, "users": users, "seed": seed, **options})
    path = file_of(policy)
    if path is not None:
        patient = _of_file(path)
    if isinstance(patient, Model):
        patient = patient._model
    elif isinstance(patient, Mapping) or hasattr(patient, "columns"):
        patient = _rows({str(name): patient[name] for name in patient.keys()})
    elif callable(patient):
        if given is None and template is None:
            named(problem)
        patient = asked(patient, strict=True)
        users = 2000 if users is None else users
    elif not isinstance(patient, (str, list)) or (isinstance(patient, list) and patient is policy):
        kind = type(policy).__name__
        raise InputError(f"policy is of the type {kind}, expected a function of a cell, a Model or its file, the name of a built-in policy, or samples")
    with watching(progress) as tick:
        found = _anyk.diagnose(
            patient,
            problem.problem if isinstance(problem, Separable) else problem,
            given,
            template,
            quantity,
            None if sizes is None else wholes("sizes", sizes, 1),
            None if users is None else whole("users", users, 1),
            whole("train_k", train_k, 1),
            whole("seed", 1 if seed is None else seed),
            check,
            options,
            tick,
        )
    return Diagnosis(json.loads(found))


def _of_file(name: str) -> Any:
    with open(name, "rb") as file:
        content = file.read()
    try:
        return load(name)
    except InputError:
        return _anyk.samples_of_file(content, name)


def _rows(samples: dict[str, Any]) -> list[tuple[int, float, float, int | None]]:
    missing = [name for name in ("k", "x", "y") if name not in samples]
    if missing:
        raise InputError(f"the samples lack {', '.join(missing)}, expected k, x, y and, if known, instance")
    known = ("k", "x", "y", "instance")
    columns = {name: numbers(name, samples[name]).reshape(-1) for name in known if name in samples}
    lengths = {name: column.size for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the samples have {lengths} rows, expected the same number in all columns")
    sizes = columns["k"]
    if not bool(np.all((sizes >= 1) & (sizes == np.floor(sizes)) & (sizes < 1e9))):
        raise InputError("the column k has invalid values, expected positive integers")
    instances = columns.get("instance")
    if instances is not None and not bool(np.all((instances >= 0) & (instances == np.floor(instances)) & (instances < 2**63))):
        raise InputError("the column instance has invalid values, expected non-negative integers")
    groups: list[int | None] = [None] * sizes.size if instances is None else [int(one) for one in instances]
    return [
        (int(k), float(x), float(y), instance)
        for k, x, y, instance in zip(sizes, columns["x"], columns["y"], groups)
    ]
