"""``dpverify selftest``: plant known faults and report which of them are detected."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dpverify.cli.output import (
    INTERRUPTED,
    OK,
    STDOUT,
    BadInput,
    Target,
    Whole,
    check_json,
    check_report,
    complain,
    write_page,
    write_record,
)
from dpverify.processes import usable_cores

if TYPE_CHECKING:
    from dpverify.ledger.records import Record
    from dpverify.report.folder import RecordedPage
    from dpverify.selftest.catalogue import Fault
    from dpverify.selftest.records import Selftest

    RecordT = TypeVar("RecordT", bound=Record)

MISSED = 1  # exit code if a fault is missed, or if tests fail without a fault
STATE = ".selftest"


def selftest(
    *,
    only: str | None = None,
    tenth: Whole | None = None,
    root: Path = Path(),
    jobs: Whole | None = None,
    limit: Whole = 300,
    state: Path | None = None,
    json: Target | None = None,
    report: Path | None = None,
    list_: bool = False,
    search: bool = False,
    rates: Whole | None = None,
    modules: bool = False,
) -> int:
    """Plant known faults in a copy of a checkout and count how many are detected.

    The faults are those of specs/faults. Each is planted alone, and the claims and
    tests that should detect it are run.

    Parameters
    ----------
    only
        Only faults whose id or module matches this pattern.
    tenth
        0 to 9: only every tenth fault.
    root
        Root folder of the checkout.
    jobs
        Number of worker processes. Default: one per core.
    limit
        Time limit in seconds for one fault.
    state
        File with the results so far; a fault is not run again while the code is
        unchanged. Default: .selftest in the checkout.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    report
        Write selftest.md (or the page of --search, --rates or --modules) and its data
        to this folder.
    list_
        List the faults and run none.
    search
        Instead, test the search for counterexamples on inequalities that are false by
        construction; writes search.md.
    rates
        Instead, run each statistical check with this number of seeds and count its
        errors; writes rates.md.
    modules
        Instead, mutate the modules for which the catalogue has no fault; writes
        mutants.md. An interrupted run continues when the command is repeated.
    """
    if modules:
        return _modules(only or "*", root, jobs, state, json, report)
    if rates is not None:
        return _rates(rates, only or "*", root, jobs, json, report)
    if search:
        return _search(only or "*", root, json, report)
    faults = _choose(root, only, tenth)
    if list_:
        for fault in faults:
            print(
                f"{fault.id}: {fault.what} ({fault.module}); noticed by {', '.join(fault.noticed_by)}"
            )
        return OK
    if (jobs is not None and jobs < 1) or limit < 1:
        raise BadInput("--jobs, --limit", f"{jobs}, {limit}", "must be at least 1")
    check_json(json)
    from dpverify.selftest.pages import SELFTEST_PAGE

    _check_page(SELFTEST_PAGE, report)
    from dpverify.report.text.console import rounds_on_stderr
    from dpverify.selftest.run import FailingGuardsError
    from dpverify.selftest.run import selftest as run_selftest

    state = _checked(state or root / STATE)
    try:
        with rounds_on_stderr() as progress:
            run = run_selftest(
                root.resolve(),
                faults,
                state,
                jobs=jobs or usable_cores(),
                limit=limit,
                report=progress,
            )
    except FailingGuardsError as error:
        complain(str(error))
        return MISSED
    _write(SELFTEST_PAGE, run, json, report)
    _show(run, on_stderr=json == STDOUT)
    return MISSED if run.missed else OK


def _search(only: str, root: Path, json: Target | None, report: Path | None) -> int:
    from dpverify.selftest.checks import FILE, judge_search, read_inequalities

    if not (root / FILE).is_file():
        raise BadInput("--root", root, f"must be a checkout of dpverify, with {FILE}")
    check_json(json)
    from dpverify.selftest.check_pages import SEARCH_PAGE

    _check_page(SEARCH_PAGE, report)
    from dpverify.report.text.console import rounds_on_stderr
    from dpverify.selftest.check_pages import search_summary as summary

    planted = read_inequalities(root).named(only)
    if not planted.false and not planted.true:
        raise BadInput("--only", only, "no inequality has such a name")
    with rounds_on_stderr() as progress:
        run = judge_search(planted, report=progress)
    _write(SEARCH_PAGE, run, json, report)
    _print(summary(run), json)
    return MISSED if run.wrong else OK


def _modules(
    only: str,
    root: Path,
    jobs: int | None,
    state: Path | None,
    json: Target | None,
    report: Path | None,
) -> int:
    _choose(root, None, None)
    check_json(json)
    from dpverify.selftest.pages import MUTANTS_PAGE

    before = _check_page(MUTANTS_PAGE, report)
    from dpverify.report.text.console import rounds_on_stderr
    from dpverify.selftest.modules import change_modules
    from dpverify.selftest.pages import mutants_summary as summary

    state = _checked(state or root / f"{STATE}-modules")
    with rounds_on_stderr() as progress:
        run = change_modules(
            root.resolve(), state, only, jobs=jobs or usable_cores(), report=progress,
            earlier_outcomes=before.changes if before else (),
        )  # fmt: skip
    if not any(fnmatchcase(name, only) for name in run.modules):
        raise BadInput(
            "--only", only, "no module that the catalogue leaves out has such a name"
        )
    _write(MUTANTS_PAGE, run, json, report)
    _print(summary(run), json)
    return INTERRUPTED if any(fnmatchcase(name, only) for name in run.waiting) else OK


def _write(
    page: RecordedPage[RecordT], run: RecordT, json: Target | None, report: Path | None
) -> None:
    """Write a result as JSON and on its page, if requested."""
    write_record(run, json)
    if report is not None:
        write_page(page, run, report)


def _print(lines: Iterable[str], json: Target | None) -> None:
    print("\n".join(lines), file=sys.stderr if json == STDOUT else sys.stdout)


def _check_page(page: RecordedPage[RecordT], report: Path | None) -> RecordT | None:
    """Return the run recorded in a report's folder, if any; raise BadInput if the page cannot be written there."""
    if report is None:
        return None
    from dpverify.report.collect import ReportError

    check_report(report, (f"data/{page.name}.json", f"{page.name}.md"))
    try:
        return page.read(report)
    except ReportError as error:
        raise BadInput(
            "--report", report, f"holds a report that cannot be read ({error})"
        ) from error


