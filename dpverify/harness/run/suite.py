"""What is to be judged of each claim: the checks that apply under each choice of its readings, with their shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpverify.harness.budget import Shares, budget_named, shares
from dpverify.harness.context import Context
from dpverify.harness.run.hashes import evidence_hash
from dpverify.harness.run.judge import judge
from dpverify.harness.run.registry import PAPERS, Entry, PaperChecks, load_checks, recorded_share
from dpverify.harness.run.tasks import Job
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.results import CheckResult, Result
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Statement


@dataclass(frozen=True)
class Case:
    """A claim under one choice of its readings, with the checks that apply."""

    claim: ClaimSpec
    reading: dict[str, str]  # the choice
    printed: tuple[Job, ...]  # checks of the printed statement and of the corrected one
    amended: tuple[Job, ...]
    # the record's hash, with the text of the amendment where there is one; both with the domains of their symbols
    judged: str
    modules: tuple[str, ...]  # where the checks are from

    @property
    def evidence_hash(self) -> str:
        """Hash of the record, the amendment, and the code of the checks; made when asked for: it reads many files."""
        return evidence_hash(self.judged, self.modules)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All checks, of the printed statement first."""
        return (*self.printed, *self.amended)

    def result(self, found: Sequence[CheckResult], evidence: str) -> Result:
        """Judge what the jobs found."""
        middle = len(self.printed)
        return judge(self.claim, self.reading, found[:middle], found[middle:], evidence)


class Suite:
    """The checks of all claims of some specs, with one seed and one budget, imported as claims are asked for."""

    def __init__(self, specs: Specs, budget: str, seed: int, source: str = PAPERS) -> None:
        if seed < 0:
            raise ValueError(f"seed must be at least 0, got seed={seed}.")
        self.specs, self.budget, self.seed, self.source = specs, budget_named(budget), seed, source
        self._checks: dict[str, PaperChecks | None] = {}
        self._cases: dict[str, list[Case]] = {}
        share = recorded_share(source, budget)
        self.shares = self.computed_shares() if share is None else Shares(share, math.inf)

    def computed_shares(self) -> Shares:
        """Share the budget out by what all checks of all papers declare; this imports them all."""
        every = (job for claim in self.specs.claims() for case in self._open(claim) for job in case.jobs)
        jobs = [job for job in every if job.due]
        divisible = [_cost(job) for job in jobs if job.find().divisible]
        whole = [_cost(job) for job in jobs if not job.find().divisible]
        return shares(divisible, whole, self.budget.seconds)

    def cases(self, claim: ClaimSpec) -> list[Case]:
        """List what is to be judged of a claim. One per choice of its readings."""
        return [
            replace(case, printed=self._shared(case.printed), amended=self._shared(case.amended))
            for case in self._open(claim)
        ]

    def _open(self, claim: ClaimSpec) -> list[Case]:
        """Cases of a claim, without their shares."""
        if claim.key not in self._cases:
            self._cases[claim.key] = self._cases_of(claim, math.inf)
        return self._cases[claim.key]

    def _checks_of(self, paper: str) -> PaperChecks | None:
        if paper not in self._checks:
            self._checks[paper] = checks = load_checks(self.source, paper)
            if checks is not None:
                _known_claims_only(self.specs, paper, checks)
        return self._checks[paper]

    def _shared(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        return tuple(replace(job, context=replace(job.context, share=self._share(job))) for job in jobs)

    def _share(self, job: Job) -> float:
        return self.shares.divisible if job.find().divisible else self.shares.whole

    def _cases_of(self, claim: ClaimSpec, share: float) -> list[Case]:
        checks = self._checks_of(claim.paper)
        entries = [] if checks is None else checks.entries(claim.record.id)
        cases = []
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            amendment = None if verdict is None else verdict.amendment
            printed = self._jobs(claim, claim.statement(reading), entries, share)
            amended: tuple[Job, ...] = ()
            judged = claim.record_hash
            if amendment is not None:
                amended = self._jobs(claim, claim.statement(reading, "amended"), entries, share)
                judged += claim.text(amendment)
            used = {job.check for job in (*printed, *amended)}
            modules = tuple(entry.module for entry in entries if entry.check.name in used)
            cases.append(Case(claim, reading, printed, amended, judged, modules))
        return cases

    def _jobs(self, claim: ClaimSpec, statement: Statement, entries: list[Entry], share: float) -> tuple[Job, ...]:
        return tuple(
            Job(
                self.source,
                claim.paper,
                claim.record.id,
                entry.check.name,
                Context(statement, self.budget, self.seed, entry.check.name, share=share),
            )
            for entry in entries
            if entry.check.applies(statement)
        )


def _known_claims_only(specs: Specs, key: str, checks: PaperChecks) -> None:
    for claim in sorted(checks.claims() - specs.papers[key].claims.keys()):
        for check in checks.of(claim):
            raise ValueError(f"claim of check {check.name!r} must be one of {key}, got claim={claim!r}.")


def _cost(job: Job) -> float:
    try:
        return job.find().cost(job.context) if job.due else 0.0
    except Exception:  # noqa: BLE001  a check that cannot be planned costs nothing; running it reports its error
        return 0.0


def declared(jobs: Sequence[Job]) -> float:
    """Core seconds that checks declare to take within their shares.

    A sum; a check that cannot be planned counts nothing.
    """
    return math.fsum(min(_cost(job), job.context.share) for job in jobs)
