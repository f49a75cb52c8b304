"""``dpverify train`` without the command line: plain arguments in, text and files out, an exit code back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpverify.ledger.records import encode
from dpverify.report.files import answer, deliver
from dpverify.report.progress import rounds_on_stderr
from dpverify.train.request import Request
from dpverify.train.result import Point
from dpverify.train.run import train
from dpverify.train.words import summary


def run_train(*, json: str | None = None, figure: Path | None = None, **asked: Any) -> int:
    """Train as ``Request`` asks, show how it goes, write JSON (``-``: to stdout) and an SVG figure; the exit code."""

    def work() -> bool:
        request = Request(**asked)
        with rounds_on_stderr() as progress:

            def report(step: int, steps: int, point: Point) -> None:
                progress(step, steps, f"loss {point.loss:.4g}, gradient norm {point.gradient_norm:.4g}")

            result = train(request, report)

        def draw() -> bytes:
            from dpverify.train.figure import svg  # matplotlib, only where a figure is wanted

            return svg(result)

        deliver(summary(result), encode(result), json, figure, draw)
        return result.interrupted

    return answer(work, json, figure)
