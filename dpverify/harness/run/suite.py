"""The checks that judge each claim, under each choice of its readings, with their shares of the budget."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import get_args

from dpverify.foreign import ForeignError, foreign_code
from dpverify.harness.checks import Check, Context, Shares, budget_named, shares
from dpverify.harness.derivation_check import NAME, TextProof, has_text
from dpverify.harness.evidence.hashes import evidence_hash
from dpverify.harness.evidence.source_code import CheckPlace
from dpverify.harness.recorded_proof import (
    CertificateFile,
    RecordedRun,
    StoredCertificates,
    certificate_name,
)
from dpverify.harness.run.judge import judge, on_witnesses, without_proof
from dpverify.harness.run.registry import Entry, PaperChecks
from dpverify.harness.run.sources import PAPERS, entries_of, load_checks, recorded_share
from dpverify.harness.run.status import settle
from dpverify.harness.run.tasks import STAGE_SEPARATOR, Job
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import SpecError, shown
from dpverify.ledger.records import SEVERITIES, Status, Verdict
from dpverify.ledger.results import Result
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Reference, Statement, Variant
from dpverify.ledger.trivial import identical_sides

WRITER = "dpverify.symbolic.certify.certificates"
"""Module that writes certificates. Its code is part of the evidence of a certificate."""


@dataclass(frozen=True)
class JudgedReading:
    """A claim under one choice of its readings, with the checks that apply."""

    claim: ClaimSpec
    reading: dict[str, str]  # the choice of readings
    printed: tuple[
        Job, ...
    ]  # checks of the printed statement, of the corrected one, and of the printed one where it holds
    amended: tuple[Job, ...]
    made_at: tuple[CheckPlace, ...]  # where the checks are created
    held: tuple[Job, ...] = ()

    @property
    def evidence_hash(self) -> str:
        """Hash of all judged or cited records and of the checks' code. Computing it reads many files."""
        verdict = self.claim.verdict(self.reading)
        judged = self.claim.record_hash + "".join(
            map(self.claim.text, verdict.beside if verdict else ())
        )
        judged += "".join(claim.corrected_hash for claim in self.claim.below.values())
        if any(job.find().method == "derivation" for job in self.jobs):
            judged += self.claim.glossary.digest + self.claim.proofs.digest(
                self.claim.record.id
            )
        return evidence_hash(judged, self.made_at)

    @property
    def certificate_evidence(self) -> str:
        """Hash of everything that the statements' certificates depend on, with versions of sympy and python-flint."""
        code = replace(self, made_at=(*self.made_at, CheckPlace(WRITER))).evidence_hash
        return "-".join([code, version("sympy"), version("python-flint")])

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All checks, those of the printed statement first."""
        return (*self.printed, *self.amended, *self.held)

    def results_by_statement(
        self, results: Sequence[CheckResult]
    ) -> dict[str, Sequence[CheckResult]]:
        """Group the results of the jobs by statement, named as in references."""
        first = len(self.printed)
        second = len(self.printed) + len(self.amended)
        parts: dict[Variant, Sequence[CheckResult]] = {
            "printed": _judgeable(self.printed, results[:first]),
            "amended": _judgeable(self.amended, results[first:second]),
            "held": _judgeable(self.held, results[second:]),
        }
        return {self._name(variant): checks for variant, checks in parts.items()}

    def result(
        self, settled: Mapping[str, Sequence[CheckResult]], evidence: str
    ) -> Result:
        """Judge the results for the statements, whose premises are already settled."""
        printed, amended, held = (
            settled[self._name(variant)] for variant in get_args(Variant)
        )
        return judge(self.claim, self.reading, printed, amended, evidence, held)

    def _name(self, variant: Variant) -> str:
        return str(
            Reference(claim=self.claim.key, reading=self.reading, variant=variant)
        )


def _judgeable(
    jobs: Sequence[Job], results: Sequence[CheckResult]
) -> Sequence[CheckResult]:
    """Return the results of the jobs of one statement.

    A result that it holds is discarded if both of its sides are the same formula, and weakened if the statement is
    about all mechanisms.
    """
    if not jobs:
        return results
    statement = jobs[0].context.statement
    sides = identical_sides(statement)
    judged_results = (
        [without_proof(check, sides) for check in results] if sides else results
    )
    if not statement.witnesses:
        return judged_results
    return [on_witnesses(check, statement.witnesses) for check in judged_results]


class Suite:
    """The checks of all claims of some specs, with one seed and one budget. They are imported on demand.

    ``proofs``: recorded derivations that are reused if nothing has changed since; their certificates are checked.
    ``failed``: labels of checks whose cost is not computed. ``certificates``: reused and checked if nothing has changed
    since they were written; the steps of the derivations are evaluated in any case.
    """

    def __init__(
        self,
        specs: Specs,
        budget: str,
        seed: int,
        source: str = PAPERS,
        proofs: RecordedRun | None = None,
        failed: Container[str] = (),
        certificates: StoredCertificates | None = None,
    ) -> None:
        if seed < 0:
            raise ValueError(f"seed must be at least 0, got seed={seed}.")
        self.specs, self.budget, self.seed, self.source = (
            specs,
            budget_named(budget),
            seed,
            source,
        )
        self._checks: dict[str, PaperChecks | None] = {}
        self.proofs = proofs
        self.failed = failed
        self.certificates = certificates
        if source != PAPERS and not any(map(self._has_checks, specs.papers)):
            papers = ", ".join(specs.papers)
            raise SpecError(
                "checks",
                "",
                "",
                shown(source),
                f"it must have checks of a paper of the specs ({papers})",
            )
        self.shares = Shares(math.inf, math.inf)  # while the shares are computed
        share = recorded_share(source, budget)
        self.shares = (
            self.computed_shares() if share is None else Shares(share, math.inf)
        )

    def computed_shares(self) -> Shares:
        """Share the budget by the declared costs of all checks of all papers, which imports all of them."""
        jobs = [
            job
            for claim in self.specs.claims()
            for case in self.cases(claim)
            for job in case.jobs
            if job.is_due
        ]
        divisible = [_cost(job, self.failed) for job in jobs if job.find().divisible]
        costs = [_cost(job, self.failed) for job in jobs if not job.find().divisible]
        return shares(divisible, costs, self.budget.seconds)

    def cases(self, claim: ClaimSpec) -> list[JudgedReading]:
        """Return one case for each choice of a claim's readings."""
        checks = self._checks_of(claim.paper)
        entries = entries_of(checks, claim.record.id)
        cases = []
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            printed = self._jobs(
                claim, claim.statement(reading), entries, _rank(verdict)
            )
            amended = tuple[Job, ...]()
            held = tuple[Job, ...]()
            if verdict is not None and verdict.amendment is not None:
                amended = self._jobs(
                    claim, claim.statement(reading, "amended"), entries
                )
            if verdict is not None and verdict.holds is not None:
                held = self._jobs(claim, claim.statement(reading, "held"), entries)
            used = {job.check for job in (*printed, *amended, *held)}
            made_at = tuple(
                entry.place for entry in entries if entry.check.name in used
            )
            case = JudgedReading(claim, reading, printed, amended, made_at, held)
            if self.certificates is not None:
                case = with_certificates(case, self.certificates, self.specs)
            cases.append(
                case
                if self.proofs is None
                else with_recorded(case, self.proofs, self.specs)
            )
        return cases

    def _checks_of(self, paper: str) -> PaperChecks | None:
        """Load the checks of a paper. Raises a SpecError if the specs lack a claim that a check judges."""
        if paper not in self._checks:
            self._checks[paper] = checks = load_checks(self.source, paper)
            missing = (
                []
                if checks is None
                else sorted(checks.claims() - self.specs.papers[paper].claims.keys())
            )
            if checks is not None and missing:
                entries = checks.entries(missing[0])
                names = ", ".join(repr(entry.check.name) for entry in entries)
                rule = f"{paper} must have the claim {missing[0]!r}, which the check {names} judges"
                raise SpecError(entries[0].place.module, "", "", "", rule)
        return self._checks[paper]

    def _has_checks(self, paper: str) -> bool:
        checks = self._checks_of(paper)
        return checks is not None and bool(checks.claims())

    def _jobs(
        self,
        claim: ClaimSpec,
        statement: Statement,
        entries: list[Entry],
        rank: int = len(SEVERITIES),
    ) -> tuple[Job, ...]:
        jobs = []
        for check, _ in entries:
            if _applies(check, statement):
                share = self.shares.divisible if check.divisible else self.shares.whole
                context = Context(
                    statement, self.budget, self.seed, check.name, share=share
                )
                jobs.append(
                    Job(
                        self.source,
                        claim.paper,
                        claim.record.id,
                        check.name,
                        context,
                        rank,
                    )
                )
        if has_text(statement) and not any(
            isinstance(job.find(), TextProof) for job in jobs
        ):
            rule = f"{statement.reference} has a proof in proofs.toml, and a check of another kind named {NAME!r}"
            raise SpecError("checks", "", "", "", rule)
        return tuple(jobs)


