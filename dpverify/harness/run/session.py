"""What a session of pytest finds of the claims of one specs folder, check by check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from dpverify.cache_files import default_store
from dpverify.harness.finished.exit_code import unconfirmed
from dpverify.harness.recorded_proof import RecordedRun
from dpverify.harness.run.engine import run_jobs
from dpverify.harness.run.store import BlockCache, Store
from dpverify.harness.run.store_file import StoreError
from dpverify.harness.run.suite import JudgedReading, Suite, judged, with_recorded
from dpverify.harness.run.tasks import Job
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult


class SessionEvidence:
    """What the checks of one specs folder found so far in this session; each check runs once.

    Where the store of ``dpverify verify`` has what a check gives, it is taken from there, and kept there otherwise.
    """

    def __init__(self, directory: Path, source: str, budget: str, seed: int, fresh: bool) -> None:
        self.directory = directory
        self.budget = budget
        self.seed = seed
        self.fresh = fresh
        self.proofs = RecordedRun() if budget == "smoke" and not fresh else None
        self.suite = Suite(load_specs(directory), budget, seed, source)
        self.untested: list[str] = []
        self.unpinned: list[str] = []  # what was found of claims without a pin, where their papers are not strict
        self.looked_at: list[tuple[str, JudgedReading, list[CheckResult]]] = []  # of every pin: item, case, findings
        self.reused = 0  # checks from the store
        self.without_store = ""  # why there is none, or none any more
        self._found: dict[str, CheckResult] = {}

    def check(self, job: Job, case: JudgedReading) -> CheckResult:
        """Run a check of a case, unless it ran before."""
        if job.label not in self._found:
            job = self._with_recorded(job, case)
            store = self._store
            cache = None if store is None else BlockCache(store, [job], [case.evidence_hash], self.fresh)
            (result,), interrupted = run_jobs([job], 1, cache=cache)
            if interrupted:
                raise KeyboardInterrupt
            if cache is not None:
                self.reused += cache.reused
                self.without_store = cache.store.failure
            self._found[job.label] = result
        return self._found[job.label]

    def _with_recorded(self, job: Job, case: JudgedReading) -> Job:
        """Return the job with its recorded result. Not at collection: the evidence hash reads many source files."""
        if self.proofs is None:
            return job
        jobs = with_recorded(case, self.proofs, self.suite.specs).jobs
        return next(recorded for recorded in jobs if recorded.label == job.label)

    @cached_property
    def _store(self) -> Store | None:
        """The store of blocks; without it, nothing is lost but time."""
        try:
            return Store(default_store())
        except StoreError as error:
            self.without_store = str(error)
            return None

    def summary(self) -> Iterator[str]:
        """Lines for the end of the session."""
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
        """Pins that the checks do not confirm, judged together: proofs may rest on what others found."""
        names, cases, results_of_cases = zip(*self.looked_at, strict=True) if self.looked_at else ((), (), ())
        results = zip(names, judged(self.suite.specs, cases, results_of_cases, [""] * len(cases)), strict=True)
        return [
            f"{name} (pinned {judgement.pinned}, found {judgement.status})"
            for name, judgement in results
            if unconfirmed(judgement)
        ]
