"""Learned policies: training, files, allocation, evaluation and calibration."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from . import _anyk
from ._anyk import Allocation, Allocations, Batch, Cell, InputError
from ._arrays import whole, wholes
from ._cells import Option, batch_of
from ._problems import MethodName, ProblemName
from ._progress import Progress, watching
from ._separable import Separable
from ._tables import Table


class Model:
    """Learned policy for any number of users, from :func:`train` or :func:`load`.

    You can call a model with a cell, pass it to :func:`evaluate` and :func:`diagnose`, and pickle it.
    """

    __slots__ = ("_model",)

    def __init__(self, model: _anyk.Model) -> None:
        self._model = model

    @property
    def problem(self) -> ProblemName:
        """Name of the problem."""
        return self._model.problem

    @property
    def report(self) -> dict[str, Any]:
        """Report of the training or the calibration; empty for a model from a file."""
        report = self._model._report
        found: dict[str, Any] = {} if report is None else json.loads(report)
        return found

    @property
    def trained_options(self) -> dict[str, str]:
        """Options of the cell that the model was trained for."""
        return self._model.trained_options

    @property
    def home(self) -> dict[str, str]:
        """Former name of :attr:`trained_options`."""
        return self.trained_options

    @property
    def validated_k(self) -> int | None:
        """Largest number of users in the validation, by the training or :meth:`calibrate`.

        ``allocate`` and ``evaluate`` warn about larger cells. None for methods that do not depend on the number of
        users.
        """
        return self._model.validated_k

    def _warn_beyond(self, sizes: Sequence[int]) -> None:
        note = self._model._beyond(max(sizes, default=0))
        if note is not None:
            # Level 3 is the caller of the public method.
            warnings.warn(note, stacklevel=3)

    @overload
    def allocate(self, cells: Cell, *, certify: bool = ..., infeasible: str = ...) -> Allocation: ...
    @overload
    def allocate(
        self, cells: Batch | Sequence[Cell], *, certify: bool = ..., infeasible: str = ...
    ) -> Allocations: ...
    def allocate(
        self, cells: Cell | Batch | Sequence[Cell], *, certify: bool = False, infeasible: str = "raise"
    ) -> Allocation | Allocations:
        """Allocate resources in one cell, or in many cells in parallel.

        Warns if a cell has more than ``validated_k`` users.

        Parameters
        ----------
        cells
            A cell, a batch, or a list of cells.

        certify
            Certify every user, and correct bandwidths that do not meet the QoS (models for ``urllc``).

        infeasible
            ``"raise"`` an error if the budget cannot serve a cell. With ``"zero"``, such a cell of a batch gets
            amounts of 0 instead, and ``served`` marks it.

        Returns
        -------
        Allocation or Allocations
            The allocation of the cell, or those of all cells.

        Raises
        ------
        Infeasible
            If the budget cannot serve a cell.

        InputError
            If the cells are of another problem, or have parameters that the model does not support.
        """
        options = {"certify": True} if certify else None
        if isinstance(cells, Cell):
            self._warn_beyond([len(cells)])
            return self._model._allocate(cells, options)
        batch = batch_of(cells)
        self._warn_beyond(batch.sizes)
        return self._model._allocate_all(batch, options, infeasible)

    def __call__(self, cell: Cell) -> Allocation:
        return self._model._allocate(cell)

    def evaluate(
        self,
        sizes: Sequence[int] = (1, 10, 100),
        *,
        samples: int = 100,
        seed: int = 7,
        progress: Progress = None,
        **options: Option,
    ) -> Table:
        """Compare the model with the optimum on random cells.

        The columns are those of the problem. :func:`anyk.evaluate` compares several policies, with the same columns for
        all problems.

        Parameters
        ----------
        sizes
            Numbers of users to evaluate.

        samples
            Number of cells for each number of users.

        seed
            Seed of the cells.

        progress
            Progress bar or function, as in :func:`train`.

        **options
            Options of the random cells.

        Returns
        -------
        Table
            One row for each number of users.
        """
        of, count, first = wholes("sizes", sizes, 1), whole("samples", samples, 1), whole("seed", seed)
        with watching(progress) as tick:
            report = json.loads(self._model._evaluate(of, count, first, options, tick))
        self._warn_beyond(of)
        rows = report["sizes"]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        title = f"{self._model!r} on {samples} cells for each K, seed {seed}"
        return Table(columns, rows, name="evaluation", title=title)

    def calibrate(
        self,
        k: Sequence[int],
        *,
        cells: int = 2995,
        beta: float = 1e-3,
        delta: float = 0.05,
        seed: int = 11,
        shrink: bool = False,
        **options: Option,
    ) -> Model:
        """Return the model with a margin on all bandwidths that guarantees a share of served users.

        With confidence 1 − ``delta`` over the draw of the calibration cells, at most a share ``beta`` of users misses
        its QoS, at each number of users in ``k``. ``report`` of the result has the guarantee with its ``margin``.

        Parameters
        ----------
        k
            Numbers of users for which the guarantee must hold. They share ``delta``.

        cells
            Number of independent cells for each number of users; one user of each cell is checked. At least
            ln δ / ln(1 − β) are required: 2,995 for the default values and one number of users.

        beta
            Share of users that may miss their QoS.

        delta
            Probability, over the draw of the cells, that a larger share misses its QoS.

        seed
            Seed of the calibration cells; it must not be a seed of the training.

        shrink
            Whether the margin may be below 1, if the model uses more bandwidth than the guarantee requires.

        **options
            Options of the cells, and ``fading`` for a model that was trained on samples of fading.

        Raises
        ------
        InputError
            If the cells are too few, no margin gives the guarantee, or the model is for a problem without calibration.
        """
        of, count, first = wholes("k", k, 1), whole("cells", cells, 1), whole("seed", seed)
        return Model(self._model._calibrate(of, count, beta, delta, first, shrink, options))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a file; overwrite an existing file only if it is a model, or with ``force``."""
        self._model.save(os.fspath(path), force)

    def to_bytes(self) -> bytes:
        """Return the content of the model's file."""
        return self._model.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_of_bytes, (self.to_bytes(),))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = dict(self.trained_options)
        if self.validated_k is not None:
            facts = {"validated_k": self.validated_k, **facts}
        return facts

    def __repr__(self) -> str:
        facts = "".join(f", {name} {value}" for name, value in self._facts().items())
        return f"{repr(self._model)[:-1]}{facts}>"

    def _repr_html_(self) -> str:
        rows = [{"parameter": name, "value": value} for name, value in self._facts().items()]
        return Table(["parameter", "value"], rows, title=repr(self._model)[1:-1])._repr_html_()


