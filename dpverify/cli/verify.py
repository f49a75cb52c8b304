"""``dpverify verify``: judge claims, print the verdicts, write what was asked for."""

from __future__ import annotations

from collections.abc import Set
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpverify.bench.machine import usable_cores
from dpverify.cli.beside import process_beside
from dpverify.cli.exits import BadInput, complain
from dpverify.cli.machine import collect_seldom
from dpverify.cli.output import STDOUT, check_folder, check_json, write_json
from dpverify.cli.words import Target, Whole

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dpverify.ledger import Specs
    from dpverify.ledger.results import Run


def verify(
    *claims: str,
    paper: str | None = None,
    specs: Path | None = None,
    budget: Literal["smoke", "standard", "full"] = "smoke",
    seed: Whole = 0,
    jobs: Whole | None = None,
    json: Target | None = None,
    report: Path | None = None,
) -> int:
    """Judge claims: derive, run, search, and hold the three against each other.

    ``claims``: ids such as lemma-12 or tran2022:lemma-12, or globs such as 'lemma-*'; all claims by default.
    """
    _check_numbers(seed, jobs)
    check_json(json)
    _check_report(report)
    collect_seldom()
    with process_beside(claims if jobs is None else ()) as beside:
        from dpverify.ledger import load_specs

        loaded = load_specs(specs)
        run = _judge(loaded, claims, paper, budget, seed, jobs, beside)
    with ExitStack() as stack:  # what cannot be written, a closed stdout included, does not cost the rest
        stack.callback(_write_report, run, loaded, report)
        stack.callback(_write_json, run, json)
        _show(run, on_stderr=json == STDOUT)
    from dpverify.harness import exit_code

    return exit_code(run)


def _check_numbers(seed: int, jobs: int | None) -> None:
    if seed < 0:
        raise BadInput("--seed", seed, "must be at least 0")
    if jobs is not None and jobs < 1:
        raise BadInput("--jobs", jobs, "must be at least 1")


def _judge(
    loaded: Specs,
    claims: tuple[str, ...],
    paper: str | None,
    budget: Literal["smoke", "standard", "full"],
    seed: int,
    jobs: int | None,
    beside: Executor | None,
) -> Run:
    chosen = loaded.select(claims, paper)  # complains of an unknown claim before anything heavy is loaded
    from dpverify.cli.progress import progress_on_stderr

    with progress_on_stderr() as progress:
        from dpverify.api import verify_run

        _check_claims(loaded, {claim.paper for claim in chosen})
        most, spare = jobs or usable_cores(), jobs is None
        return verify_run(
            *claims,
            paper=paper,
            specs=loaded,
            budget=budget,
            seed=seed,
            jobs=most,
            progress=progress,
            spare=spare,
            beside=beside,
        )


def _check_claims(specs: Specs, papers: Set[str]) -> None:
    """Refuse specs that lack a claim which our checks of one of these papers are about."""
    from dpverify.papers import load

    for key in sorted(papers):
        checks = load(key)
        if checks is None:
            continue
        for claim in sorted(checks.claims() - specs.papers[key].claims.keys()):
            names = ", ".join(repr(check.name) for check in checks.of(claim))
            rule = f"{key} must have the claim {claim!r}, which the check {names} judges"
            raise BadInput("--specs", specs.directory, rule)


def _show(run: Run, *, on_stderr: bool) -> None:
    from rich.console import Console

    from dpverify.harness import errors
    from dpverify.report.terminal import print_run

    print_run(run, Console(stderr=on_stderr))
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


def _write_json(run: Run, target: str | None) -> None:
    if target is not None:
        from dpverify.ledger.records import encode

        write_json(target, encode(run))


def _write_report(run: Run, specs: Specs, folder: Path | None) -> None:
    if folder is None:
        return
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.write import write_report

    try:
        write_report([run], folder, specs.papers)
    except (ReportError, OSError) as error:
        raise BadInput("--report", folder, f"cannot be written ({error})") from error
