"""The work of ``dpverify compare``: check a request, run it, write text and files, return the exit code.

The text of a comparison has settings, two tables, guarantees and notes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE, with_result
from dpverify.compare.experiments.run import run_experiment
from dpverify.compare.experiments.words import summary as experiment_summary
from dpverify.compare.figure import HEADS, experiment_svg, svg
from dpverify.compare.page import COMPARISON_PAGE
from dpverify.compare.records import (
    MEASURES,
    CompareRequest,
    CompareResult,
    Comparisons,
    RecordedComparison,
    source_of,
)
from dpverify.compare.run import compare
from dpverify.harness.run.backend import Backend
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, answer, deliver, is_generated
from dpverify.report.folder import RecordedPage
from dpverify.report.numbers import show_float
from dpverify.report.pages.layout import INDEX
from dpverify.report.pages.write import regenerate
from dpverify.report.text.console import rounds_on_stderr
from dpverify.report.text.paragraphs import terminal_width
from dpverify.report.words import plural


def run_compare(
    *,
    experiment: str | None = None,
    json: str | None = None,
    figure: Path | None = None,
    report: Path | None = None,
    backend: Backend | None = None,
    **options: Any,
) -> int:
    """Run a comparison, write JSON (to stdout for ``-``), an SVG figure and a report page, and return the exit code.

    With ``experiment``, repeat a paper's experiment instead. An argument of None selects the default. ``backend``
    executes and caches the runs; by default they run in this process without a cache.
    """
    arguments = {name: value for name, value in options.items() if value is not None}

    def add(page: RecordedPage[Any], run: Callable[[], msgspec.Struct]) -> None:
        """Add a run to its page. If the report has an index page, regenerate the report, so that it links the page."""
        assert report is not None
        changed = page.write(run(), report)
        if is_generated(report / INDEX):
            changed += regenerate(report)
        out = sys.stderr if json == STDOUT else sys.stdout
        out.writelines(f"wrote {report / name}\n" for name in changed)

    def compare_methods() -> bool:
        request = _request(arguments)
        if report is not None:
            COMPARISON_PAGE.check_target(report)
        with rounds_on_stderr() as progress:
            result = compare(request, progress, backend=backend)
        deliver(
            comparison_summary(result),
            encode(result),
            json,
            figure,
            lambda: svg(result),
        )
        if report is not None and result.interrupted:
            out = sys.stderr if json == STDOUT else sys.stdout
            out.write(
                "the page of comparisons is as it was: this one was interrupted\n"
            )
        elif report is not None:
            add(
                COMPARISON_PAGE,
                lambda: merged(COMPARISON_PAGE.read(report), recorded(request, result)),
            )
        return result.interrupted

    def repeat_experiment() -> bool:
        request = _experiment_request(experiment or "", arguments)
        if report is not None:
            EXPERIMENTS_PAGE.check_target(report)
        with rounds_on_stderr() as progress:
            result = run_experiment(request, progress, backend)
        deliver(
            experiment_summary(result),
            encode(result),
            json,
            figure,
            lambda: experiment_svg(result),
        )
        if report is not None and not result.interrupted:
            complete = msgspec.structs.replace(
                result, versions=versions(), machine=machine(), commit=commit()
            )
            add(
                EXPERIMENTS_PAGE,
                lambda: with_result(EXPERIMENTS_PAGE.read(report), complete),
            )
        return result.interrupted

    return answer(
        compare_methods if experiment is None else repeat_experiment, json, figure
    )


def _request(arguments: dict[str, Any]) -> CompareRequest:
    """Return the checked request of a comparison."""
    for name in ("epsilon", "delta"):
        if name not in arguments:
            raise ArgumentError(
                name, None, f"must be given as --{name} unless --experiment is given"
            )
    for name in ("test_data", "settings", "budget"):
        if name in arguments:
            raise ArgumentError(name, arguments[name], "goes with an experiment")
    return CompareRequest(**arguments)


def _experiment_request(
    experiment: str, arguments: dict[str, Any]
) -> ExperimentRequest:
    """Return the request of an experiment; raise for settings that the experiment fixes, such as epsilon and lam."""
    names = {field.name for field in fields(ExperimentRequest)}
    for name, value in arguments.items():
        if name not in names:
            raise ArgumentError(
                name, value, "must be left out: the experiment has its own"
            )
    return ExperimentRequest(experiment, **arguments)


def recorded(request: CompareRequest, result: CompareResult) -> RecordedComparison:
    """Return a result with the command and versions that reproduce it."""
    return RecordedComparison(
        command=request.command,
        source=source_of(request.data),
        versions=versions(),
        machine=machine(),
        commit=commit(),
        result=result,
    )


def merged(stored: Comparisons | None, comparison: RecordedComparison) -> Comparisons:
    """Add a comparison to those of a page; it replaces an earlier one with the same command."""
    every = [] if stored is None else stored.comparisons
    comparisons = {run.command: run for run in [*every, comparison]}
    return Comparisons(comparisons=list(comparisons.values()))


WIDTH = 26


def comparison_summary(result: CompareResult) -> str:
    """Return a summary of the comparison as several lines of text."""
    return "\n".join(
        (
            *_setting(result),
            "",
            *_means(result),
            "",
            *_differences(result),
            "",
            *_ending(result),
        )
    )


def _setting(result: CompareResult) -> Iterator[str]:
    data = result.data
    yield f"{data.name}: N = {data.n} to train on, {result.tested} to test on, d = {data.d}, classes {data.called}"
    bounds = f"G = {result.lipschitz:.6g}, L = {result.smoothness:.6g}"
    yield f"certified: {bounds} (lam = {show_float(result.lam)}, rows: {result.scale})"
    budget = (
        f"epsilon = {show_float(result.epsilon)}, delta = {show_float(result.delta)}"
    )
    yield f"noise of every private method: the least certified for {budget}, for replacing one example"
    for method in result.methods:
        noise = ", ".join(
            f"{show_float(value)} ({kind})" for kind, value in method.noise_std.items()
        )
        sizes = (
            f"T = {method.steps}, batch {method.batch}, eta = {show_float(method.eta)}"
        )
        yield f"  {method.name:<8} {sizes}, deviation of noise {noise}"


def _means(result: CompareResult) -> Iterator[str]:
    yield f"at the last iterate (mean: over iterates), mean over {plural(result.done, 'seed')} with 95% interval"
    rows = {
        method.name: [method.means[measure].shown() for measure in MEASURES]
        for method in result.methods
    }
    yield from _table(rows)


def _differences(result: CompareResult) -> Iterator[str]:
    yield "minus dp-nsgd, seed by seed on the same splits; * the interval excludes 0"
    rows: dict[str, list[str]] = {}
    for method in result.methods:
        if method.minus_dp_nsgd:
            differences = [method.minus_dp_nsgd[measure] for measure in MEASURES]
            stars = [
                "" if difference.seen == "no difference seen" else "*"
                for difference in differences
            ]
            pairs = zip(differences, stars, strict=True)
            rows[method.name] = [
                difference.shown("+") + star for difference, star in pairs
            ]
    yield from _table(rows)


def _table(rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a row for each method or, in a narrow terminal, a block of lines for each method."""
    head = _row("method", *HEADS.values())
    if len(head) <= terminal_width():
        yield head
        yield from (_row(name, *cells) for name, cells in rows.items())
        return
    for name, cells in rows.items():
        yield f"  {name}"
        yield from (
            f"    {measure:<{WIDTH}}  {cell}"
            for measure, cell in zip(HEADS.values(), cells, strict=True)
        )


def _row(name: str, *cells: str) -> str:
    return (f"  {name:<8} " + "  ".join(f"{cell:<{WIDTH}}" for cell in cells)).rstrip()


def _ending(result: CompareResult) -> Iterator[str]:
    if result.interrupted:
        yield f"interrupted: {result.done} of {result.seeds} seeds were finished"
    yield f"{result.seconds:.2f} s, accounting and first compilation included"
    yield "privacy:"
    yield from (f"  {method.name:<8} {method.privacy}" for method in result.methods)
    yield from (f"  {note}" for note in result.notes)
