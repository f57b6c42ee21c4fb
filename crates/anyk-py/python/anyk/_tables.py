"""Tables of results, with output as text, HTML, DataFrame or chart."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any


class Table:
    """Table of results.

    ``len(table)`` is the number of rows, iteration gives the rows, and ``table["k"]`` is the list of a column's values.

    Attributes
    ----------
    columns
        Names of the columns.

    rows
        List of dicts by column. Numbers have all digits; only printing rounds them. Several numbers in one cell are a
        tuple.

    name, title, note
        Strings; empty if there are none.

    chart
        Data of the chart, or None.

    claims
        Statements that the numbers confirm or refute; only in tables of studies.
    """

    def __init__(
        self,
        columns: list[str],
        rows: list[dict[str, Any]],
        *,
        name: str = "",
        title: str = "",
        note: str = "",
        chart: dict[str, Any] | None = None,
        claims: list[dict[str, Any]] | None = None,
        text: list[list[str]] | None = None,
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.name = name
        self.title = title
        self.note = note
        self.chart = chart
        self.claims = claims or []
        self._text = text

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        return [row.get(column) for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the chart on the matplotlib axes ``ax``, by default new ones, and return the axes.

        Raises ``ValueError`` if the table has no chart.
        """
        if self.chart is None:
            raise ValueError(f"{self.name or 'this table'} has no chart")
        return draw(self.chart, ax)

    def _cells(self) -> list[list[str]]:
        return self._text or [[_rounded(column, row.get(column)) for column in self.columns] for row in self.rows]

    def __str__(self) -> str:
        table = [self.columns, *self._cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(self.columns))]
        numeric = [all(_is_number(row[i]) for row in table[1:]) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric)
            ).rstrip()
            for row in table
        ]
        head = [self.title, ""] if self.title else []
        foot = ["", *self._foot()] if self._foot() else []
        return "\n".join([*head, *lines, *foot])

    def _foot(self) -> list[str]:
        """Return the note and the claims, one per line."""
        return [*filter(None, [self.note]), *map(claim_text, self.claims)]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        note = "".join(f"<p>{html.escape(line)}</p>" for line in self._foot())
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _is_number(text: str) -> bool:
    try:
        float(text.replace("−", "-") or "0")
    except ValueError:
        return text in ("–", "")
    return True


def _rounded(column: str, value: Any) -> str:
    # Solvers stop at a duality gap of about 1e-8, so smaller differences are rounding.
    is_difference = column.endswith(("_percent", "gap_standard_error", "reorder_change"))
    return "0" if is_difference and isinstance(value, float) and abs(value) < ROUNDING else shown(value)


ROUNDING = 1e-9
"""Size of a gap in percent, or of a relative change, below which it is printed as 0."""


def shown(value: Any) -> str:
    """Format a value for a printed table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        # Adding 0 turns -0 into 0.
        return f"{value + 0.0:.5g}"
    return str(value)


def _value(cell: Any) -> Any:
    """Return the value of a cell of a study's table: a number, a string, a tuple of numbers, or None."""
    numbers = cell["numbers"] if isinstance(cell, dict) else cell
    if isinstance(numbers, list):
        return numbers[0] if len(numbers) == 1 else tuple(numbers)
    return cell


def claim_text(claim: dict[str, Any]) -> str:
    """Format a claim in one line, as the program prints it."""
    verb = "reproduce" if claim["by"] == "paper" else "hold"
    verdict = {True: f"{verb}s", "partly": f"partly {verb}s", False: f"does not {verb}", None: "undecided"}[claim["holds"]]
    covers = f" ({claim['covers']})" if claim["covers"] else ""
    return f"[{verdict}] {claim['statement']}: {claim['measured'].rstrip('.')}{covers}."


def of_study(table: dict[str, Any]) -> Table:
    """Build a table from the JSON of a study or a diagnosis."""
    columns = _different(table["columns"])
    rows = [dict(zip(columns, map(_value, row))) for row in table["rows"]]
    return Table(
        columns,
        rows,
        name=table["name"],
        title=table["title"],
        note=table["note"],
        chart=table["chart"],
        claims=table["claims"],
        text=table["text"],
    )


def _different(columns: list[str]) -> list[str]:
    """Make the names of columns unique, because rows are dicts by name."""
    seen: dict[str, int] = {}
    names = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        names.append(column if seen[column] == 1 else f"{column} ({seen[column]})")
    return names


def draw(chart: dict[str, Any], ax: Any = None) -> Any:
    """Draw a chart on matplotlib axes and return the axes."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    markers = "osD^vP*Xhd<>"
    for place, series in enumerate(chart["series"]):
        x = [point[0] for point in series["points"]]
        y = [point[1] for point in series["points"]]
        style = "--" if series.get("dashed") else "-"
        (line,) = ax.plot(x, y, style, marker=markers[place % len(markers)], markersize=4, label=series["label"])
        if series.get("spread"):
            low, high = zip(*series["spread"])
            ax.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if chart["log_x"]:
        ax.set_xscale("log")
    if chart["log_y"]:
        ax.set_yscale("log")
    ax.set_xlabel(chart["x_label"])
    ax.set_ylabel(chart["y_label"])
    ax.set_title(chart["title"])
    ax.grid(True, alpha=0.3)
    if chart["series"]:
        ax.legend(fontsize="small")
    return ax
