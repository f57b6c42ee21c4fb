"""Sweeps: training and evaluation of policies over sizes, options and seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Union

from . import _anyk
from ._anyk import InputError
from ._progress import Progress, watching
from ._tables import Table, of_study

Spec = Union[str, os.PathLike[str], Mapping[str, Any]]
"""Specification of a sweep: a file, TOML as text, or a dict."""

_HIDDEN = ["problem", "instances", "availability_low", "availability_high", "reference", "reorder_change"]
_ZERO = ["infeasible", "failed", "over_budget"]


class SweepTable(Table):
    """Result of :func:`sweep`: one row for each policy, swept value, seed and number of users.

    ``plot()`` draws the gap to the reference against K, with a curve for each policy and combination of swept values. If
    there are several seeds, a curve is their mean, and the band around it their range. For a Parquet file, call
    ``table.to_pandas().to_parquet(path)``.

    Attributes
    ----------
    every_column
        Names of all columns; ``columns`` are the printed ones.

    failures
        Rows whose training or evaluation failed; their column ``status`` gives the reason.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        table = of_study(found)
        self.every_column = table.columns
        dull = {name for name in table.columns if all(row[name] is None for row in table.rows)}
        dull.update(name for name in _ZERO if not any(row[name] for row in table.rows))
        if all(row["status"] == "ok" for row in table.rows):
            dull.add("status")
        shown = [name for name in table.columns if name not in dull and name not in _HIDDEN]
        super().__init__(shown, table.rows, name=table.name, title=table.title, chart=table.chart)

    @property
    def failures(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["status"].startswith("error")]

    def to_pandas(self) -> Any:
        """Return all columns as a ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.every_column)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all columns to a CSV file, with all digits, as ``anyk sweep --csv`` does."""
        import csv

        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.every_column)
            writer.writerows([["" if row[name] is None else row[name] for name in self.every_column] for row in self.rows])


def text_of(spec: Spec) -> str:
    """Return a specification as text that the compiled module reads."""
    if isinstance(spec, Mapping):
        try:
            return json.dumps(dict(spec), allow_nan=False, default=_plain)
        except (TypeError, ValueError) as why:
            raise InputError(f"spec cannot be written as JSON: {why}; expected strings, finite numbers, lists and dicts") from why
    # A specification has several lines, so a single line is the name of a file.
    if isinstance(spec, str) and "\n" in spec:
        return spec
    try:
        path = os.fspath(spec)
    except TypeError:
        raise InputError(f"spec is of the type {type(spec).__name__}, expected a file, TOML as text, or a dict") from None
    with open(path, encoding="utf-8") as file:
        try:
            return file.read()
        except UnicodeDecodeError as why:
            raise InputError(f"{os.fspath(path)}: the file is not UTF-8 text, expected TOML") from why


def _plain(value: Any) -> Any:
    """Convert ranges, NumPy values and paths to types of JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (range, set, frozenset)):
        return sorted(value)
    raise TypeError(f"a value is of the type {type(value).__name__}")


def sweep(
    spec: Spec,
    *,
    backend: str = "local",
    address: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> SweepTable:
    """Train and evaluate policies over sizes, options and seeds.

    Both backends return the same table, bit for bit.

    Parameters
    ----------
    spec
        Specification: a TOML file, its text, or a dict with the same keys. The keys are ``problem``, ``policies``, ``k``,
        ``samples``, ``seeds``, ``test_seed``, ``options`` and ``train``. An array of values of an option is swept.

    backend
        ``"local"`` for all cores of this machine, or ``"ray"`` for a Ray cluster (``pip install "anyk[ray]"``). Each node
        of the cluster needs the same version of AnyK, and the files that the specification names.

    address
        Address of the Ray cluster, such as ``"10.0.0.1:6379"``, ``"auto"`` or ``"ray://10.0.0.1:10001"``. By default, AnyK
        uses the cluster that this process is connected to, or starts Ray on this machine.

    out
        Folder for the results of finished slices. After an interruption, the same call computes only the others.

    progress
        Progress bar or function, as in :func:`train`.

    Returns
    -------
    SweepTable
        One row for each policy, swept value, seed and number of users.

    Raises
    ------
    InputError
        If the specification or an argument cannot be used.

    FileNotFoundError
        If there is no file with the name of the specification.

    ConnectionError
        If the Ray cluster does not answer.

    Examples
    --------
    >>> table = anyk.sweep({"problem": "urllc", "policies": ["equal-power"], "k": [1, 10], "samples": 20})
    >>> table["k"]
    [1, 10]
    """
    if backend not in ("local", "ray"):
        raise InputError(f"backend is {backend!r}, expected 'local' or 'ray'")
    if backend == "local" and address is not None:
        raise InputError("address applies only to backend='ray'; remove it")
    text = text_of(spec)
    store = _anyk.Sweep(text, None if out is None else os.fspath(out))
    with watching(progress) as tick:
        if backend == "local":
            found = store.run_all(tick)
        else:
            from ._ray import run

            store.check()
            found = run(store, text, address, tick, keeps=out is not None)
    return SweepTable(json.loads(found))