def _of_bytes(content: bytes) -> Model:
    return Model(_anyk.Model.from_bytes(content, "the model"))


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model of any problem from a file.

    Raises :class:`InputError` if the file is not a model or is damaged.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        return Model(_anyk.Model.from_bytes(file.read(), name))


def train(
    problem: ProblemName | Separable,
    *,
    method: MethodName | None = None,
    train_k: int | Sequence[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = None,
    **options: Option,
) -> Model:
    """Train a policy on cells of ``train_k`` users; it works for any number of users.

    Warns if the run restarts, if the model does not serve every user in the validation, or if it is no better than the
    baseline.

    Parameters
    ----------
    problem
        Name of the problem, or a :class:`Separable`.

    method
        Method of the problem; ``anyk.options(problem, "train")`` lists them.

    train_k
        Number of users in the training cells, or several.

    out
        File for the model. It is written when the run ends; an interrupted run does not write it.

    force
        Overwrite a file that is not a model.

    progress
        ``False`` turns the progress bar off. A function is called as ``progress(what, done, of)`` about ten times a
        second and stops the run by returning ``True``.

    **options
        Other options of ``anyk train``, such as ``seed=2``; ``anyk.options(problem, "train")`` lists them.

    Raises
    ------
    InputError
        If an option does not exist or is out of range, or the file exists and is not a model.

    Examples
    --------
    >>> model = train("urllc", method="price", train_k=10, seed=1)
    >>> model.problem
    'urllc'
    """
    sizes: Any = train_k
    if not isinstance(sizes, str) and np.iterable(sizes):
        sizes = wholes("train_k", sizes, 1)
    given = {"method": method, "train_k": sizes, **options}
    if isinstance(problem, Separable):
        return _train_own(problem, given, out, force, progress)
    if not isinstance(problem, str):
        kind = type(problem).__name__
        raise InputError(
            f"problem is of the type {kind}, expected the name of a problem, such as 'urllc', or an anyk.Separable, which "
            "you make from a cost"
        )
    target = None if out is None else os.fspath(out)
    with watching(progress) as tick:
        model, warning = _anyk.train(problem, given, target, force, tick)
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    return Model(model)


def _train_own(
    problem: Separable, given: dict[str, Any], out: str | os.PathLike[str] | None, force: bool, progress: Progress
) -> Model:
    # Version 0.2 called the method any-gnn.
    method = given.pop("method")
    if method not in (None, "price", "any-gnn"):
        raise InputError(f"method is {method}, expected price, the only method of a separable problem")
    target = None if out is None else os.fspath(out)
    with watching(progress) as tick:
        model = _anyk.train_separable(
            problem._costs, problem.gains.tolist(), problem._classes, problem.budget, given, target, force, tick
        )
    return Model(model)
