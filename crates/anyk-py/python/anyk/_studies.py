"""The paper's tables and figures, and our own studies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from . import _anyk
from ._arrays import whole
from ._progress import Progress, watching
from ._tables import Table, of_study


class Study:
    """What a study has measured: its ``tables``, and how it was done (``about``)."""

    def __init__(self, name: str, found: dict[str, Any]) -> None:
        self.name = name
        self.about: str = found["about"]
        self.tables: list[Table] = [of_study(table) for table in found["tables"]]

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __getitem__(self, index: int) -> Table:
        return self.tables[index]

    def to_pandas(self) -> Any:
        """The first table as a ``pandas.DataFrame``."""
        return self.tables[0].to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """The first picture there is."""
        drawn = next((table for table in self.tables if table.chart is not None), None)
        if drawn is None:
            raise ValueError(f"{self.name} has no picture")
        return drawn.plot(ax)

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables)

    def __repr__(self) -> str:
        return str(self)


def studies() -> dict[str, str]:
    """The studies there are, each with what it shows."""
    return {name: about for name, about, _ in _anyk.studies()}


def study(
    name: str,
    *,
    trainings: int | None = None,
    effort: str = "usual",
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Study:
    """Runs one of :func:`studies`: a table or figure of the paper, or one of our own.

    ``effort`` is ``"usual"``, ``"full"`` (as the paper: hours for some) or ``"trial"``, whose figures mean nothing. With
    ``cache``, a folder, what is done is kept, and after an interruption the same call does the rest.
    """
    kept = None if cache is None else os.fspath(cache)
    runs = None if trainings is None else whole("trainings", trainings, 1)
    with watching(progress) as tick:
        return Study(name, json.loads(_anyk.study(name, runs, effort, kept, tick)))
