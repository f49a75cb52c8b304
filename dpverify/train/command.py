"""``dpverify train`` without the command line: plain arguments in, text and files out, an exit code back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from dpverify.ledger.records import encode
from dpverify.report.files import answer, deliver
from dpverify.train.request import Request
from dpverify.train.result import Point, TrainResult
from dpverify.train.run import train
from dpverify.train.words import summary


def run_train(*, json: str | None = None, figure: Path | None = None, **asked: Any) -> int:
    """Train, show how it goes, and write what was asked for.

    Parameters
    ----------
    json : str or None
        File for the ``TrainResult``, or ``-`` for stdout; the text then goes to stderr.
    figure : Path or None
        File for the figure, ``*.svg``.
    **asked
        As in ``Request``.

    Returns
    -------
    int
        0: done. 2: bad input, one line on stderr. 130: interrupted, with what was done so far written.
    """

    def work() -> bool:
        result = _train_with_progress(Request(**asked))
        deliver(summary(result), encode(result), json, figure, lambda: _figure(result))
        return result.interrupted

    return answer(work, json, figure)


def _train_with_progress(request: Request) -> TrainResult:
    """Run with a bar on stderr, where somebody can see it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(request.algorithm, total=None, state="reading the data")

        def report(step: int, total: int, point: Point) -> None:
            state = f"loss {point.loss:.4g}, gradient norm {point.gradient_norm:.4g}"
            progress.update(task, completed=step, total=total, state=state)

        return train(request, report)


def _figure(result: TrainResult) -> bytes:
    """Draw; matplotlib is imported only where a figure is wanted."""
    from dpverify.train.figure import svg

    return svg(result)
