"""Certificates of the verdicts that derivations prove. A derivation without a certificate proves nothing.

A file in the folder of the certificates lists the hash of each certificate's inputs, so that outdated certificates can
be recognized.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.recorded_proof import (
    EVIDENCE,
    StoredCertificates,
    certificate_name,
)
from dpverify.harness.run.sources import PAPERS
from dpverify.harness.run.suite import JudgedReading, Suite
from dpverify.harness.run.tasks import Job
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.load import load_specs
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Reference, Variant
from dpverify.processes import process_pool

PROVED = ("proved", "proved given")


@dataclass(frozen=True)
class Certified:
    """One verdict that is pinned as proved, with or without premises, and its certificate if there is one."""

    claim: str
    reading: dict[str, str]
    variant: Variant
    text: str | None  # the certificate as JSON
    reason: str = ""
    status: str = ""  # the pinned status
    has_derivation: bool = True  # whether a derivation judges the verdict
    evidence: str = ""  # hash of the inputs of the derivation
    stored: bool = False  # whether an existing certificate was reused

    @property
    def name(self) -> str:
        """The verdict, written as in references."""
        return str(
            Reference(claim=self.claim, reading=self.reading, variant=self.variant)
        )

    @property
    def file(self) -> str:
        """File name of the certificate."""
        return certificate_name(self.claim, self.reading, self.variant)


_suites: list[Suite] = []  # suite of this process, if it is loaded


def certify_claims(
    specs: Specs,
    claims: Sequence[ClaimSpec],
    jobs: int = 1,
    directory: Path | None = None,
    source: str = PAPERS,
    tenth: int | None = None,
) -> Iterator[Certified]:
    """Yield every verdict of some claims that is pinned as proved, with its certificate if there is one.

    ``jobs``: number of processes, each of which loads the specs of ``directory`` again. ``source``: location of the
    checks. ``tenth``: derive only the claims whose position is this number modulo 10. The other claims keep the
    certificates that come with dpverify, unless their inputs have changed since the certificates were written.
    """
    keys = [claim.key for claim in claims if _has_proved_statement(claim)]
    stored = None if tenth is None else StoredCertificates.read()
    requests = [
        (key, None if place % 10 == tenth else stored) for place, key in enumerate(keys)
    ]
    if jobs == 1:
        _suites[:] = [Suite(specs, "smoke", 0, source)]
        for request in requests:
            yield from _certified_of_claim(request)
        return
    with process_pool(jobs, _load, (directory, source), wait=True) as pool:
        for certified in pool.map(_certified_of_claim, requests):
            yield from certified


def _load(directory: Path | None, source: str) -> None:
    _suites[:] = [Suite(load_specs(directory), "smoke", 0, source)]


def _certified_of_claim(
    request: tuple[str, StoredCertificates | None],
) -> list[Certified]:
    (suite,), (key, stored) = _suites, request
    return [
        certified
        for case in suite.cases(suite.specs.claim(key))
        for certified in _certified_of_case(case, stored)
    ]


def _has_proved_statement(claim: ClaimSpec) -> bool:
    """Return whether a statement of a claim is pinned as proved."""
    return any(
        claim.pinned(reading, variant) in PROVED
        for reading in claim.readings()
        for variant in get_args(Variant)
    )


def _certified_of_case(
    case: JudgedReading, stored: StoredCertificates | None
) -> Iterator[Certified]:
    parts: dict[Variant, Sequence[Job]] = {
        "printed": case.printed,
        "amended": case.amended,
        "held": case.held,
    }
    evidence = case.certificate_evidence
    for variant, jobs in parts.items():
        if (status := case.claim.pinned(case.reading, variant)) in PROVED:
            name = certificate_name(case.claim.key, case.reading, variant)
            path = None if stored is None else stored.find(name, evidence)
            if path is None:
                certified = _certified(case, variant, jobs)
            else:
                text = path.read_text(encoding="utf-8")
                certified = Certified(
                    case.claim.key, case.reading, variant, text, stored=True
                )
            yield replace(certified, status=status, evidence=evidence)


def _certified(case: JudgedReading, variant: Variant, jobs: Sequence[Job]) -> Certified:
    """Return a verdict with the first certificate that a derivation has, or with the reasons why there is none."""
    from dpverify.symbolic.derive.define import expand_definition
    from dpverify.symbolic.elaborate.formulas import ProofError

    reasons = []
    for job in jobs:
        check = job.find()
        if not isinstance(check, DerivationCheck):
            continue
        statement = expand_definition(job.context.statement)
        try:
            outcome = check.certificate(statement)
        except ProofError as error:
            reasons.append(str(error))
            continue
        if outcome.data is not None:
            text = json.dumps(outcome.data, separators=(",", ":")) + "\n"
            return Certified(case.claim.key, case.reading, variant, text)
        reasons.append(outcome.reason)
    return Certified(
        case.claim.key,
        case.reading,
        variant,
        None,
        "; ".join(reasons),
        has_derivation=bool(reasons),
    )


def faults(certificates: Sequence[Certified]) -> list[str]:
    """Return the faults of a list of certificates: missing ones, and those that prove another status than the pin."""
    from dpverify.symbolic.certify.checker import k

    written = {
        certified.name: json.loads(certified.text)
        for certified in certificates
        if certified.text is not None
    }
    seals = {data["statement"]["seal"]: k.given_in(data) for data in written.values()}
    wrong = []
    for certified in certificates:
        if certified.text is None:
            wrong += (
                [f"{certified.name}: no certificate"]
                if certified.has_derivation
                else []
            )
            continue
        premises = k.open_premises(seals, k.given_in(written[certified.name]))
        if bool(premises) != (certified.status == "proved given"):
            pin = f"pinned as {certified.status}, and its certificate is given {premises or 'nothing'}"
            wrong.append(f"{certified.name}: {pin}")
    return wrong


def write(certified: Certified, directory: Path) -> Path | None:
    """Write a certificate into a folder and return its path, or None if there is no certificate."""
    if certified.text is None:
        return None
    path = directory / certified.file
    path.write_text(certified.text, encoding="utf-8")
    return path


def foreign_files(directory: Path) -> list[str]:
    """List files with the names of certificates or evidence that are links or that dpverify did not write."""
    paths = sorted(directory.glob("*.json"))
    strangers = [
        path.name for path in paths if path.is_symlink() or not _is_certificate(path)
    ]
    evidence = directory / EVIDENCE
    if evidence.is_symlink() or (evidence.exists() and not _is_evidence(evidence)):
        strangers.append(EVIDENCE)
    return strangers


def _is_certificate(path: Path) -> bool:
    """Return whether a file begins like a certificate. The checker decides whether it proves anything."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.match(rb'\{"schema":\d+,"table":\[', file.read(40)) is not None


def _is_evidence(path: Path) -> bool:
    """Return whether a file is a list of digests and names of certificates."""
    if not path.is_file():
        return False
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    return all(re.fullmatch(r"[0-9a-f]{16}-\S+  [\w.-]+\.json", line) for line in lines)


def write_evidence(certificates: Sequence[Certified], directory: Path) -> None:
    """Write the hashes of the certificates' inputs into their folder. Entries of other certificates are kept."""
    rests = StoredCertificates.read(directory).evidence | {
        certified.file: certified.evidence
        for certified in certificates
        if certified.text is not None
    }
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(rests.items()))
    (directory / EVIDENCE).write_text(text, encoding="utf-8")
