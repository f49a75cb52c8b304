"""A result as a headline with rows, shown as one line, plain text, HTML, or a pandas data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from dpverify.report.numbers import show_float

Cell: TypeAlias = str | float | bool | None

LONGEST_HEADLINE = 300  # characters of a ``repr``
MOST_ROWS = 60  # rows that text and HTML show; a data frame has all rows
WITHOUT_PANDAS = "to_frame() needs pandas: pip install pandas, or install dpverify with its extra 'notebook'"


@dataclass(frozen=True)
class ResultTable:
    """A headline with rows of cells. A single row is shown as a list of its cells, several rows as a table."""

    headline: str
    rows: Sequence[Mapping[str, Cell]]
    # columns that a table of several rows shows; all columns if empty
    brief: tuple[str, ...] = ()

    def short(self, name: str) -> str:
        """Return one line for ``repr``."""
        headline = " ".join(self.headline.split())
        if len(headline) > LONGEST_HEADLINE:
            headline = f"{headline[: LONGEST_HEADLINE - 3]}..."
        return f"<{name}: {headline}>"

    def text(self) -> str:
        """Return the headline and the rows as plain text."""
        if len(self.rows) == 1:
            body = [f"  {name}: {value}" for name, value in _filled(self.rows[0])]
        else:
            body = [f"  {line}" for line in _aligned([self._columns(), *self._cells()])]
        return "\n".join([self.headline, *body, *self._omitted()])

    def html(self) -> str:
        """Return the headline and the rows as HTML, with escaped texts."""
        if len(self.rows) == 1:
            lines = [
                _line(("th", name), ("td", value))
                for name, value in _filled(self.rows[0])
            ]
        else:
            heads = _line(*(("th", name) for name in self._columns()))
            lines = [
                heads,
                *(_line(*(("td", cell) for cell in cells)) for cells in self._cells()),
            ]
        paragraphs = [f"<p>{escape(text)}</p>" for text in self._omitted()]
        table = f"<table>{''.join(lines)}</table>" if self.rows else ""
        return "".join([f"<p>{escape(self.headline)}</p>", table, *paragraphs])

    def frame(self) -> Any:
        """Return all rows and columns as a ``pandas.DataFrame``."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            raise ImportError(WITHOUT_PANDAS) from error
        return pandas.DataFrame([dict(row) for row in self.rows])

    def _columns(self) -> list[str]:
        return [
            *(self.brief or dict.fromkeys(name for row in self.rows for name in row))
        ]

    def _cells(self) -> Iterator[list[str]]:
        columns = self._columns()
        return (
            [show_cell(row.get(name)) for name in columns]
            for row in self.rows[:MOST_ROWS]
        )

    def _omitted(self) -> list[str]:
        omitted = len(self.rows) - MOST_ROWS
        return (
            [f"{omitted} more rows: filter them, or use to_frame()."]
            if omitted > 0
            else []
        )


def show_cell(value: Cell) -> str:
    """Return a cell as text: numbers with few digits, an empty text for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        show_float(value)
        if isinstance(value, (int, float))
        else " ".join(value.split())
    )


def _filled(row: Mapping[str, Cell]) -> Iterator[tuple[str, str]]:
    """Return the nonempty cells of a row as text, with their names."""
    cells = ((name, show_cell(value)) for name, value in row.items())
    return ((name, value) for name, value in cells if value)


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines of cells, aligned in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        yield "  ".join(
            cell.ljust(width) for cell, width in zip(cells, widths, strict=True)
        ).rstrip()


def _line(*cells: tuple[str, str]) -> str:
    """Return a row of an HTML table, given the element (``th`` or ``td``) and the text of each cell."""
    aligned = ' style="text-align: left"'
    return f"<tr>{''.join(f'<{kind}{aligned}>{escape(text)}</{kind}>' for kind, text in cells)}</tr>"
