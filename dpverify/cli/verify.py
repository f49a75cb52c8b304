"""``dpverify verify``: judge claims, print the verdicts, and write the requested files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, Token

from dpverify.cli.backends import early_worker, open_cluster, open_store
from dpverify.cli.claims import ClaimName, PaperKey
from dpverify.cli.output import (
    STDOUT,
    BadInput,
    Fresh,
    Real,
    Target,
    Whole,
    check_json,
    check_report,
    complain,
    whole,
    write_record,
)
from dpverify.processes import collect_garbage_rarely, usable_cores

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from dpverify.harness.finished import Inputs, WholeRun
    from dpverify.ledger import ClaimSpec, Specs
    from dpverify.ledger.records import Status
    from dpverify.ledger.results import Run


def _seed(type_: object, tokens: Sequence[Token]) -> int | str:
    return "commit" if tokens[0].value == "commit" else whole(type_, tokens)


def _seed_of_commit() -> int:
    from dpverify.harness.run.manifest import commit
    from dpverify.ledger.results import seed_of

    drawn = seed_of(commit())
    if drawn is None:
        raise BadInput("--seed", "commit", "needs a checkout with a commit")
    return drawn


DEFAULT_LISTED = 12  # number of verdicts that are listed by default


def verify(
    *claims: ClaimName,
    paper: PaperKey | None = None,
    specs: Path | None = None,
    checks: str | None = None,
    budget: Literal["smoke", "standard", "full"] = "smoke",
    seed: Annotated[
        int | Literal["commit"], Parameter(converter=_seed, n_tokens=1)
    ] = 0,
    jobs: Whole | None = None,
    cluster: str | None = None,
    json: Target | None = None,
    report: Path | None = None,
    renew: bool = False,
    strict: bool = False,
    strict_pins: bool = False,
    fresh: Fresh = False,
    store: Path | None = None,
    timeout: Real | None = None,
    verbose: bool = False,
    refuted: bool = False,
) -> int:
    """Judge claims by derivations, simulations and searches for counterexamples.

    The result of each claim is compared with its pinned verdict. The exit code is 1 if
    a pinned verdict is contradicted.

    Parameters
    ----------
    claims
        Ids such as lemma-12 or tran2022:lemma-12, or patterns such as 'lemma-*'.
        Default: all claims.
    paper
        Only claims of this paper.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    checks
        Package with the checks of the papers. Default: the checks that come with
        dpverify. A claim without a check is searched for counterexamples if both its
        sides are formulas.
    budget
        Thoroughness of the checks.
    seed
        A whole number, or "commit" to derive the seed from the commit of the checkout,
        which nobody can choose in favour of a claim.
    jobs
        Number of worker processes on this machine. Default: one per core.
    cluster
        Address of the scheduler of a Dask cluster that does the work, such as
        tcp://127.0.0.1:8786; see docs/cluster.md.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    report
        Write pages, figures and data to this folder.
    renew
        Judge only claims whose verdict in the report is stale: those whose record,
        code, budget or versions have changed. The others keep their verdicts, with the
        seed and commit of the run that judged them.
    strict
        The exit code is also 1 if a pinned verdict is not confirmed at this budget.
    strict_pins
        The exit code is also 1 if a claim without a pinned verdict is refuted,
        inconclusive or untested. A paper can require this by strict_pins = true in its
        verdicts.toml.
    fresh
        Ignore the store and the recorded run, and do everything again. With the default
        --resume, a run continues where an earlier one with the same seed and code
        ended; at the smoke budget, unchanged derivations are checked by their
        certificates only, and unchanged refutations by their counterexamples only.
    store
        File in which finished work is stored, so that an interrupted run can continue.
        Default: the path in DPVERIFY_STORE, or dpverify/evidence.sqlite in the cache
        folder of the user.
    timeout
        Time limit in seconds for one call of a check: its import, its plan, one block,
        or the combination of its blocks. After that time its process is ended, and the
        check is inconclusive. A check that is not imported in time is bad input. 0: no
        limit. Default: 600 if checks come from another package, otherwise no limit.
    verbose
        List every verdict with its reason. Default: only if there are at most 12.
    refuted
        List the refuted claims with their counterexamples.
    """
    if seed == "commit":
        seed = _seed_of_commit()
    if seed < 0:
        raise BadInput("--seed", seed, "must be at least 0")
    if jobs is not None and jobs < 1:
        raise BadInput("--jobs", jobs, "must be at least 1")
    if jobs is not None and cluster is not None:
        raise BadInput(
            "--jobs",
            jobs,
            "must not be given with --cluster, whose workers do the work",
        )
    if renew and (report is None or fresh):
        raise BadInput(
            "--renew",
            "",
            "needs --report with the folder of an earlier run, and no --fresh",
        )
    if timeout is not None and timeout < 0:
        raise BadInput("--timeout", timeout, "must be at least 0")
    check_json(json)
    _check_report(report)
    collect_garbage_rarely()
    from dpverify.ledger import load_specs

    blocks = open_store(store)
    is_kept = (
        blocks is not None
        and checks is None
        and cluster is None
        and timeout is None
        and not renew
    )
    inputs = _inputs(specs) if is_kept else None  # before any other file is read
    loaded = load_specs(specs)
    chosen = loaded.select(claims, paper)
    _check_pages(report, {claim.paper for claim in chosen})
    whole_run = None if inputs is None else _whole_run(chosen, budget, seed, inputs)
    run = None
    if whole_run is not None and blocks is not None:
        if fresh:
            blocks.drop([whole_run])
            whole_run = None
        else:
            run = whole_run.stored_run(blocks)
    if run is None:
        with early_worker(claims if jobs is None and cluster is None else ()) as early:
            from dpverify.api import verify_run
            from dpverify.cli.progress import progress_on_stderr

            with open_cluster(cluster) as remote, progress_on_stderr() as progress:
                workers = jobs or usable_cores()
                spare = jobs is None
                limit = _limit(loaded, checks) if timeout is None else timeout
                run = verify_run(
                    *claims,
                    paper=paper,
                    specs=loaded,
                    budget=budget,
                    seed=seed,
                    jobs=workers,
                    progress=progress,
                    spare=spare,
                    early=early,
                    fresh=fresh,
                    store=blocks,
                    checks=checks,
                    cluster=remote,
                    limit=limit,
                    whole_run=whole_run,
                    renew=report if renew else None,
                )
        if remote is not None and remote.failure:
            complain(remote.failure)
    if blocks is not None and blocks.failure:
        complain(f"the run went on without its store: {blocks.failure}")
    # a failed output, including a closed stdout, does not prevent the others
    with ExitStack() as stack:
        stack.callback(_write, run, loaded, report, json)
        _show(
            run,
            _listed(run, verbose=verbose, refuted=refuted),
            on_stderr=json == STDOUT,
        )
    from dpverify.harness.finished import exit_code

    strict_papers = [
        key for key, spec in loaded.papers.items() if strict_pins or spec.strict_pins
    ]
    return exit_code(run, strict=strict, strict_pins=strict_papers)


def _inputs(specs: Path | None) -> Inputs:
    from dpverify.harness.finished import Inputs

    return Inputs(specs)


def _whole_run(
    claims: Sequence[ClaimSpec], budget: str, seed: int, inputs: Inputs
) -> WholeRun:
    from dpverify.harness.finished import WholeRun

    return WholeRun(tuple(claim.key for claim in claims), budget, seed, inputs)


CALL_SECONDS = 600.0  # time limit of one call of a check of foreign code


def _limit(specs: Specs, checks: str | None) -> float:
    """Return the default time limit of a call: 0, that is none, if all code comes with dpverify."""
    from dpverify.ledger.load import outside_papers

    return (
        CALL_SECONDS
        if checks is not None or outside_papers(Path.cwd()).keys() & specs.papers.keys()
        else 0.0
    )


def _listed(run: Run, *, verbose: bool, refuted: bool) -> Container[Status]:
    """Return the statuses whose verdicts are listed."""
    from dpverify.report.words import STATUSES

    if verbose or (len(run.results) <= DEFAULT_LISTED and not refuted):
        return STATUSES
    return ("refuted",) if refuted else ()


def _show(run: Run, listed: Container[Status], *, on_stderr: bool) -> None:
    from rich.console import Console

    from dpverify.harness.finished import errors
    from dpverify.report.terminal import print_run

    print_run(run, Console(stderr=on_stderr), listed)
    for result in run.results:
        for error in errors(result):
            complain(f"error of ours, not the paper's: {result.claim}: {error}")


def _check_report(folder: Path | None) -> None:
    """Raise BadInput if the report cannot be written to the folder, or if the report in it cannot be read."""
    if folder is None:
        return
    check_report(folder, ())
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.repository import recorded

    try:
        recorded(folder)
    except (ReportError, OSError) as error:
        raise BadInput(
            "--report", folder, f"holds a report that cannot be read ({error})"
        ) from error


def _check_pages(folder: Path | None, papers: Iterable[str]) -> None:
    """Raise BadInput if the folder has files of others where the run would write its pages, figures and data."""
    if folder is None:
        return
    from dpverify.report.pages.layout import INDEX
    from dpverify.report.pages.write import OVERVIEW

    pages = (
        name for key in sorted(papers) for name in (f"data/{key}.json", f"{key}.md")
    )
    check_report(folder, (INDEX, f"figures/{OVERVIEW}", *pages))


def _write(run: Run, specs: Specs, folder: Path | None, json: str | None) -> None:
    """Write the report and the JSON. If both are files, write both or neither."""
    if folder is None:
        write_record(run, json)
        return
    from dpverify.ledger.records import encode
    from dpverify.report.collect import ReportError
    from dpverify.report.pages.write import write_report

    target = Path(json).absolute() if json not in {None, STDOUT} else None
    together = (
        {target: encode(run)}
        if target is not None and (target.is_file() or not target.exists())
        else {}
    )
    try:
        write_report([run], folder, specs.papers, together)
    except (ReportError, OSError) as error:
        write_record(run, json)
        raise BadInput("--report", folder, f"cannot be written ({error})") from error
    if not together:
        write_record(run, json)
