"""``dpverify verify``: judge claims, print the verdicts, write what was asked for."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpverify.bench.machine import usable_cores
from dpverify.cli.claims import ClaimName, PaperKey
from dpverify.cli.early_worker import collect_seldom, early_worker
from dpverify.cli.output import STDOUT, BadInput, Target, Whole, check_folder, check_json, complain, write_record

if TYPE_CHECKING:
    from collections.abc import Container

    from dpverify.ledger import Specs
    from dpverify.ledger.records import Status
    from dpverify.ledger.results import Run

FEW = 12  # so many verdicts are listed unasked


def verify(
    *claims: ClaimName,
    paper: PaperKey | None = None,
    specs: Path | None = None,
    budget: Literal["smoke", "standard", "full"] = "smoke",
    seed: Whole = 0,
    jobs: Whole | None = None,
    json: Target | None = None,
    report: Path | None = None,
    strict: bool = False,
    verbose: bool = False,
    refuted: bool = False,
) -> int:
    """Judge claims: derive, run, search, and hold the three against each other.

    ``claims``: ids such as lemma-12 or tran2022:lemma-12, or globs such as 'lemma-*'; all claims by default.
    ``strict``: exit code 1 also where a pinned verdict is not confirmed at this budget.
    ``verbose``: list every verdict with its reason; without it, only where there are few.
    ``refuted``: list the refuted ones, with their counterexamples.
    """
    if seed < 0:
        raise BadInput("--seed", seed, "must be at least 0")
    if jobs is not None and jobs < 1:
        raise BadInput("--jobs", jobs, "must be at least 1")
    check_json(json)
    _check_report(report)
    collect_seldom()
    with early_worker(claims if jobs is None else ()) as early:
        from dpverify.api import verify_run
        from dpverify.cli.progress import progress_on_stderr
        from dpverify.ledger import load_specs

        loaded = load_specs(specs)
        with progress_on_stderr() as progress:
            most, spare = jobs or usable_cores(), jobs is None
            run = verify_run(
                *claims, paper=paper, specs=loaded, budget=budget, seed=seed, jobs=most, progress=progress, spare=spare,
                early=early,
            )  # fmt: skip
    with ExitStack() as stack:  # what cannot be written, a closed stdout included, does not cost the rest
        stack.callback(_write, run, loaded, report, json)
        _show(run, _listed(run, verbose=verbose, refuted=refuted), on_stderr=json == STDOUT)
    from dpverify.harness.run.runner import exit_code

    return exit_code(run, strict=strict)


def _listed(run: Run, *, verbose: bool, refuted: bool) -> Container[Status]:
    """The statuses whose verdicts are listed."""
    from dpverify.report.words import STATUSES

    if verbose or (len(run.results) <= FEW and not refuted):
        return STATUSES
    return ("refuted",) if refuted else ()


def _show(run: Run, listed: Container[Status], *, on_stderr: bool) -> None:
    from rich.console import Console

    from dpverify.harness.run.runner import errors
    from dpverify.report.terminal import print_run

    print_run(run, Console(stderr=on_stderr), listed)
    for result in run.results:
        for error in errors(result):
            complain(f"error of ours, not the paper's: {result.claim}: {error}")


def _check_report(folder: Path | None) -> None:
    """Refuse a folder that could not take the report, or that holds one that cannot be read."""
    if folder is None:
        return
    check_folder("--report", folder)
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.front import recorded

    try:
        recorded(folder)
    except (ReportError, OSError) as error:
        raise BadInput("--report", folder, f"holds a report that cannot be read ({error})") from error


def _write(run: Run, specs: Specs, folder: Path | None, json: str | None) -> None:
    """Write the report and the JSON, both or neither where both are files; what cannot be written keeps the other."""
    if folder is None:
        write_record(run, json)
        return
    from dpverify.ledger.records import encode
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.write import write_report

    target = Path(json).absolute() if json not in {None, STDOUT} else None
    together = {target: encode(run)} if target is not None and (target.is_file() or not target.exists()) else {}
    try:
        write_report([run], folder, specs.papers, together)
    except (ReportError, OSError) as error:
        write_record(run, json)
        raise BadInput("--report", folder, f"cannot be written ({error})") from error
    if not together:
        write_record(run, json)
