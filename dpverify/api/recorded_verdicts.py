"""Verdicts without running a check: from the recorded run that comes with dpverify, or from the result store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dpverify.api.verdicts import Verdicts
from dpverify.ledger import ClaimSpec, Specs
from dpverify.ledger.errors import SpecError, UnknownClaim, shown, suggest
from dpverify.ledger.load import bundled
from dpverify.ledger.results import Run, RunInfo

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store


def recorded(paper: str, *, report: Path | str | None = None) -> Verdicts:
    """Read the recorded verdicts on a paper.

    Parameters
    ----------
    paper : str
        Key of the paper, such as "tran2022"; "tools" for the claims about our own tools.
    report : pathlib.Path or str, optional
        Folder that ``dpverify verify --report`` wrote; by default the report that comes with dpverify.

    Returns
    -------
    Verdicts
        One result for each claim and choice of its readings, in the order of the paper.

    Raises
    ------
    UnknownClaim
        If the report has no verdicts on this paper.
    dpverify.report.collect.ReportError
        If the recorded data are damaged.

    Examples
    --------
    >>> import dpverify as dv
    >>> verdicts = dv.recorded("tran2022")
    >>> "tran2022:theorem-4-dp" in verdicts.filter(severity="privacy").claims
    True
    """
    folder = bundled("reports") if report is None else Path(report)
    run = recorded_run(paper, folder)
    if run is None:
        from dpverify.report.pages.write import read_runs

        keys = [*read_runs(folder)]
        rule = f"the report has no verdicts on this paper{suggest(paper, keys)}; it has {', '.join(keys)}"
        raise UnknownClaim(str(folder), "", "paper", shown(paper), rule)
    return Verdicts(run.results, run.run)


def recorded_run_of_claim(spec: ClaimSpec, report: Path | str | None = None) -> Run | None:
    """Read the part of a recorded run that judged a claim; None where there is none.

    Without ``report``, it is the report that comes with dpverify; a copy of the package may have none.
    """
    try:
        folder = bundled("reports") if report is None else Path(report)
    except SpecError:
        return None
    run = recorded_run(spec.paper, folder)
    if run is None:
        return None
    results = [result for result in run.results if result.claim == spec.key]
    return msgspec.structs.replace(run, results=results) if results else None


def recorded_run(paper: str, folder: Path) -> Run | None:
    """Read the recorded run of a paper from a report; None where the report has none."""
    from dpverify.report.pages.folder import finish
    from dpverify.report.pages.layout import OTHER_PAGES
    from dpverify.report.pages.write import decode_run

    finish(folder)
    files = {path.stem: path for path in (folder / "data").glob("*.json") if path.stem not in OTHER_PAGES}
    if paper not in files:
        return None
    return decode_run(f"data/{files[paper].name}", files[paper].read_bytes())


def stored_run_of_claim(specs: Specs, spec: ClaimSpec, store: Store, source: str | None = None) -> Run | None:
    """Judge a claim by blocks in the store, of the largest budget with all of them and today's evidence; else None."""
    from dpverify.harness.budget import BUDGETS

    budgets = list(BUDGETS)
    requests = [request for request in store.requests(f"{spec.key}[") if request[0] in budgets]
    ordered = sorted(requests, key=lambda request: (-budgets.index(request[0]), request[1]))
    runs = (_run(specs, spec, store, source, budget, seed) for budget, seed in ordered)
    return next((run for run in runs if run is not None), None)


def _run(specs: Specs, spec: ClaimSpec, store: Store, source: str | None, budget: str, seed: int) -> Run | None:
    from dpverify.harness.recorded_proof import RecordedRun
    from dpverify.harness.run.engine import stored_results
    from dpverify.harness.run.manifest import commit, machine, versions
    from dpverify.harness.run.runner import false_alarm
    from dpverify.harness.run.sources import PAPERS
    from dpverify.harness.run.store import BlockCache
    from dpverify.harness.run.suite import Suite, by_case, judged

    proofs = RecordedRun() if budget == "smoke" else None  # as in verify: a block depends on what it took from there
    cases = Suite(specs, budget, seed, source or PAPERS, proofs).cases(spec)
    hashes = [case.evidence_hash for case in cases]
    work = [job for case in cases for job in case.jobs]
    evidence = [digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs]
    blocks = BlockCache(store, work, evidence)
    checks = stored_results(work, blocks)
    if not checks:
        return None
    results = judged(specs, cases, by_case(cases, checks), hashes)
    info = RunInfo(
        versions=versions(),
        seed=seed,
        budget=budget,
        commit=commit(),
        machine=machine(),
        false_alarm=false_alarm(results),
        from_store=blocks.reused,
    )
    return Run(run=info, papers={spec.paper: specs.papers[spec.paper].info}, results=results)
