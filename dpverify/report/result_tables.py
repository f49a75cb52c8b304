"""Tables of results for prompts and notebooks: one line, plain text, HTML, or a pandas data frame.

A table has a headline and rows. The last functions make the tables of verdicts, runs and audits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.report.numbers import show_float, to_float
from dpverify.report.statements import statement_of
from dpverify.report.words import (
    instead_words,
    item_id,
    kind_words,
    reading_words,
    status_words,
    totals_words,
    with_status,
)

if TYPE_CHECKING:
    from dpverify.ledger.check_results import AmendmentResult
    from dpverify.ledger.results import Result, Run
    from dpverify.privacy.audit.records import AuditResult


Cell: TypeAlias = str | float | bool | None

MAX_HEADLINE = 300  # characters of a ``repr``
MAX_ROWS = 60  # rows that text and HTML show; a data frame has all rows
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
        if len(headline) > MAX_HEADLINE:
            headline = f"{headline[: MAX_HEADLINE - 3]}..."
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
            for row in self.rows[:MAX_ROWS]
        )

    def _omitted(self) -> list[str]:
        omitted = len(self.rows) - MAX_ROWS
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


BRIEF = ("claim", "reading", "status", "severity", "where", "instead")
"""Columns of a table of verdicts that fit on a page."""


def result_table(result: Result) -> ResultTable:
    """Return the table of one verdict."""
    return ResultTable(
        f"{item_id(result)}: {status_words(result.status, result.severity)}",
        [_row(result)],
    )


def run_table(run: Run) -> ResultTable:
    """Return the table of the verdicts of a run."""
    info = run.run
    ended = ", interrupted" if info.interrupted else ""
    return verdicts_table(
        run.results, f"budget {info.budget}, seed {info.seed}{ended}. "
    )


def verdicts_table(results: Sequence[Result], before: str = "") -> ResultTable:
    """Return the table of several verdicts, with their totals in the headline."""
    return ResultTable(
        f"{before}{totals_words(results)}", [_row(result) for result in results], BRIEF
    )


def audit_table(result: AuditResult) -> ResultTable:
    """Return the table of an audit."""
    claim = result.claim
    claimed = (
        ""
        if claim is None
        else f"; claimed epsilon {show_float(claim.epsilon)}: {result.verdict}"
    )
    sure = f"{show_float(100 * result.confidence)}% confidence"
    bound = f"epsilon >= {show_float(result.epsilon)} at delta {show_float(result.bound.delta)}, {sure}"
    row: dict[str, Cell] = {
        "mechanism": result.mechanism,
        "verdict": result.verdict,
        "epsilon_at_least": result.epsilon,
        "delta": result.bound.delta,
        "confidence": result.confidence,
        "claimed_epsilon": None if claim is None else claim.epsilon,
        "p_value": result.p_value,
        "outputs_per_data_set": result.n,
        "law": result.law,
        "seed": result.seed,
        "notes": "; ".join(result.notes),
    }
    return ResultTable(f"{result.mechanism}: {bound}{claimed}", [row])


def _row(result: Result) -> dict[str, Cell]:
    """Return all cells of a verdict. A data frame shows all of them."""
    slack = result.slack
    return {
        "claim": result.claim,
        "reading": reading_words(result.reading),
        "status": result.status,
        "severity": result.severity or "",
        "where": result.where,
        "kind": kind_words(result.kind),
        "statement": _statement(result),
        "conditions": _conditions(result),
        "given": "; ".join(result.given),
        "reason": result.reason,
        "instead": "; ".join(
            with_status(statement, instead_words(statement))
            for statement in result.beside
        ),
        "amended": _statement(result.amendment) if result.amendment else "",
        "amended_conditions": _conditions(result.amendment) if result.amendment else "",
        "smallest_slack": None if slack is None else to_float(slack.min),
    }


def _statement(source: Result | AmendmentResult) -> str:
    """Return the formula with its definitions, or the statement in words."""
    return _joined(
        str(line)
        for line in statement_of(source)
        if line.word in ("", "in words:", "with")
    )


def _conditions(source: Result | AmendmentResult) -> str:
    return _joined(
        line.text for line in statement_of(source) if line.word in ("if", "assuming")
    )


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)
