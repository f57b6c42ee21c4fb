"""Studies: the tables and figures of the paper, and additional ones."""

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
    """Results of a study.

    Attributes
    ----------
    name
        Name of the study.

    about
        How the study was run.

    tables
        List of :class:`Table`; ``study[i]`` and iteration give them as well.
    """

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
        """Return the first table as a ``pandas.DataFrame``."""
        return self.tables[0].to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """Draw the first table that has a chart, and return the matplotlib axes."""
        drawn = next((table for table in self.tables if table.chart is not None), None)
        if drawn is None:
            raise ValueError(f"{self.name} has no chart")
        return drawn.plot(ax)

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables)

    def __repr__(self) -> str:
        return str(self)


def studies() -> dict[str, str]:
    """Return the names of all studies with their descriptions."""
    return {name: about for name, about, _ in _anyk.studies()}


def study(
    name: str,
    *,
    trainings: int | None = None,
    effort: str = "usual",
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Study:
    """Run a study and return its results.

    Parameters
    ----------
    name
        Name of the study, see :func:`studies`.

    trainings
        Number of training runs for each entry (default: depends on the study).

    effort
        ``"usual"``, ``"full"`` (as in the paper; hours for some studies) or ``"trial"`` (a quick test; ignore its
        figures).

    cache
        Folder for finished parts. After an interruption, the same call resumes with the parts that are missing.

    progress
        Progress bar or function, as in :func:`train`.

    Raises
    ------
    InputError
        If there is no such study, or an argument is out of range.
    """
    kept = None if cache is None else os.fspath(cache)
    runs = None if trainings is None else whole("trainings", trainings, 1)
    with watching(progress) as tick:
        return Study(name, json.loads(_anyk.study(name, runs, effort, kept, tick)))
