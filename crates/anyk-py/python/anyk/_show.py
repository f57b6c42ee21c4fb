"""Short tables of cells and answers, for ``print`` and notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._anyk import Allocation, Allocations, Batch, Cell
from ._tables import Table, shown

_ROWS = 10
"""Number of rows that are shown."""


def text(of: Any) -> str:
    """Return the first rows of a cell, a batch or an answer as text."""
    return str(_table(of))


def html(of: Any) -> str:
    """Return the first rows of a cell, a batch or an answer as HTML."""
    return _table(of)._repr_html_()


def _table(of: Any) -> Table:
    if isinstance(of, Allocation):
        return _of_allocation(of)
    if isinstance(of, Allocations):
        return _of_allocations(of)
    return _of_batch(of) if isinstance(of, Batch) else _of_cell(of)


def _of_rows(rows: list[dict[str, Any]], count: int, title: list[str]) -> Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    note = f"… and {count - len(rows)} more" if count > len(rows) else ""
    return Table(columns, rows, title=", ".join(title), note=note)


def _of_arrays(what: str, arrays: dict[str, Any], title: list[str]) -> Table:
    """Return a table whose rows are the entries of arrays of one length, each called ``what``."""
    count = max((len(values) for values in arrays.values()), default=0)
    values = {name: array[:_ROWS].tolist() for name, array in arrays.items()}
    rows = [{what: row, **{name: values[name][row] for name in values}} for row in range(min(count, _ROWS))]
    return _of_rows(rows, count, title)


def _split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split named values into arrays and single numbers."""
    arrays = {name: value for name, value in values.items() if np.ndim(value) > 0}
    return arrays, {name: value for name, value in values.items() if name not in arrays}


def _of_allocation(answer: Allocation) -> Table:
    arrays, common = _split(answer.as_dict())
    # Iterative methods leave powers such as 1e-139 instead of 0.
    arrays = {name: np.where(np.abs(values) < 1e-12 * np.max(np.abs(values)), 0.0, values) for name, values in arrays.items()}
    sums = {f"total_{name}": float(values.sum()) for name, values in arrays.items()}
    title = [f"{name} {shown(value)}" for name, value in {**common, **sums}.items()]
    if answer.duality_gap is not None:
        title.append(f"duality_gap {answer.duality_gap:.1e}")
    what = "link" if "rates_bits" in arrays else "user"
    return _of_arrays(what, arrays, [f"Allocation: {answer.status}", *title])


def _of_allocations(answers: Allocations) -> Table:
    sizes, served, status = answers.sizes, answers.served, answers.status
    rows: list[dict[str, Any]] = []
    for cell in range(min(len(sizes), _ROWS)):
        row = {"cell": cell, "K": sizes[cell], "status": status[cell]}
        if served[cell]:
            arrays, common = _split(answers[cell].as_dict())
            row.update({**common, **{f"total_{name}": float(values.sum()) for name, values in arrays.items()}})
        rows.append(row)
    return _of_rows(rows, len(sizes), [f"Allocations: {len(sizes)} cells, {int(served.sum())} served"])


def _of_cell(cell: Cell) -> Table:
    arrays, common = _split(cell.inputs())
    what = "user"
    if np.ndim(arrays.get("gains", 0)) == 2:
        what, arrays = "link", {"direct gain": np.diagonal(arrays.pop("gains")), **arrays}
    title = [f"{name} {shown(value)}" for name, value in common.items()]
    return _of_arrays(what, arrays, [f"Cell of {cell.problem}: K = {len(cell)}", *title])


def _of_batch(batch: Batch) -> Table:
    rows: list[dict[str, Any]] = []
    for place in range(min(len(batch), _ROWS)):
        arrays, common = _split(batch[place].inputs())
        gains = arrays["gains"] if np.ndim(arrays.get("gains", 0)) < 2 else np.diagonal(arrays["gains"])
        users = {"smallest gain": float(np.min(gains)), "largest gain": float(np.max(gains))}
        rows.append({"cell": place, "K": len(batch[place]), **users, **common})
    return _of_rows(rows, len(batch), [f"Batch of {batch.problem}: {len(batch)} cells"])
