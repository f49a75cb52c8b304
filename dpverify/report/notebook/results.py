"""Tables of verdicts, runs and audits for prompts and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dpverify.report.notebook.table import Cell, ResultTable
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
    from dpverify.ledger.results import AmendmentResult, Result, Run
    from dpverify.privacy.audit.records import AuditResult

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
