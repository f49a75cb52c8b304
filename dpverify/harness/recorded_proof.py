"""What the recorded run found and need not be found again: what shows it is checked instead.

A result is taken from the recorded run where its claim has today's evidence hash, so that neither the record nor any
code it rests on has changed: a derivation only if the stand-alone checker accepts its certificate now and the statement
reader finds in it the statement of the record; a refutation only if its counterexamples are some now.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled
from dpverify.ledger.results import CheckResult, Result, Run, RunInfo, decode
from dpverify.ledger.statements import Reference, Statement

CERTIFICATES = "certificates"  # folder of a report
EVIDENCE = "evidence.txt"  # file beside the certificates
PROVEN = ("proved", "proved given")  # what a derivation's check says where it is complete


@dataclass(frozen=True)
class CertificateFile:
    """A certificate, and the statement that it must prove."""

    path: Path
    reference: Reference
    specs: Path  # folder of the records

    def checked(self) -> tuple[Any, Any] | None:
        """The checker, and the statement of the record that it found in the file; None where either refuses it."""
        from dpverify.symbolic.certify.checker import k, records_of, rules

        try:
            checker, statement = records_of(self.specs).accepted(self.path, rules())
        except k.Refused:
            return None
        data = checker.statement.data
        proven = Reference(claim=data["claim"], reading=data["reading"], variant=data["variant"])
        return (checker, statement) if proven == self.reference else None


@dataclass(frozen=True)
class RecordedProof:
    """A derivation that the recorded run found complete, and the certificate that was written of it."""

    result: CheckResult
    certificate: CertificateFile

    def checked(self) -> CheckResult | None:
        """The result, if the certificate is accepted and proves the statement of the record; None where it does not.

        The verdict's word, its premises and its definitions are those of the certificate, whatever is recorded.
        """
        accepted = self.certificate.checked()
        if accepted is None:
            return None
        checker, statement = accepted
        premises_given = list(statement.given)
        premises = [premise for proof in checker.lemmas.values() for premise in proof.data["premises"].values()]
        references = [
            Reference(claim=premise["claim"], reading=premise["reading"], variant=premise["variant"])
            for premise in premises
            if premise["kind"] == "claim"
        ]
        definitions = [statement.meaning, *(premise["name"] for premise in premises if premise["kind"] == "definition")]
        return msgspec.structs.replace(
            self.result,
            status="proved given" if premises_given else "proved",
            given=premises_given,
            references=list({str(premise): premise for premise in references}.values()),
            definitions=list(dict.fromkeys(filter(None, definitions))),
            by_certificate=True,
        )


def certificate_name(claim: str, reading: dict[str, str], variant: str) -> str:
    """File name of the certificate of a statement, as the statement reader requires it."""
    from dpverify.symbolic.certify.checker import reader

    return str(reader().certificate_name(claim, reading, variant))


@dataclass(frozen=True)
class StoredCertificates:
    """Certificates that were written before, with the hash of what each rested on then."""

    folder: Path
    evidence: dict[str, str]

    @staticmethod
    def read(folder: Path | None = None) -> StoredCertificates:
        """Those of a folder; by default those that come with dpverify, if they do."""
        if folder is None:
            try:
                folder = bundled("reports") / CERTIFICATES
            except SpecError:  # a copy of the package without its reports
                return StoredCertificates(Path(), {})
        text = (folder / EVIDENCE).read_text(encoding="utf-8") if (folder / EVIDENCE).is_file() else ""
        parts = (line.partition("  ") for line in text.splitlines())
        return StoredCertificates(folder, {name: digest for digest, _, name in parts})

    def find(self, name: str, evidence: str) -> Path | None:
        """Return the file of a certificate, which no one has checked, if what it rests on is the same today."""
        path = self.folder / name
        return path if self.evidence.get(name) == evidence and path.is_file() else None


class RecordedRun:
    """What was shown in the run that a report was made of; by default in that which comes with dpverify."""

    def __init__(self, report: Path | None = None) -> None:
        self._report = report
        self._runs: dict[str, Run | None] = {}
        self._results: dict[str, dict[str, Result]] = {}

    def proof(self, specs: Path, statement: Statement, result: CheckResult) -> RecordedProof | None:
        """The proof of a statement by a derivation with this recorded result, if there is a certificate of it."""
        if self._folder is None or result.status not in PROVEN:
            return None
        name = certificate_name(statement.key, statement.reading, statement.variant)
        certificate = self._folder / CERTIFICATES / name
        if not certificate.is_file():
            return None
        return RecordedProof(result, CertificateFile(certificate, statement.reference, specs))

    def result(self, claim: ClaimSpec, statement: Statement, check: str, evidence: str) -> CheckResult | None:
        """What a check found of a statement of a claim in the recorded run, if it is of this evidence hash."""
        result = self._of(claim.paper).get(str(Reference(claim=claim.key, reading=statement.reading)))
        if result is None or result.evidence_hash != evidence:
            return None
        judged = {"printed": result, "amended": result.amendment, "held": result.holds}[statement.variant]
        return next(
            (check_result for check_result in (judged.checks if judged else ()) if check_result.name == check), None
        )

    def manifest(self, claim: ClaimSpec, reading: dict[str, str]) -> RunInfo | None:
        """The manifest of the run that judged a claim: the recorded one, or an earlier one whose verdict stands."""
        result = self._of(claim.paper).get(str(Reference(claim=claim.key, reading=reading)))
        run = self._run(claim.paper)
        if result is None or run is None:
            return None
        if result.earlier:
            return dict(enumerate(run.run.earlier, start=1)).get(result.earlier)
        return msgspec.structs.replace(run.run, earlier=[])

    @cached_property
    def _folder(self) -> Path | None:
        try:
            return self._report or bundled("reports")
        except SpecError:  # a copy of the package without its reports
            return None

    def _of(self, paper: str) -> dict[str, Result]:
        """The recorded results of a paper, by claim and reading; none where there is no run that can be read."""
        if paper not in self._results:
            run = self._run(paper)
            results = [] if run is None else run.results
            self._results[paper] = {
                str(Reference(claim=result.claim, reading=result.reading)): result for result in results
            }
        return self._results[paper]

    def _run(self, paper: str) -> Run | None:
        """The recorded run of a paper; None where there is none that can be read: then everything is derived."""
        if paper not in self._runs:
            self._runs[paper] = None
            if self._folder is not None:
                with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
                    self._runs[paper] = decode((self._folder / "data" / f"{paper}.json").read_bytes())
        return self._runs[paper]
