"""Reuse of the recorded run: its results are confirmed by a check of their evidence instead of being derived again.

A result is reused if the evidence hash of its claim is the same today, so that neither the record nor the code that it
depends on has changed. A derivation is reused only if the stand-alone checker accepts its certificate now and the
statement reader finds the statement of the record in it. A refutation is reused only if its counterexamples still are
counterexamples.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled
from dpverify.ledger.results import Result, Run, RunInfo, decode
from dpverify.ledger.statements import Reference, Statement

CERTIFICATES = "certificates"  # folder of a report
EVIDENCE = "evidence.txt"  # file beside the certificates
# statuses of a derivation's check if the derivation is complete
PROVEN = ("proved", "proved given")


@dataclass(frozen=True)
class CertificateFile:
    """A certificate, and the statement that it must prove."""

    path: Path
    reference: Reference
    specs: Path  # folder of the records

    def checked(self) -> tuple[Any, Any] | None:
        """Return the checker and the statement found in the file, or None if the certificate is not accepted."""
        from dpverify.symbolic.certify.checker import k, records_of, rules

        try:
            checker, statement = records_of(self.specs).accepted(self.path, rules())
        except k.Refused:
            return None
        data = checker.statement.data
        proven = Reference(
            claim=data["claim"], reading=data["reading"], variant=data["variant"]
        )
        return (checker, statement) if proven == self.reference else None


@dataclass(frozen=True)
class RecordedProof:
    """A derivation that was complete in the recorded run, and its certificate."""

    result: CheckResult
    certificate: CertificateFile

    def checked(self) -> CheckResult | None:
        """Return the result if the certificate is accepted and proves the statement of the record, otherwise None.

        The status, premises and definitions come from the certificate, not from the recorded result.
        """
        accepted = self.certificate.checked()
        if accepted is None:
            return None
        checker, statement = accepted
        premises_given = list(statement.given)
        premises = [
            premise
            for proof in checker.lemmas.values()
            for premise in proof.data["premises"].values()
        ]
        references = [
            Reference(
                claim=premise["claim"],
                reading=premise["reading"],
                variant=premise["variant"],
            )
            for premise in premises
            if premise["kind"] == "claim"
        ]
        definitions = [
            statement.meaning,
            *(
                premise["name"]
                for premise in premises
                if premise["kind"] == "definition"
            ),
        ]
        return msgspec.structs.replace(
            self.result,
            status="proved given" if premises_given else "proved",
            given=premises_given,
            references=list({str(premise): premise for premise in references}.values()),
            definitions=list(dict.fromkeys(filter(None, definitions))),
            by_certificate=True,
        )


def certificate_name(claim: str, reading: dict[str, str], variant: str) -> str:
    """Return the file name of a statement's certificate, as the statement reader requires it."""
    from dpverify.symbolic.certify.checker import reader

    return str(reader().certificate_name(claim, reading, variant))


@dataclass(frozen=True)
class StoredCertificates:
    """Existing certificates, with the hash of each one's inputs at the time of writing."""

    folder: Path
    evidence: dict[str, str]

    @staticmethod
    def read(folder: Path | None = None) -> StoredCertificates:
        """Read the certificates of a folder; by default those that come with dpverify, if there are any."""
        if folder is None:
            try:
                folder = bundled("reports") / CERTIFICATES
            except SpecError:  # a copy of the package without its reports
                return StoredCertificates(Path(), {})
        text = (
            (folder / EVIDENCE).read_text(encoding="utf-8")
            if (folder / EVIDENCE).is_file()
            else ""
        )
        parts = (line.partition("  ") for line in text.splitlines())
        return StoredCertificates(folder, {name: digest for digest, _, name in parts})

    def find(self, name: str, evidence: str) -> Path | None:
        """Return the file of a certificate if its inputs are the same today. The certificate has not been checked."""
        path = self.folder / name
        return path if self.evidence.get(name) == evidence and path.is_file() else None


class RecordedRun:
    """The results of the run that a report was made from; by default of the run that comes with dpverify."""

    def __init__(self, report: Path | None = None) -> None:
        self._report = report
        self._runs: dict[str, Run | None] = {}
        self._results: dict[str, dict[str, Result]] = {}

    def proof(
        self, specs: Path, statement: Statement, result: CheckResult
    ) -> RecordedProof | None:
        """Return the recorded proof of a statement by a derivation with this result, if it has a certificate."""
        if self._folder is None or result.status not in PROVEN:
            return None
        name = certificate_name(statement.key, statement.reading, statement.variant)
        certificate = self._folder / CERTIFICATES / name
        if not certificate.is_file():
            return None
        return RecordedProof(
            result, CertificateFile(certificate, statement.reference, specs)
        )

    def result(
        self, claim: ClaimSpec, statement: Statement, check: str, evidence: str
    ) -> CheckResult | None:
        """Return the recorded result of a check of a claim's statement, if it has this evidence hash."""
        result = self._results_of(claim.paper).get(
            str(Reference(claim=claim.key, reading=statement.reading))
        )
        if result is None or result.evidence_hash != evidence:
            return None
        judged = {"printed": result, "amended": result.amendment, "held": result.holds}[
            statement.variant
        ]
        return next(
            (
                check_result
                for check_result in (judged.checks if judged else ())
                if check_result.name == check
            ),
            None,
        )

    def manifest(self, claim: ClaimSpec, reading: dict[str, str]) -> RunInfo | None:
        """Return the manifest of the run that judged a claim: the recorded run or an earlier one."""
        result = self._results_of(claim.paper).get(
            str(Reference(claim=claim.key, reading=reading))
        )
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

    def _results_of(self, paper: str) -> dict[str, Result]:
        """Return the recorded results of a paper by claim and reading; empty if there is no readable run."""
        if paper not in self._results:
            run = self._run(paper)
            results = [] if run is None else run.results
            self._results[paper] = {
                str(Reference(claim=result.claim, reading=result.reading)): result
                for result in results
            }
        return self._results[paper]

    def _run(self, paper: str) -> Run | None:
        """Return the recorded run of a paper, or None if there is no readable run. Then everything is derived."""
        if paper not in self._runs:
            self._runs[paper] = None
            if self._folder is not None:
                with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
                    self._runs[paper] = decode(
                        (self._folder / "data" / f"{paper}.json").read_bytes()
                    )
        return self._runs[paper]