def _checked(state: Path) -> Path:
    """Return the path of earlier outcomes; raise BadInput, before anything is run, if the file is damaged."""
    from dpverify.selftest.run import StateError, load_outcomes

    try:
        load_outcomes(state)
    except StateError as error:
        raise BadInput(
            "--state", state, f"must be what a selftest wrote, or new ({error})"
        ) from error
    return state


def _rates(
    seeds: int,
    only: str,
    root: Path,
    jobs: int | None,
    json: Target | None,
    report: Path | None,
) -> int:
    if seeds < 1:
        raise BadInput("--rates", seeds, "must be at least 1")
    check_json(json)
    from dpverify.selftest.check_pages import RATES_PAGE

    _check_page(RATES_PAGE, report)
    from dpverify.ledger import load_specs
    from dpverify.report.text.console import rounds_on_stderr
    from dpverify.selftest.check_pages import rates_summary as summary
    from dpverify.selftest.checks import measure_rates

    with rounds_on_stderr() as progress:
        run = measure_rates(
            load_specs(root / "specs"), seeds, jobs or usable_cores(), only, progress
        )
    if not run.checks:
        raise BadInput(
            "--only",
            only,
            "no claim with such an id has a check that spends an error rate",
        )
    _write(RATES_PAGE, run, json, report)
    _print(summary(run), json)
    return MISSED if run.wrong else OK


def _choose(root: Path, only: str | None, tenth: int | None) -> list[Fault]:
    from dpverify.selftest.catalogue import FOLDER, CatalogueError, choose, load_faults

    if not (root / FOLDER).is_dir() or not (root / "tests").is_dir():
        raise BadInput(
            "--root", root, f"must be a checkout of dpverify, with tests/ and {FOLDER}/"
        )
    if tenth is not None and not 0 <= tenth <= 9:
        raise BadInput("--tenth", tenth, "must be 0 to 9")
    try:
        faults = choose(load_faults(root), only, tenth)
    except CatalogueError as error:
        raise BadInput(str(FOLDER), "", str(error)) from error
    if not faults:
        raise BadInput("--only", only, "no fault has such an id or module")
    return faults


def _show(run: Selftest, *, on_stderr: bool) -> None:
    from rich.console import Console

    console = Console(stderr=on_stderr, highlight=False, soft_wrap=True)
    for fault in sorted(run.faults, key=lambda fault: not fault.missed):
        word = f"MISSED by {', '.join(fault.missed)}" if fault.missed else "noticed"
        console.print(f"{fault.id} ({fault.seconds:.0f} s): {word}", markup=False)
    console.print(
        f"{len(run.faults)} faults, {len(run.faults) - len(run.missed)} noticed, {len(run.missed)} missed"
    )