def with_recorded(
    case: JudgedReading, proofs: RecordedRun, specs: Specs
) -> JudgedReading:
    """Give each check its recorded result or proof, if this can be confirmed instead of computed again."""
    evidence = case.evidence_hash

    def with_record(job: Job) -> Job:
        statement = job.context.statement
        derives = job.find().method == "derivation"
        result = proofs.result(case.claim, statement, job.check, evidence)
        if result is None:
            return job
        proof = proofs.proof(specs.directory, statement, result) if derives else None
        recorded = result if not derives and result.status == "refuted" else None
        return replace(
            job, context=replace(job.context, proof=proof, recorded=recorded)
        )

    return replace(
        case,
        printed=tuple(map(with_record, case.printed)),
        amended=tuple(map(with_record, case.amended)),
        held=tuple(map(with_record, case.held)),
    )


def with_certificates(
    case: JudgedReading, certificates: StoredCertificates, specs: Specs
) -> JudgedReading:
    """Give the derivation of each statement its stored certificate, if nothing has changed since it was written.

    If two derivations judge a statement, its certificate is not used, because it does not say to which of them it
    belongs.
    """

    def with_certificate(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        if sum(job.find().method == "derivation" for job in jobs) != 1:
            return jobs
        statement = jobs[0].context.statement
        name = certificate_name(statement.key, statement.reading, statement.variant)
        path = (
            certificates.find(name, case.certificate_evidence)
            if name in certificates.evidence
            else None
        )
        if path is None:
            return jobs
        file = CertificateFile(path, statement.reference, specs.directory)
        return tuple(
            replace(job, context=replace(job.context, certificate=file))
            if job.find().method == "derivation"
            else job
            for job in jobs
        )

    return replace(
        case,
        printed=with_certificate(case.printed),
        amended=with_certificate(case.amended),
        held=with_certificate(case.held),
    )


def results_by_case(
    cases: Sequence[JudgedReading], results: Sequence[CheckResult]
) -> list[list[CheckResult]]:
    """Group the results of the jobs by case. The results are in the order of the cases."""
    remaining = iter(results)
    return [[next(remaining) for _ in case.jobs] for case in cases]


def judged(
    specs: Specs,
    cases: Sequence[JudgedReading],
    results: Sequence[Sequence[CheckResult]],
    evidence: Sequence[str],
) -> list[Result]:
    """Judge the results of all cases together, because a proof may depend on a statement that another case proves."""

    def pinned(reference: Reference) -> Status:
        return specs.claim(reference.claim).pinned(reference.reading, reference.variant)

    parts = (
        case.results_by_statement(checks)
        for case, checks in zip(cases, results, strict=True)
    )
    by_name = {name: checks for part in parts for name, checks in part.items()}
    settled = settle(by_name, pinned)
    return [
        case.result(settled, digest)
        for case, digest in zip(cases, evidence, strict=True)
    ]


def _applies(check: Check, statement: Statement) -> bool:
    name = f"applies of the check {check.name!r} of {statement.key}"
    try:
        with foreign_code(name):
            return bool(check.applies(statement))
    except ForeignError as error:
        raise SpecError("checks", "", "", shown(name), f"it {error.reason}") from error


def _rank(verdict: Verdict | None) -> int:
    """Return the rank of the printed statement in the order of the run: refuted statements first, by severity."""
    severity = None if verdict is None else verdict.severity
    return len(SEVERITIES) if severity is None else list(SEVERITIES).index(severity)


def _cost(job: Job, known_labels: Container[str] = ()) -> float:
    """Return the declared core seconds of a check, or 0 if it cannot be planned or its result is known."""
    if job.label in known_labels:
        return 0.0
    try:
        with foreign_code(f"cost{STAGE_SEPARATOR}{job.label}"):
            cost = float(job.find().cost(job.context)) if job.is_due else 0.0
    except ForeignError:  # running the check reports its error
        return 0.0
    return 0.0 if math.isnan(cost) else cost


def declared_seconds(jobs: Sequence[Job], known_labels: Container[str] = ()) -> float:
    """Return the declared core seconds of checks within their shares. A check that cannot be planned counts as 0."""
    return math.fsum(min(_cost(job, known_labels), job.context.share) for job in jobs)
