"""``dpverify bench``: run benchmarks, print ratios, and write the requested files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.backends import open_store
from dpverify.cli.output import (
    INTERRUPTED,
    OK,
    STDOUT,
    BadInput,
    Fresh,
    Target,
    Whole,
    check_json,
    check_report,
    complain,
    write_record,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from dpverify.bench.case import Group
    from dpverify.bench.results import Bench

WRONG = 1  # exit code if a case became slower or could not be measured


def bench(
    *groups: str,
    quick: bool = False,
    long: bool = False,
    seed: Whole = 0,
    json: Target | None = None,
    report: Path | None = None,
    against: Path | None = None,
    list_: bool = False,
    store: Path | None = None,
    fresh: Fresh = False,
) -> int:
    """Run benchmarks. Times are ratios to a reference measured in the same process.

    Parameters
    ----------
    groups
        Groups of benchmarks: scaling, noise, optimizers, recursive, sparse, networks,
        reconstruction, parties, monte-carlo, accounting, audit, start-up, verification.
        Default: all.
    quick
        Fewer passes, for a first look.
    long
        Include the benchmarks that take minutes each.
    seed
        Seed of the random numbers; the same seed gives the same result.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    report
        Write benchmarks.md, its figures and its data to this folder. Earlier results of
        groups that were not measured are kept.
    against
        Compare with the benchmarks in this JSON file.
    list_
        List the benchmarks and run none.
    store
        File in which finished work is stored, so that an interrupted run can continue.
        Default: the path in DPVERIFY_STORE, or dpverify/evidence.sqlite in the cache
        folder of the user.
    fresh
        Ignore the store and measure everything again. --resume is the default.
    """
    chosen = _choose(groups, long=long or list_)
    if list_:
        _list(chosen)
        return OK
    if seed < 0:
        raise BadInput("--seed", seed, "must be at least 0")
    check_json(json)
    _check_report(report, chosen)
    old = _read(against)
    from dpverify.bench.run import QUICK, STANDARD, run
    from dpverify.report.text.console import rounds_on_stderr

    blocks = open_store(store)
    with rounds_on_stderr() as progress:
        amount = QUICK if quick else STANDARD
        measured = run(
            chosen, amount, seed=seed, progress=progress, store=blocks, fresh=fresh
        )
    if blocks is not None and blocks.failure:
        complain(f"the run went on without its store: {blocks.failure}")
    if earlier := sum(info.earlier for info in measured.runs):
        complain(
            f"{earlier} passes were measured in a run that was ended; --fresh measures all anew"
        )
    slower = False
    # a failed output, including a closed stdout, does not prevent the others
    with ExitStack() as stack:
        stack.callback(_write_report, measured, report)
        stack.callback(write_record, measured, json)
        slower = _show(measured, old, on_stderr=json == STDOUT)
    if any(info.interrupted for info in measured.runs):
        return INTERRUPTED
    return WRONG if slower or any(case.error for case in measured.cases) else OK


def _choose(groups: tuple[str, ...], *, long: bool) -> list[Group]:
    from dpverify.bench.case import GroupError, select

    try:
        return select(groups, long=long)
    except GroupError as error:
        raise BadInput("GROUP", error.name, error.rule) from error


def _list(groups: list[Group]) -> None:
    from dpverify.report.numbers import show_float

    for group in groups:
        print(f"{group.name}: {group.title}")
        for case in group.cases:
            sizes = ", ".join(
                f"{name} = {show_float(value)}"
                for name, value in case.parameters.items()
            )
            print(
                f"  {case.name}: {case.title}{f' ({sizes})' if sizes else ''}{'; long' if case.long else ''}"
            )


def _check_report(folder: Path | None, chosen: Sequence[Group]) -> None:
    if folder is None:
        return
    from dpverify.bench.report.page import DATA, PAGE, recorded_bench
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.layout import INDEX
    from dpverify.report.pages.write import read_runs

    check_report(folder, ())
    try:
        recorded_bench(folder)
        if read_runs(folder):
            check_report(folder, (INDEX,))
        figures = (f"figures/bench-{group.name}.svg" for group in chosen)
        check_report(folder, (PAGE, f"data/{DATA}.json", *figures))
    except ReportError as error:
        raise BadInput(
            "--report", folder, f"holds benchmarks that cannot be read ({error})"
        ) from error


def _read(file: Path | None) -> Bench | None:
    if file is None:
        return None
    from dpverify.bench.report.page import read_bench
    from dpverify.report.collect import ReportError

    try:
        return read_bench(file, file.name)
    except ReportError as error:
        raise BadInput(
            "--against", file, str(error).removeprefix(f"{file.name}: ")
        ) from error


def _show(measured: Bench, old: Bench | None, *, on_stderr: bool) -> bool:
    """Print the run and the comparison, and return whether a case became slower."""
    from rich.console import Console

    from dpverify.bench.report.words import print_bench

    console = Console(stderr=on_stderr)
    print_bench(measured, console)
    for case in measured.cases:
        if case.error:
            complain(f"{case.group}/{case.name} could not be measured: {case.error}")
    return old is not None and _compare(measured, old, console)


def _compare(measured: Bench, old: Bench, console: Console) -> bool:
    from dpverify.bench.compare import compare, without_counterpart
    from dpverify.bench.report.words import print_comparison
    from dpverify.bench.results import busy
    from dpverify.report.words import plural

    changes = compare(measured, old)
    print_comparison(changes, console)
    alone = without_counterpart(measured, old)
    if alone and changes:
        complain(
            f"{plural(alone, 'form')} not compared: the other run has no form with this name, size and limit; "
            "record it again to compare all"
        )
    if {str(info.machine) for info in measured.runs} != {
        str(info.machine) for info in old.runs
    }:
        complain(
            "the two runs were made on different machines, which may cause a change"
        )
    if {info.seed for info in measured.runs} != {info.seed for info in old.runs}:
        complain(
            "the two runs have different seeds, so different input may cause a change"
        )
    packages = [{str(info.versions) for info in run.runs} for run in (measured, old)]
    if packages[0] != packages[1]:
        complain(
            "the two runs were made with other versions of the packages, which may cause a change"
        )
    if any(busy(info) for info in (*measured.runs, *old.runs)):
        complain(
            "other processes ran during one of the runs: small changes are missed, and false alarms are more likely"
        )
    return any(change.change == "slower" for change in changes)


def _write_report(measured: Bench, folder: Path | None) -> None:
    if folder is None:
        return
    from dpverify.bench.report.page import write_bench
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.write import read_runs, regenerate

    try:
        write_bench(measured, folder)
        if read_runs(folder):
            regenerate(folder)  # the index page of a report links this page
    except (ReportError, OSError) as error:
        raise BadInput("--report", folder, f"cannot be written ({error})") from error
