"""Judge claims: run their checks, reuse results whose evidence has not changed, and combine the results."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress

import msgspec

from dpverify.harness.evidence.code_cache import keep_new_code
from dpverify.harness.finished.whole_run import WholeRun
from dpverify.harness.recorded_proof import RecordedRun, StoredCertificates
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.engine import ReportRun, run_jobs, stopped
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.harness.run.sources import PAPERS
from dpverify.harness.run.store import BlockCache, Store
from dpverify.harness.run.suite import JudgedReading, Suite, by_case, declared, judged
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.results import CheckResult, Result, Run, RunInfo
from dpverify.ledger.specs import Specs


class EarlierResults:
    """Results of checks that stand, by their labels, and the manifests of the runs that they are from."""

    def __init__(self, report: RecordedRun | None, budget: str) -> None:
        self.known: dict[str, CheckResult] = {}
        self.manifests: list[RunInfo] = []
        self._report = report
        self._budget = budget

    def take(self, case: JudgedReading, evidence: str) -> int:
        """Take the results of all checks of a case, if they stand. The place of their run among the manifests, or 0."""
        report = self._report
        manifest = None if report is None else report.manifest(case.claim, case.reading)
        if report is None or manifest is None or not self._is_of_today(manifest):
            return 0
        checks_by_label = {
            job.label: report.result(case.claim, job.context.statement, job.check, evidence) for job in case.jobs
        }
        standing = {label: check for label, check in checks_by_label.items() if check is not None and not check.error}
        if not checks_by_label or len(standing) < len(checks_by_label):
            return 0
        self.known |= standing
        if manifest not in self.manifests:
            self.manifests.append(manifest)
        return 1 + self.manifests.index(manifest)

    def _is_of_today(self, manifest: RunInfo) -> bool:
        complete = not manifest.interrupted
        return complete and manifest.budget == self._budget and manifest.versions == versions()


def marked(result: Result, earlier: int) -> Result:
    """Return a result with the place of its run among the earlier ones."""
    return msgspec.structs.replace(result, earlier=earlier)


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
    known_results: Mapping[str, CheckResult | str] | None = None,
    stop: bool = False,
    whole_run: WholeRun | None = None,
    renew: RecordedRun | None = None,
) -> Run:
    """Judge claims, or all, with the checks of a ``source``, as sources.py says; all checks share the budget.

    ``spare``: start no workers where that takes longer than the work. ``early``: a worker process that was started
    already, and is shut down where others are. ``proofs``: as for `Suite`. ``store``: keeps
    what each block gave, and gives what is there already unless the run is to be ``fresh``. ``cluster``: whose workers
    run the blocks. ``limit``, ``known_results``: as for `run_jobs`. ``stop``: run no check, as after Ctrl-C.
    ``whole_run``: keeps the run in the store once all is decided. ``renew``: a report of which each verdict stands
    whose evidence has not changed; only the others are judged. Results come in order; after Ctrl-C, what was
    decided so far.
    """
    start = time.perf_counter()
    certificates = None if fresh else StoredCertificates.read()
    suite = Suite(specs, budget, seed, source, proofs, known_results or {}, certificates)
    cases = [case for claim in (specs.claims() if claims is None else claims) for case in suite.cases(claim)]
    work = [job for case in cases for job in case.jobs]
    hashes = [case.evidence_hash for case in cases]  # now: later, Ctrl-C would cost the verdicts
    standing = EarlierResults(renew, budget)
    earlier = [standing.take(case, digest) for case, digest in zip(cases, hashes, strict=True)]
    known_results = {**standing.known, **(known_results or {})}
    workers = 1 if spare and jobs > 1 and declared(work, known_results) < SECONDS_FOR_WORKERS else jobs
    if (workers > 1 or limit > 0.0) and early is not None:  # it would do nothing, and hold memory
        with suppress(OSError):  # Python 3.11 may close the pool's pipe first where the process has just died
            early.shutdown(wait=False, cancel_futures=True)
        early = None
    evidence = [digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs]
    cache = None if store is None else BlockCache(store, work, evidence, fresh)
    if stop:
        results_of_jobs = [stopped(job, known_results) for job in work]
        interrupted = True
    else:
        results_of_jobs, interrupted = run_jobs(work, workers, progress, early, cache, cluster, limit, known_results)
    results = list(map(marked, judged(specs, cases, by_case(cases, results_of_jobs), hashes), earlier))
    info = RunInfo(
        versions=versions(),
        seed=seed,
        budget=budget,
        commit=commit(),
        machine=machine(),
        seconds=round(time.perf_counter() - start, 3),
        interrupted=interrupted,
        false_alarm=false_alarm(results),
        from_store=cache.reused if cache else 0,
        stale_in_store=cache.stale if cache else 0,
        earlier=standing.manifests,
    )
    papers = {case.claim.paper: specs.papers[case.claim.paper].info for case in cases}
    run = Run(run=info, papers=papers, results=results)
    keep_new_code()
    if whole_run is not None and cache is not None and cache.whole is not None and not interrupted:
        whole_run.keep(cache.store, run, cache.whole)
    return run
