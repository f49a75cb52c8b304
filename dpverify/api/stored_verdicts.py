"""The verdict on a claim from what ``dpverify verify`` kept in the store, without running a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.ledger import ClaimSpec, Specs
from dpverify.ledger.results import Run, RunInfo

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store


def stored_run_of_claim(specs: Specs, spec: ClaimSpec, store: Store, source: str | None = None) -> Run | None:
    """Judge a claim by blocks in the store, of the largest budget with all of them and today's evidence; else None."""
    from dpverify.harness.budget import BUDGETS

    budgets = list(BUDGETS)
    requests = [each for each in store.requests(f"{spec.key}[") if each[0] in budgets]
    ordered = sorted(requests, key=lambda request: (-budgets.index(request[0]), request[1]))
    runs = (_run(specs, spec, store, source, budget, seed) for budget, seed in ordered)
    return next((run for run in runs if run is not None), None)


def _run(specs: Specs, spec: ClaimSpec, store: Store, source: str | None, budget: str, seed: int) -> Run | None:
    from dpverify.harness.recorded_proof import RecordedRun
    from dpverify.harness.run.engine import stored_results
    from dpverify.harness.run.manifest import commit, machine, versions
    from dpverify.harness.run.runner import false_alarm
    from dpverify.harness.run.sources import PAPERS
    from dpverify.harness.run.store import KeptBlocks
    from dpverify.harness.run.suite import Suite, by_case, judged

    proofs = RecordedRun() if budget == "smoke" else None  # as in verify: a block depends on what it took from there
    cases = Suite(specs, budget, seed, source or PAPERS, proofs).cases(spec)
    hashes = [case.evidence_hash for case in cases]
    work = [job for case in cases for job in case.jobs]
    evidence = [digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs]
    kept = KeptBlocks(store, work, evidence)
    checks = stored_results(work, kept)
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
        from_store=kept.taken,
    )
    return Run(run=info, papers={spec.paper: specs.papers[spec.paper].info}, results=results)
