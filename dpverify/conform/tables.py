"""The headline and the rows of conformance tests, for notebooks and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.report.notebook.table import Cell, ResultTable

if TYPE_CHECKING:
    from dpverify.conform.results import Conformance


def conformance_table(result: Conformance) -> ResultTable:
    """All tests, those that found a fault first."""
    ordered = sorted(result.tests, key=lambda test: test.passed)
    rows: list[dict[str, Cell]] = [
        {
            "test": test.name,
            "result": "ok" if test.passed else "FAULT",
            "found": test.found,
            "sees": test.sees,
            "alpha": test.alpha,
        }
        for test in ordered
    ]
    failed = ", ".join(test.name for test in result.failed)
    headline = f"{len(result.failed)} of {len(result.tests)} tests found a fault: {failed}"
    return ResultTable(headline if failed else f"no fault found by {len(result.tests)} tests", rows)
