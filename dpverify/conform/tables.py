"""The headline and the rows of conformance tests, for notebooks and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.report.notebook.table import Cell, ResultTable

if TYPE_CHECKING:
    from dpverify.conform.results import Conformance


def conformance_table(result: Conformance) -> ResultTable:
    """All tests: faults first, then tests that could not be run."""
    order = ["fault", "not tested", "ok"]
    ordered = sorted(result.tests, key=lambda test: order.index(test.status))
    rows: list[dict[str, Cell]] = [
        {
            "test": test.name,
            "result": "FAULT" if test.status == "fault" else test.status,
            "measured": test.found,
            "detects": test.sees,
            "alpha": test.alpha,
        }
        for test in ordered
    ]
    failed = ", ".join(test.name for test in result.failed)
    untested = ", ".join(test.name for test in result.not_tested)
    headline = f"no fault found by {len(result.tests) - len(result.not_tested)} tests"
    if failed:
        headline = f"{len(result.failed)} of {len(result.tests)} tests found a fault: {failed}"
    return ResultTable(f"{headline}; not tested: {untested}" if untested else headline, rows)
