"""Certificates of the verdicts that derivations prove: which statements have one, and why the others have none.

``specs/proofs/without_certificate.toml`` lists every derivation without one, with the reason: it proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.recorded_proof import certificate_name, digest_of
from dpverify.harness.run.sources import PAPERS
from dpverify.harness.run.suite import JudgedReading, Suite
from dpverify.harness.run.tasks import Job
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.load import load_specs
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Reference, Variant
from dpverify.processes import process_pool

PROVED = ("proved", "proved given", "derived")


@dataclass(frozen=True)
class Certified:
    """One verdict that is pinned as proved, given premises or not, or as derived, with its certificate if any."""

    claim: str
    reading: dict[str, str]
    variant: Variant
    text: str | None  # the certificate as JSON
    reason: str = ""
    status: str = ""  # as it is pinned
    derived: bool = True  # whether a derivation judges it

    @property
    def name(self) -> str:
        """Which verdict it is, as references name it."""
        return str(Reference(claim=self.claim, reading=self.reading, variant=self.variant))

    @property
    def file(self) -> str:
        """Name of the certificate's file."""
        return certificate_name(self.claim, self.reading, self.variant)


_suites: list[Suite] = []  # of this process


def certify_claims(
    specs: Specs, claims: Sequence[ClaimSpec], jobs: int = 1, directory: Path | None = None, source: str = PAPERS
) -> Iterator[Certified]:
    """Yield every verdict of some claims that is pinned as proved or derived, with its certificate if any.

    ``jobs``: processes, each of which loads the specs of a ``directory`` anew. ``source``: of the checks.
    """
    keys = [claim.key for claim in claims]
    if jobs == 1:
        _suites[:] = [Suite(specs, "smoke", 0, source)]
        for key in keys:
            yield from _of_claim(key)
        return
    with process_pool(jobs, _load, (directory, source), wait=True) as pool:
        for found in pool.map(_of_claim, keys):
            yield from found


def _load(directory: Path | None, source: str) -> None:
    _suites[:] = [Suite(load_specs(directory), "smoke", 0, source)]


def _of_claim(key: str) -> list[Certified]:
    (suite,) = _suites
    return [found for case in suite.cases(suite.specs.claim(key)) for found in _of_case(case)]


def _of_case(case: JudgedReading) -> Iterator[Certified]:
    verdict = case.claim.verdict(case.reading)
    if verdict is None:
        return
    if verdict.status in PROVED:
        yield replace(_certified(case, "printed", case.printed), status=verdict.status)
    if verdict.amendment is not None and verdict.amendment.status in PROVED:
        yield replace(_certified(case, "amended", case.amended), status=verdict.amendment.status)
    if verdict.holds is not None and verdict.holds.status in PROVED:
        yield replace(_certified(case, "held", case.held), status=verdict.holds.status)


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
    return Certified(case.claim.key, case.reading, variant, None, "; ".join(reasons), derived=bool(reasons))


def faults(found: Sequence[Certified], allowed: Container[str]) -> list[str]:
    """Why a list of certificates is not what it must be: some are missing, listed in vain, or prove another word."""
    from dpverify.symbolic.certify.checker import k

    written = {one.name: json.loads(one.text) for one in found if one.text is not None}
    seals = {data["statement"]["seal"]: k.given_in(data) for data in written.values()}
    wrong = []
    for one in found:
        listed = one.name in allowed
        fault = "no certificate" if one.derived and not listed else ""
        if one.text is not None:
            data = written[one.name]
            given = k.open_premises(seals, k.given_in(data), (data["statement"]["seal"],))
            other = bool(given) != (one.status == "proved given")
            fault = f"pinned as {one.status}, and its certificate is given {given or 'nothing'}" if other else ""
            fault = "is listed, and has one" if listed else fault
        elif listed != (one.status == "derived"):
            fault = fault or f"pinned as {one.status}, and {'is' if listed else 'is not'} listed"
        if fault:
            wrong.append(f"{one.name}: {fault}")
    return wrong


def write(certified: Certified, directory: Path) -> Path | None:
    """Write a certificate into a folder, if there is one."""
    if certified.text is None:
        return None
    path = directory / certified.file
    path.write_text(certified.text, encoding="utf-8")
    return path
