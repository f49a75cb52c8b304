"""Check the units of all records of a paper, and list the mismatches of each record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.definitions import Definition
from dpverify.ledger.records import Record
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.statements import Statement, Variant
from dpverify.ledger.units.reader import (
    RecordReader,
    StatedUnits,
    read_lemma,
    read_proof,
)
from dpverify.ledger.units.scaling import UnitsFile, read_units

UnitsStatus = Literal["inconsistent", "not determined", "consistent", "in words"]

WORST: tuple[UnitsStatus, ...] = (
    "inconsistent",
    "not determined",
    "consistent",
    "in words",
)
"""Statuses, worst first. A record with several readings has the worst status of its readings."""


class UnitsResult(Record, frozen=True, kw_only=True):
    """Whether the units of one record agree. It is information on the record and does not refute a claim.

    Parameters
    ----------
    of
        The record: a claim by its id, ``lemma-12 (amended)``, ``definition NAME``,
        ``proof of lemma-12``.
    status
        ``inconsistent``; ``not determined`` if letters have no stated unit and the
        equations of the record do not determine it, or if no equation remains that
        tests the statement; ``consistent``; ``in words`` if there is no formula.
    mismatches
        One line for each two terms that differ.
    undetermined
        The letters and quantities without a unit.
    expected
        The explanation of an inconsistency in ``units.toml``, if there is one.
    normalised
        The unit that the record sets to 1, and where.
    """

    of: str
    status: UnitsStatus
    mismatches: list[str] = []
    undetermined: list[str] = []
    expected: str = ""
    normalised: str = ""


class PaperUnits(Record, frozen=True, kw_only=True):
    """The units of all records of a paper.

    Parameters
    ----------
    paper
        Key of the paper.
    results
        One result for each record, in the order of the files.
    stale
        Records in ``expected`` of ``units.toml`` whose units agree, and names that do
        not exist.
    """

    paper: str
    results: list[UnitsResult]
    stale: list[str] = []

    @property
    def unexplained(self) -> list[UnitsResult]:
        """Inconsistent records that no entry of ``expected`` explains."""
        return [
            result
            for result in self.results
            if result.status == "inconsistent" and not result.expected
        ]

    @property
    def is_as_expected(self) -> bool:
        """Whether every inconsistency is explained and every explanation belongs to an inconsistency."""
        return not self.unexplained and not self.stale

    def count(self, status: UnitsStatus) -> int:
        """Return the number of records with a status."""
        return sum(result.status == status for result in self.results)

    def lines(self, *, undetermined: bool = False) -> Iterator[str]:
        """Yield the lines that ``dpverify units`` prints; ``undetermined`` adds the records that are not determined."""
        explained = self.count("inconsistent") - len(self.unexplained)
        counts = [f"{self.count(status)} {status}" for status in reversed(WORST)]
        yield f"{self.paper}: {', '.join(counts)} ({explained} explained)"
        for result in self.results:
            if result.status == "inconsistent":
                yield f"  {result.of}: inconsistent"
                yield from (f"    {text}" for text in result.mismatches)
                yield (
                    f"    explained: {result.expected}"
                    if result.expected
                    else "    not explained in units.toml"
                )
            elif result.status == "not determined" and undetermined:
                letters = (
                    f"no unit is known for {', '.join(result.undetermined)}"
                    if result.undetermined
                    else ""
                )
                yield f"  {result.of}: not determined: {letters or 'no comparison tests a stated unit'}"
        yield from (f"  units.toml: {text}" for text in self.stale)


def check_units(paper: PaperSpec) -> PaperUnits:
    """Check the units of all records of a paper, with the file ``units.toml`` next to them if there is one.

    Parameters
    ----------
    paper
        The paper as `load_specs` returns it.

    Raises
    ------
    SpecError
        If ``units.toml`` breaks a rule.

    Examples
    --------
    >>> import dpverify as dv
    >>> from dpverify.ledger.units import check_units
    >>> units = check_units(dv.load_specs().papers["wang2019"])
    >>> [result.of for result in units.results if result.status == "inconsistent"][0]
    'lemma-3-7'
    """
    files = {claim.file for claim in paper.claims.values()}
    return checked_units(
        paper, read_units(Path(min(files)).parent) if files else UnitsFile()
    )


def checked_units(paper: PaperSpec, file: UnitsFile) -> PaperUnits:
    """Check the units of all records of a paper, with the units of a file."""
    stated = StatedUnits(paper, file)
    results = [*_results(paper, stated)]
    inconsistent = {result.of for result in results if result.status == "inconsistent"}
    consistent = [
        record for record in stated.explanations if record not in inconsistent
    ]
    stale = [
        *stated.unknown_names(),
        *(
            f"expected: the units of {record!r} agree, or there is no such record"
            for record in consistent
        ),
    ]
    return PaperUnits(paper=paper.info.key, results=results, stale=stale)


def _results(paper: PaperSpec, stated: StatedUnits) -> Iterator[UnitsResult]:
    inconsistent: set[str] = set()
    for claim in paper.claims.values():
        for result in _claim(claim, stated):
            if result.status == "inconsistent":
                inconsistent.add(result.of)
            yield result
    for meaning in stated.glossary.meanings:
        record = meaning.record
        of = f"{'definition' if isinstance(record, Definition) else 'fact'} {record.name}"
        reader = RecordReader(
            stated, of, meaning.statement.domains, meaning.statement.symbols
        )
        reader.read_statement(meaning.statement)
        yield _merged(of, of, [_outcome(reader)], stated)
    book = stated.proofs
    for lemma in book.lemmas.values():
        of = f"lemma {lemma.id}"
        yield _merged(of, of, [_outcome(read_lemma(lemma, book, stated))], stated)
    for claim in paper.claims.values():
        outcomes: dict[str, list[UnitsResult]] = {}
        for statement in claim.statements():
            proof = book.find(statement)
            name = _name(claim, statement.variant)
            if proof is not None and name not in inconsistent:
                outcomes.setdefault(name, []).append(
                    _outcome(read_proof(statement, proof, book, stated))
                )
        for name, of_readings in outcomes.items():
            yield _merged(f"proof of {name}", claim.record.id, of_readings, stated)


def _claim(claim: ClaimSpec, stated: StatedUnits) -> Iterator[UnitsResult]:
    """Yield one result for the printed statement, the amendment and the regime, with all readings merged."""
    outcomes: dict[Variant, list[UnitsResult]] = {}
    for statement in claim.statements():
        outcomes.setdefault(statement.variant, []).append(_result_of(statement, stated))
    printed = {text for outcome in outcomes["printed"] for text in outcome.mismatches}
    for variant, results in outcomes.items():
        own_results = (
            [_without(result, printed) for result in results]
            if variant == "held"
            else results
        )
        yield _merged(_name(claim, variant), claim.record.id, own_results, stated)


def _without(result: UnitsResult, printed: set[str]) -> UnitsResult:
    """Leave out the mismatches of the printed statement, which a regime inherits."""
    mismatches = [text for text in result.mismatches if text not in printed]
    if result.status != "inconsistent" or mismatches:
        return msgspec.structs.replace(result, mismatches=mismatches)
    return msgspec.structs.replace(result, status="consistent", mismatches=[])


def _name(claim: ClaimSpec, variant: Variant) -> str:
    return claim.record.id if variant == "printed" else f"{claim.record.id} ({variant})"


def _result_of(statement: Statement, stated: StatedUnits) -> UnitsResult:
    reader = RecordReader(
        stated, statement.key.partition(":")[2], statement.domains, statement.symbols
    )
    reader.read_statement(statement)
    outcome = _outcome(reader)
    if statement.rhs is None and outcome.status != "inconsistent":
        return UnitsResult(of="", status="in words")
    return outcome


def _outcome(reader: RecordReader) -> UnitsResult:
    mismatches = [str(mismatch) for mismatch in reader.terms.mismatches]
    undetermined = reader.undetermined()
    status: UnitsStatus = "consistent"
    if mismatches:
        status = "inconsistent"
    elif undetermined or not reader.is_tested:
        status = "not determined"
    return UnitsResult(
        of="", status=status, mismatches=mismatches, undetermined=undetermined
    )


def _merged(
    of: str, record: str, outcomes: Iterable[UnitsResult], stated: StatedUnits
) -> UnitsResult:
    """Merge the results of the readings of a record."""
    results = [*outcomes]
    status = min((outcome.status for outcome in results), key=WORST.index)
    return UnitsResult(
        of=of,
        status=status,
        mismatches=[
            *dict.fromkeys(text for outcome in results for text in outcome.mismatches)
        ],
        undetermined=sorted(
            {name for outcome in results for name in outcome.undetermined}
        ),
        expected=stated.explanations.get(of, "") if status == "inconsistent" else "",
        normalised=stated.reasons.get(record, ""),
    )
