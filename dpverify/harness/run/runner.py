"""Judge claims: run their checks, and put together what follows from what they find."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress

from dpverify.harness.evidence.code_cache import keep_new_code
from dpverify.harness.finished.whole_run import WholeRun
from dpverify.harness.recorded_proof import RecordedRun
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.engine import ReportRun, run_jobs, stopped
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.harness.run.renewal import EarlierResults, marked
from dpverify.harness.run.sources import PAPERS
from dpverify.harness.run.store import KeptBlocks, Store
from dpverify.harness.run.suite import Suite, by_case, declared, judged
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.results import CheckResult, Result, Run, RunInfo
from dpverify.ledger.specs import Specs

SECONDS_FOR_WORKERS = 10.0  # declared core seconds from which workers save more time than their start takes, 2 s each


def false_alarm(results: Sequence[Result]) -> float:
    """Chance that any red in some results is false. At most this: the alphas of all simulations, added up."""
    return math.fsum(check.alpha for result in results for check in result.all_checks if check.n > 0)


def verify(
    specs: Specs,
    claims: Sequence[ClaimSpec] | None = None,
    budget: str = "smoke",
    seed: int = 0,
    jobs: int = 1,
    progress: ReportRun | None = None,
    source: str = PAPERS,
    spare: bool = False,
    early: Executor | None = None,
    proofs: RecordedRun | None = None,
    store: Store | None = None,
    fresh: bool = False,
    cluster: Cluster | None = None,
    limit: float = 0.0,
    known: Mapping[str, CheckResult | str] | None = None,
    stop: bool = False,
    whole: WholeRun | None = None,
    renew: RecordedRun | None = None,
) -> Run:
    """Judge claims, or all, with the checks of a ``source``, as sources.py says; all checks share the budget.

    ``spare``: start no workers where that takes longer than the work. ``early``: a worker process that was started
    already, and is shut down where others are. ``proofs``: as for `Suite`. ``store``: keeps
    what each block gave, and gives what is there already unless the run is to be ``fresh``. ``cluster``: whose workers
    run the blocks. ``limit``, ``known``: as for `run_jobs`. ``stop``: run no check, as after Ctrl-C. ``whole``: keeps
    the run in the store once all is decided. ``renew``: a report of which each verdict stands whose evidence has not
    changed; only the others are judged.
    Results come in order; after Ctrl-C, what was decided so far.
    """
    start = time.perf_counter()
    suite = Suite(specs, budget, seed, source, proofs, known or {})
    cases = [case for claim in (specs.claims() if claims is None else claims) for case in suite.cases(claim)]
    work = [job for case in cases for job in case.jobs]
    hashes = [case.evidence_hash for case in cases]  # now: later, Ctrl-C would cost the verdicts
    standing = EarlierResults(renew, budget)
    earlier = [standing.take(case, digest) for case, digest in zip(cases, hashes, strict=True)]
    known = {**standing.known, **(known or {})}
    workers = 1 if spare and jobs > 1 and declared(work, known) < SECONDS_FOR_WORKERS else jobs
    if (workers > 1 or limit > 0.0) and early is not None:  # it would do nothing, and hold memory
        with suppress(OSError):  # Python 3.11 may close the pool's pipe first where the process has just died
            early.shutdown(wait=False, cancel_futures=True)
        early = None
    evidence = [digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs]
    kept_blocks = None if store is None else KeptBlocks(store, work, evidence, fresh)
    if stop:
        found = [stopped(job, known) for job in work]
        interrupted = True
    else:
        found, interrupted = run_jobs(work, workers, progress, early, kept_blocks, cluster, limit, known)
    results = list(map(marked, judged(specs, cases, by_case(cases, found), hashes), earlier))
    info = RunInfo(
        versions=versions(),
        seed=seed,
        budget=budget,
        commit=commit(),
        machine=machine(),
        seconds=round(time.perf_counter() - start, 3),
        interrupted=interrupted,
        false_alarm=false_alarm(results),
        from_store=kept_blocks.taken if kept_blocks else 0,
        stale_in_store=kept_blocks.stale if kept_blocks else 0,
        earlier=standing.manifests,
    )
    papers = {case.claim.paper: specs.papers[case.claim.paper].info for case in cases}
    run = Run(run=info, papers=papers, results=results)
    keep_new_code()
    if whole is not None and kept_blocks is not None and kept_blocks.whole is not None and not interrupted:
        whole.keep(kept_blocks.store, run, kept_blocks.whole)
    return run
