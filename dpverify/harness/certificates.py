"""Certificates of the verdicts that derivations prove: which statements have one, and why the others have none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.run.suite import JudgedReading, Suite
from dpverify.harness.run.tasks import Job
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Variant

PROVED = ("proved", "proved given")


@dataclass(frozen=True)
class Certified:
    """One verdict that is pinned as proved, given premises or not, with its certificate or why it has none."""

    claim: str
    reading: dict[str, str]
    variant: Variant
    text: str | None  # the certificate as JSON
    reason: str = ""

    @property
    def file(self) -> str:
        """Name of the certificate's file."""
        words = [self.claim.replace(":", "-"), *self.reading.values(), self.variant]
        return "-".join(words) + ".json"


def certify_claims(specs: Specs, claims: Sequence[ClaimSpec]) -> Iterator[Certified]:
    """Yield every verdict of some claims that is pinned as proved, with its certificate where there is one."""
    suite = Suite(specs, "smoke", 0)
    for claim in claims:
        for case in suite.cases(claim):
            yield from _of_case(case)


def _of_case(case: JudgedReading) -> Iterator[Certified]:
    verdict = case.claim.verdict(case.reading)
    if verdict is None:
        return
    if verdict.status in PROVED:
        yield _certified(case, "printed", case.printed)
    if verdict.amendment is not None and verdict.amendment.status in PROVED:
        yield _certified(case, "amended", case.amended)


def _certified(case: JudgedReading, variant: Variant, jobs: Sequence[Job]) -> Certified:
    """Write the first certificate that one of a statement's derivations has."""
    from dpverify.symbolic.certify.certificates import certify
    from dpverify.symbolic.derive.define import reworded

    reasons = []
    for job in jobs:
        check = job.find()
        if not isinstance(check, DerivationCheck):
            continue
        statement = reworded(job.context.statement)
        found = certify(statement, check.build(statement), digest_of(case.claim, case.reading, variant))
        if found.data is not None:
            text = json.dumps(found.data, separators=(",", ":")) + "\n"
            return Certified(case.claim.key, case.reading, variant, text)
        reasons.append(found.reason)
    reason = "; ".join(reasons) or "there is no derivation: it was judged at finitely many points"
    return Certified(case.claim.key, case.reading, variant, None, reason)


def digest_of(claim: ClaimSpec, reading: dict[str, str], variant: Variant) -> str:
    """Hash of the record that a certificate is of, the amendment's where it is of that."""
    import hashlib

    verdict = claim.verdict(reading)
    amendment = verdict.amendment if verdict is not None and variant == "amended" else None
    text = claim.text(claim.record) + ("" if amendment is None else claim.text(amendment))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write(certified: Certified, directory: Path) -> Path | None:
    """Write a certificate into a folder, if there is one."""
    if certified.text is None:
        return None
    path = directory / certified.file
    path.write_text(certified.text, encoding="utf-8")
    return path
