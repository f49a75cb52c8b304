"""``dpverify compare`` without the command line: a request in, text and files out, an exit code back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from dpverify.compare.figure import svg
from dpverify.compare.records import CompareRequest, CompareResult
from dpverify.compare.report import add, check_report, recorded
from dpverify.compare.run import compare
from dpverify.compare.words import summary
from dpverify.harness.run.work import Means
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, answer, deliver
from dpverify.report.pages.layout import INDEX
from dpverify.report.pages.ownership import is_generated
from dpverify.report.pages.write import regenerate
from dpverify.report.terminal import rounds_on_stderr


def run_compare(
    *,
    experiment: str | None = None,
    json: str | None = None,
    figure: Path | None = None,
    report: Path | None = None,
    means: Means | None = None,
    **asked: Any,
) -> int:
    """Compare as asked, and write JSON (``-``: to stdout), an SVG figure, and a report's page; the exit code.

    With ``experiment`` a paper's table is made again instead. What is None has its default. ``means``: where runs are
    made and kept; here, and nowhere, by default.
    """
    arguments = {name: value for name, value in asked.items() if value is not None}
    if experiment is not None:
        from dpverify.compare.tables.report import run_experiment

        return run_experiment(json=json, figure=figure, report=report, means=means, experiment=experiment, **arguments)

    def work() -> bool:
        request = _request(arguments)
        check_report(report)
        with rounds_on_stderr() as progress:
            result = compare(request, progress, means=means)
        deliver(summary(result), encode(result), json, figure, lambda: svg(result))
        _report(request, result, report, sys.stderr if json == STDOUT else sys.stdout)
        return result.interrupted

    return answer(work, json, figure)


def _request(arguments: dict[str, Any]) -> CompareRequest:
    """Check what is asked of a comparison."""
    for name in ("epsilon", "delta"):
        if name not in arguments:
            raise ArgumentError(name, None, f"must be given as --{name} unless --experiment is given")
    for name in ("test_data", "budget"):
        if name in arguments:
            raise ArgumentError(name, arguments[name], "goes with an experiment")
    return CompareRequest(**arguments)


def _report(request: CompareRequest, result: CompareResult, folder: Path | None, out: TextIO) -> None:
    """Add the comparison to the page, and name the page on the report's first page where there is one."""
    if folder is None:
        return
    if result.interrupted:
        out.write("the page of comparisons is as it was: this one was interrupted\n")
        return
    changed = add(folder, recorded(request, result))
    if is_generated(folder / INDEX):
        changed += regenerate(folder)
    out.writelines(f"wrote {folder / name}\n" for name in changed)
