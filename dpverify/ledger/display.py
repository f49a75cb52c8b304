"""Statements as lines of text that can be parsed again, with everything that was judged, and lists of claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.formula import to_text
from dpverify.ledger.records import ORDERS, Claim, Record, Status, Verdict
from dpverify.ledger.statements import Statement

Word = Literal[
    "",
    "in words:",
    "with",
    "if",
    "assuming",
    "where",
    "measured:",
    "constant may depend on",
    "reading",
]


class Line(Record, frozen=True, kw_only=True):
    """One part of a statement: a word that names the part, its text, and its LaTeX if it is a formula."""

    word: Word = ""
    text: str
    latex: str = ""
    about: str = ""  # the meaning of a measured quantity or of a reading

    def __str__(self) -> str:
        return f"{self.word} {self.text}".strip()


def display(statement: Statement) -> list[Line]:
    """Return the sides, definitions, conditions, domains and reading of a statement, one line each."""
    return [*_sides(statement), *_conditions(statement), *_meanings(statement)]


def _sides(statement: Statement) -> Iterator[Line]:
    if statement.rhs is None or statement.relation is None:
        yield Line(word="in words:", text=" ".join((statement.words or "").split()))
        return
    left = (
        to_text(statement.lhs)
        if statement.lhs is not None
        else statement.quantity or ""
    )
    right = to_text(statement.rhs)
    order = statement.relation in ORDERS
    text = (
        f"{left} = {statement.relation}({right})"
        if order
        else f"{left} {statement.relation} {right}"
    )
    yield Line(text=text, latex=statement.latex())


def _conditions(statement: Statement) -> Iterator[Line]:
    for name, value in statement.let:
        latex = rf"{statement.symbols[name].latex} = {statement.formula_latex(value)}"
        yield Line(word="with", text=f"{name} = {to_text(value)}", latex=latex)
    for condition in statement.requires:
        yield Line(
            word="if", text=to_text(condition), latex=statement.formula_latex(condition)
        )
    yield from (Line(word="assuming", text=str(tag)) for tag in statement.assumes)
    yield from (
        Line(word="constant may depend on", text=name)
        for name in sorted(statement.hides)
    )
    for name, domain in statement.domains.items():
        latex = (
            r",\ ".join(map(statement.formula_latex, domain.constraints))
            or statement.symbols[name].latex
        )
        yield Line(word="where", text=f"{name} {domain}", latex=latex)


def _meanings(statement: Statement) -> Iterator[Line]:
    """Yield the meaning of the measured quantity and the chosen readings."""
    if statement.measured is not None and statement.quantity is not None:
        yield Line(
            word="measured:",
            text=statement.quantity,
            latex=statement.measured.latex,
            about=statement.measured.meaning,
        )
    claim = statement.siblings.get(statement.key.partition(":")[2])
    about = (
        {reading.name: reading.meaning for reading in claim.record.reading}
        if claim
        else {}
    )
    for name, choice in statement.reading.items():
        yield Line(word="reading", text=f"{name} = {choice}", about=about.get(name, ""))


def texts(lines: Iterable[Line], word: Word) -> list[str]:
    """Return the texts of the lines with a word."""
    return [line.text for line in lines if line.word == word]


class ListedClaim(Record, frozen=True, kw_only=True):
    """A claim under one choice of its readings: its record, its statement, our verdict."""

    claim: str
    reading: dict[str, str]
    status: Status  # "untested" if no verdict is recorded
    record: Claim
    statement: list[Line]  # the complete printed statement
    verdict: Verdict | None
    corrected: list[Line]  # the complete amendment of the verdict


class Listing(Record, frozen=True, kw_only=True):
    """The JSON of ``dpverify list``."""

    schema: int = 1
    claims: list[ListedClaim]


def list_claims(
    claims: Iterable[ClaimSpec], *, statements: bool = True
) -> Iterator[ListedClaim]:
    """Yield one entry per claim and choice of its readings. Without ``statements``, no formula is parsed."""
    for claim in claims:
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            corrected = (
                statements and verdict is not None and verdict.amendment is not None
            )
            yield ListedClaim(
                claim=claim.key,
                reading=reading,
                status=claim.pinned(reading),
                record=claim.record,
                statement=display(claim.statement(reading)) if statements else [],
                verdict=verdict,
                corrected=display(claim.statement(reading, "amended"))
                if corrected
                else [],
            )
