"""Learned policies: trained, read, asked, measured, calibrated."""

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
from ._cells import Option
from ._progress import Progress, watching
from ._separable import Separable
from ._tables import Table


class Model:
    """A learned policy for any number of users; made by :func:`train` or :func:`load`.

    A model is a policy: it can be called with a cell, and given to :func:`evaluate` and :func:`diagnose`. It can be
    pickled.
    """

    __slots__ = ("_model",)

    def __init__(self, model: _anyk.Model) -> None:
        self._model = model

    @property
    def problem(self) -> str:
        """The problem that it is for."""
        return self._model.problem

    @property
    def report(self) -> dict[str, Any]:
        """What the training, or the calibration, has to say; empty for a model from a file."""
        report = self._model._report
        found: dict[str, Any] = {} if report is None else json.loads(report)
        return found

    @property
    def home(self) -> dict[str, str]:
        """The cell that it was trained for, as options."""
        return self._model.home

    @property
    def validated_k(self) -> int | None:
        """The largest number of users that the model was measured at, after its training or by :meth:`calibrate`.

        ``allocate`` and ``evaluate`` warn beyond it. None for methods that do not depend on the number of users."""
        return self._model.validated_k

    def _warn_beyond(self, sizes: Sequence[int]) -> None:
        note = self._model._beyond(max(sizes, default=0))
        if note is not None:
            # The caller of the method that asks.
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
        """What the users of a cell get, or of many cells, which are answered on all cores.

        ``certify`` raises bandwidths to what is certified (models for urllc). A cell that the budget cannot serve raises
        :class:`anyk.Infeasible`; with ``infeasible="zero"`` cells of a batch are left at 0 and marked in ``served``. A model
        that is used for more than ``validated_k`` users warns.
        """
        options = {"certify": True} if certify else None
        if isinstance(cells, Cell):
            self._warn_beyond([len(cells)])
            return self._model._allocate(cells, options)
        if isinstance(cells, Batch):
            batch = cells
        elif isinstance(cells, (str, bytes)) or not all(isinstance(cell, Cell) for cell in cells):
            raise InputError("expected a cell, cells, or a Batch: anyk.Urllc(…) and others make them")
        else:
            batch = Batch.of_cells(list(cells))
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
        """What it reaches on random cells of each size, beside the optimum; columns are those of the problem.

        :func:`anyk.evaluate` puts several policies side by side, in columns that all problems share.
        """
        of, count, first = wholes("sizes", sizes, 1), whole("samples", samples, 1), whole("seed", seed)
        with watching(progress) as tick:
            report = json.loads(self._model._evaluate(of, count, first, options, tick))
        self._warn_beyond(of)
        rows = report["sizes"]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        title = f"{self!r} on {samples} cells of each size, seed {seed}"
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
        """The same model with a guarantee: at each size of ``k``, at most a share ``beta`` of users misses its QoS, but
        for calibrations of bad luck, of which there are at most ``delta``. ``report`` has the guarantee: the ``margin`` on
        all bandwidths, and how many of ``cells`` may miss it.

        ``cells`` independent cells of each size are judged, one user of each; at least ln δ / ln(1 − β) are needed, 2,995
        for ``beta=1e-3`` and ``delta=0.05`` at one size. ``shrink`` lets the margin be below 1. Options are those of the
        cell, and ``fading`` for a model that was learned from samples."""
        of, count, first = wholes("k", k, 1), whole("cells", cells, 1), whole("seed", seed)
        return Model(self._model._calibrate(of, count, beta, delta, first, shrink, options))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the model to a file. Overwrites an existing file only if it is a model, or with ``force``."""
        self._model.save(os.fspath(path), force)

    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        return self._model.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_of_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        return repr(self._model)


def _of_bytes(content: bytes) -> Model:
    return Model(_anyk.Model.from_bytes(content, "the model"))


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model's file, of any problem."""
    name = os.fspath(path)
    with open(name, "rb") as file:
        return Model(_anyk.Model.from_bytes(file.read(), name))


def train(
    problem: str | Separable,
    *,
    method: str | None = None,
    train_k: int | Sequence[int] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = None,
    **options: Option,
) -> Model:
    """Trains a policy at one number of users (``train_k``), for any; of a problem by its name, or of your own.

    Options are those of ``anyk train`` (``anyk.options(problem, "train")``), such as ``seed=2``. With ``out``, the model
    is written there when the run ends, and not after Ctrl-C.
    ``progress`` may be a function, which is called as ``progress(what, done, of)`` about ten times a second and ends the
    training by returning ``True``; ``False`` turns the bar of tqdm off. ``train`` warns if
    a run starts over, does not serve every user on validation, or ends no better than a trivial policy.

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
    target = None if out is None else os.fspath(out)
    with watching(progress) as tick:
        model, warning = _anyk.train(problem, given, target, force, tick)
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    return Model(model)


def _train_own(
    problem: Separable, given: dict[str, Any], out: str | os.PathLike[str] | None, force: bool, progress: Progress
) -> Model:
    # Its name in version 0.2 was any-gnn.
    if given.pop("method") not in (None, "price", "any-gnn"):
        raise InputError("method: expected price, or nothing")
    target = None if out is None else os.fspath(out)
    with watching(progress) as tick:
        model = _anyk.train_separable(
            problem._costs, problem.gains.tolist(), problem._classes, problem.budget, given, target, force, tick
        )
    return Model(model)
