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
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, answer, deliver
from dpverify.report.pages.layout import INDEX
from dpverify.report.pages.write import regenerate
from dpverify.report.terminal import rounds_on_stderr


def run_compare(
    *, json: str | None = None, figure: Path | None = None, report: Path | None = None, **asked: Any
) -> int:
    """Compare as asked, and write JSON (``-``: to stdout), an SVG figure, and a report's page; the exit code."""

    def work() -> bool:
        request = CompareRequest(**asked)
        check_report(report)
        with rounds_on_stderr() as progress:
            result = compare(request, progress)
        deliver(summary(result), encode(result), json, figure, lambda: svg(result))
        _report(request, result, report, sys.stderr if json == STDOUT else sys.stdout)
        return result.interrupted

    return answer(work, json, figure)


def _report(request: CompareRequest, result: CompareResult, folder: Path | None, out: TextIO) -> None:
    """Add the comparison to the page, and name the page on the report's first page where there is one."""
    if folder is None:
        return
    if result.interrupted:
        out.write("the page of comparisons is as it was: this one was interrupted\n")
        return
    changed = add(folder, recorded(request, result))
    if (folder / INDEX).is_file():
        changed += regenerate(folder)
    out.writelines(f"wrote {folder / name}\n" for name in changed)
