"""Judge claims: run their checks, reuse results whose evidence has not changed, and combine the results.

``verify`` judges claims in this process. ``verify_apart`` judges claims whose checks are foreign code in a separate
process, because such code may end or stop its process. Blocks run in worker processes in any case. All other calls of a
check (import, cost, plan, fold and finish) run in that separate process. If one of them ends the process or does not
return, the check gets an error with that message, and the run continues in a new process with the results so far.
``SessionEvidence`` judges the claims of one specs folder check by check, for a pytest session.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from dpverify.apart import run_apart, tell
from dpverify.cache_files import default_store
from dpverify.foreign import ForeignError, check_originals, raise_lost_interrupt
from dpverify.harness.evidence.source_code import keep_new_code
from dpverify.harness.finished import WholeRun, is_unconfirmed
from dpverify.harness.recorded_proof import RecordedRun, StoredCertificates
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.engine import Progress, ReportRun, run_jobs, stopped
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.harness.run.sources import PAPERS
from dpverify.harness.run.store import BlockCache, Store
from dpverify.harness.run.store_file import StoreError
from dpverify.harness.run.suite import (
    JudgedReading,
    Suite,
    declared_seconds,
    judged,
    results_by_case,
    with_recorded,
)
from dpverify.harness.run.tasks import STAGE_SEPARATOR, Job
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import SpecError, shown
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import Result, Run, RunInfo
from dpverify.ledger.specs import Specs


class EarlierResults:
    """Earlier results of checks that are still valid, by their labels, and the manifests of their runs."""

    def __init__(self, report: RecordedRun | None, budget: str) -> None:
        self.known: dict[str, CheckResult] = {}
        self.manifests: list[RunInfo] = []
        self._report = report
        self._budget = budget

    def reuse(self, case: JudgedReading, evidence: str) -> int:
        """Reuse the results of all checks of a case if all are still valid.

        Returns the place of their run among the manifests, counted from 1, or 0 if the case must be judged.
        """
        report = self._report
        manifest = None if report is None else report.manifest(case.claim, case.reading)
        if report is None or manifest is None or not self._is_reusable(manifest):
            return 0
        checks_by_label = {
            job.label: report.result(
                case.claim, job.context.statement, job.check, evidence
            )
            for job in case.jobs
        }
        standing = {
            label: check
            for label, check in checks_by_label.items()
            if check is not None and not check.error
        }
        if not checks_by_label or len(standing) < len(checks_by_label):
            return 0
        self.known |= standing
        if manifest not in self.manifests:
            self.manifests.append(manifest)
        return 1 + self.manifests.index(manifest)

    def _is_reusable(self, manifest: RunInfo) -> bool:
        complete = not manifest.interrupted
        return (
            complete
            and manifest.budget == self._budget
            and manifest.versions == versions()
        )


def with_earlier_run(result: Result, earlier: int) -> Result:
    """Return a result with the number of the earlier run that produced it."""
    return msgspec.structs.replace(result, earlier=earlier)


# Declared core seconds from which workers save
# more time than starting them takes, 2 s each.
SECONDS_FOR_WORKERS = 10.0


def false_alarm(results: Sequence[Result]) -> float:
    """Return an upper bound of the probability that any refutation or disagreement in some results is a false alarm.

    It is the sum of the alphas of all simulations.
    """
    return math.fsum(
        check.alpha for result in results for check in result.all_checks if check.n > 0
    )


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
    """Judge claims, or all claims, with the checks of a ``source`` (see sources.py). All checks share the budget.

    ``spare``: start no workers if that takes longer than the work. ``early``: a worker process that is already running;
    it is shut down if other workers are used. ``proofs``: as for `Suite`. ``store``: stores the outcome of each block,
    and provides stored outcomes unless the run is ``fresh``. ``cluster``: its workers run the blocks. ``limit``,
    ``known_results``: as for `run_jobs`. ``stop``: run no check, as after Ctrl-C. ``whole_run``: stores the run if all
    is decided. ``renew``: a report whose verdicts are kept if their evidence has not changed; only the other claims are
    judged. Results are in order. After Ctrl-C, they cover what was decided so far.
    """
    start = time.perf_counter()
    certificates = None if fresh else StoredCertificates.read()
    suite = Suite(
        specs, budget, seed, source, proofs, known_results or {}, certificates
    )
    cases = [
        case
        for claim in (specs.claims() if claims is None else claims)
        for case in suite.cases(claim)
    ]
    work = [job for case in cases for job in case.jobs]
    # computed now, because Ctrl-C during a later computation would lose the verdicts
    hashes = [case.evidence_hash for case in cases]
    standing = EarlierResults(renew, budget)
    earlier = [
        standing.reuse(case, digest) for case, digest in zip(cases, hashes, strict=True)
    ]
    known_results = {**standing.known, **(known_results or {})}
    workers = (
        1
        if spare
        and jobs > 1
        and declared_seconds(work, known_results) < SECONDS_FOR_WORKERS
        else jobs
    )
    # it would be idle, and use memory
    if (workers > 1 or limit > 0.0) and early is not None:
        # Python 3.11 may close the pool's pipe first if the process has just died
        with suppress(OSError):
            early.shutdown(wait=False, cancel_futures=True)
        early = None
    evidence = [
        digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs
    ]
    cache = None if store is None else BlockCache(store, work, evidence, fresh)
    if stop:
        results_of_jobs = [stopped(job, known_results) for job in work]
        interrupted = True
    else:
        results_of_jobs, interrupted = run_jobs(
            work, workers, progress, early, cache, cluster, limit, known_results
        )
    results = list(
        map(
            with_earlier_run,
            judged(specs, cases, results_by_case(cases, results_of_jobs), hashes),
            earlier,
        )
    )
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
    if (
        whole_run is not None
        and cache is not None
        and cache.whole is not None
        and not interrupted
    ):
        whole_run.save(cache.store, run, cache.whole)
    return run


KnownResults: TypeAlias = dict[str, CheckResult | str]
"""Results and errors of checks, by their labels."""

STAGES = ("cost", "plan", "fold", "finish")


def verify_apart(
    limit: float,
    *,
    progress: ReportRun | None,
    store: Store | None,
    cluster: Cluster | None,
    **options: Any,
) -> Run:
    """Judge claims as `verify` does, with a time limit in seconds for each call of foreign code."""
    known_results: KnownResults = {}
    stop = False
    while True:
        try:
            for message in run_apart(
                limit, _messages, limit, known_results, stop, store, cluster, options
            ):
                if isinstance(message, Run):
                    return message
                if isinstance(message, Progress):
                    if message.result is not None:
                        known_results[message.label] = message.result
                    if progress is not None:
                        progress(message)
                if isinstance(message, dict):
                    _record_failures(message, store, cluster)
            raise RuntimeError("the process that judges the claims gave no results")
        except ForeignError as error:
            stage, _, label = error.name.partition(STAGE_SEPARATOR)
            if stage not in STAGES or isinstance(known_results.get(label), str):
                raise SpecError(
                    "checks", "", "", shown(error.name), f"it {error.reason}"
                ) from error
            known_results[label] = str(error)
        except KeyboardInterrupt:  # foreign code did not return after Ctrl-C
            if stop:
                raise
            stop = True


def _record_failures(
    failures: dict[str, str], store: Store | None, cluster: Cluster | None
) -> None:
    if store is not None:
        store.failure = failures["store"]
    if cluster is not None:
        cluster.failure = failures["cluster"]


def _tell_progress(progress: Progress) -> None:
    tell(progress)
    raise_lost_interrupt()


def _messages(
    limit: float,
    known_results: KnownResults,
    stop: bool,
    store: Store | None,
    cluster: Cluster | None,
    options: dict[str, Any],
) -> Iterator[object]:
    """Judge the claims in this process. Report progress, failures of store and cluster, and the run."""
    run = verify(
        **options,
        progress=_tell_progress,
        store=store,
        cluster=cluster,
        limit=limit,
        known_results=known_results,
        stop=stop,
    )
    yield {
        "store": store.failure if store else "",
        "cluster": cluster.failure if cluster else "",
    }
    check_originals("checks")
    yield run


class SessionEvidence:
    """Results of the checks of one specs folder in this session. Each check runs once.

    Results are read from the store of ``dpverify verify`` if it has them, and stored there otherwise.
    """

    def __init__(
        self, directory: Path, source: str, budget: str, seed: int, fresh: bool
    ) -> None:
        self.directory = directory
        self.budget = budget
        self.seed = seed
        self.fresh = fresh
        self.proofs = RecordedRun() if budget == "smoke" and not fresh else None
        self.suite = Suite(load_specs(directory), budget, seed, source)
        self.untested: list[str] = []
        # results of claims without a pin, if their papers are not strict
        self.unpinned: list[str] = []
        # for every pin: test item, case, results
        self.looked_at: list[tuple[str, JudgedReading, list[CheckResult]]] = []
        self.reused = 0  # number of checks read from the store
        self.without_store = ""  # why there is no store, or no longer one
        self._found: dict[str, CheckResult] = {}

    def check(self, job: Job, case: JudgedReading) -> CheckResult:
        """Run a check of a case, unless it ran before."""
        if job.label not in self._found:
            job = self._with_recorded(job, case)
            store = self._store
            cache = (
                None
                if store is None
                else BlockCache(store, [job], [case.evidence_hash], self.fresh)
            )
            (result,), interrupted = run_jobs([job], 1, cache=cache)
            if interrupted:
                raise KeyboardInterrupt
            if cache is not None:
                self.reused += cache.reused
                self.without_store = cache.store.failure
            self._found[job.label] = result
        return self._found[job.label]

    def _with_recorded(self, job: Job, case: JudgedReading) -> Job:
        """Return the job with its recorded result.

        This is not done at collection, because the evidence hash reads many source files.
        """
        if self.proofs is None:
            return job
        jobs = with_recorded(case, self.proofs, self.suite.specs).jobs
        return next(recorded for recorded in jobs if recorded.label == job.label)

    @cached_property
    def _store(self) -> Store | None:
        """The store of blocks, or None. A run without it only takes longer."""
        try:
            return Store(default_store())
        except StoreError as error:
            self.without_store = str(error)
            return None

    def summary(self) -> Iterator[str]:
        """Yield lines for the end of the session."""
        if self.unpinned:
            yield f"{len(self.unpinned)} WITHOUT A PIN: {', '.join(self.unpinned)}"
        if self.untested:
            yield f"{len(self.untested)} claims, each under one reading, have no check and are untested"
        if weak := self.unconfirmed():
            yield f"{len(weak)} pins are not confirmed at this budget: {', '.join(weak)}"
        if self.reused:
            yield f"{self.reused} checks were taken from the store of evidence; --dpverify-fresh runs all anew"
        if self.without_store:
            yield f"the claims were judged without a store: {self.without_store}"
        alpha = sum(result.alpha for result in self._found.values() if result.n > 0)
        yield f"chance that any red among these simulations is false: at most {alpha:.2g}"

    def unconfirmed(self) -> list[str]:
        """Return the pins that the checks do not confirm.

        All are judged together, because proofs may depend on other results.
        """
        names, cases, results_of_cases = (
            zip(*self.looked_at, strict=True) if self.looked_at else ((), (), ())
        )
        results = zip(
            names,
            judged(self.suite.specs, cases, results_of_cases, [""] * len(cases)),
            strict=True,
        )
        return [
            f"{name} (pinned {judgement.pinned}, found {judgement.status})"
            for name, judgement in results
            if is_unconfirmed(judgement)
        ]
