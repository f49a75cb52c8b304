"""``dpverify train`` without the command line: plain arguments in, text and files out, an exit code back."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.ledger.records import encode
from dpverify.problems.errors import DataError
from dpverify.report.files import STDOUT, check_target, deliver
from dpverify.train.request import Request
from dpverify.train.result import Point, TrainResult
from dpverify.train.run import train
from dpverify.train.words import summary

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


def run_train(
    algorithm: str = "dp-nsgd",
    *,
    data: Path | None = None,
    n: int | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    eta: float | None = None,
    lam: float = 0.001,
    ordering: str = "fresh",
    scale: str = "unit",
    standardise: bool | None = None,
    seed: int = 0,
    json: str | None = None,
    figure: Path | None = None,
) -> int:
    """Train, show how it goes, and write what was asked for.

    Parameters
    ----------
    algorithm, data, n, steps, epochs, sigma, epsilon, delta, alpha, gamma, eta, lam, ordering, scale, standardise, seed
        As in ``Request``.
    json : str or None
        File for the ``TrainResult``, or ``-`` for stdout; the text then goes to stderr.
    figure : Path or None
        File for the figure, ``*.svg``.

    Returns
    -------
    int
        0: done. 2: bad input, one line on stderr. 130: interrupted, with what was done so far written.
    """
    try:
        check_target("json", Path(json) if json not in (None, STDOUT) else None)
        check_target("figure", figure, suffix=".svg")
        request = Request(
            algorithm=algorithm,
            data=data,
            n=n,
            steps=steps,
            epochs=epochs,
            sigma=sigma,
            epsilon=epsilon,
            delta=delta,
            alpha=alpha,
            gamma=gamma,
            eta=eta,
            lam=lam,
            ordering=ordering,
            scale=scale,
            standardise=standardise,
            seed=seed,
        )
        result = _train_with_progress(request)
        deliver(summary(result), encode(result), json, figure, lambda: _figure(result))
    except (ArgumentError, DataError) as error:
        sys.stderr.write(f"dpverify: {printable(str(error), 2000)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dpverify: interrupted\n")
        return INTERRUPTED
    return INTERRUPTED if result.interrupted else DONE


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
