"""A claim with its text, its readings, its statements and our verdicts, and statements as lines of text.

The lines can be parsed again and contain everything that was judged.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import msgspec

from dpverify.ledger.definitions import Glossary
from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.formula import Compare, to_text
from dpverify.ledger.proof_book import ProofBook
from dpverify.ledger.reading import (
    StatementReader,
    amended_wording,
    held_wording,
    printed_wording,
)
from dpverify.ledger.records import (
    ORDERS,
    Amendment,
    Claim,
    Record,
    Regime,
    Status,
    Verdict,
)
from dpverify.ledger.statements import Statement, Variant
from dpverify.ledger.vocabulary import Vocabulary

_UNHASHED_DEFAULTS: dict[str, object] = {
    "hides": [],
    "witnesses": [],
    "divisors": [],
    "assumes": None,
    "corrects": True,
    "only_restates": False,
}
"""Optional fields with their default values. A field with its default value is not hashed."""


@dataclass(frozen=True, eq=False)
class ClaimSpec:
    """A claim with its paper's vocabulary, definitions and proofs, and our verdicts on it."""

    record: Claim
    paper: str
    vocabulary: Vocabulary
    verdicts: tuple[Verdict, ...] = ()
    file: str = ""
    # the paper's claims by id
    siblings: Mapping[str, ClaimSpec] = field(default_factory=dict, repr=False)
    # the paper's definitions
    glossary: Glossary = field(default_factory=Glossary, repr=False)
    # conditions on parameters that are not used in practice
    edges: tuple[Compare, ...] = ()
    # the paper's proofs as text
    proofs: ProofBook = field(default_factory=ProofBook, repr=False)

    @property
    def key(self) -> str:
        """Full id: ``"tran2022:lemma-12"``."""
        return f"{self.paper}:{self.record.id}"

    @property
    def uses(self) -> tuple[str, ...]:
        """Full ids of the claims that this one rests on."""
        return tuple(full_id(used, self.paper) for used in self.record.uses)

    @cached_property
    def record_hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the record's text."""
        return hashlib.sha256(self.text(self.record).encode()).hexdigest()[:16]

    @cached_property
    def below(self) -> dict[str, ClaimSpec]:
        """The claims of the same paper that this one rests on, at any depth, by id."""
        claims_below: dict[str, ClaimSpec] = {}
        todo = list(self.uses)
        while todo:
            paper, _, name = todo.pop(0).partition(":")
            if (
                paper == self.paper
                and name in self.siblings
                and name not in claims_below
            ):
                claims_below[name] = self.siblings[name]
                todo += claims_below[name].uses
        return claims_below

    @cached_property
    def corrected_hash(self) -> str:
        """First 16 hex digits of the SHA-256 of everything that references use: record, amendments and regimes."""
        texts = [
            self.text(self.record),
            *(
                self.text(statement)
                for verdict in self.verdicts
                for statement in verdict.beside
            ),
        ]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    def text(self, record: Claim | Amendment | Regime) -> str:
        """Return canonical JSON of a claim, an amendment or a regime, with its symbols' domains.

        Quotations and the note on the transcription are left out.
        """
        fields = msgspec.to_builtins(record)
        fields.pop("transcription", None)
        fields.pop("quotes", None)
        for name, empty in _UNHASHED_DEFAULTS.items():
            if fields.get(name, empty) == empty:
                fields.pop(name, None)
        fields["domains"] = self.vocabulary.domain_texts(_formulas(record))
        return json.dumps(
            fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )

    def readings(self) -> list[dict[str, str]]:
        """Return every combination of choices, the default (all first choices) first; ``[{}]`` without readings."""
        names = [reading.name for reading in self.record.reading]
        choices = [reading.choices for reading in self.record.reading]
        return [
            dict(zip(names, combination, strict=True))
            for combination in itertools.product(*choices)
        ]

    def complete(self, reading: Mapping[str, str] | None = None) -> dict[str, str]:
        """Add the default choices to a reading; raises `SpecError` if the claim has no such reading or choice."""
        choices = dict(reading or {})
        for error in reading_problems(
            self.record, choices, Place(self.file, self.key, "reading")
        ):
            raise error
        return {
            offered.name: choices.get(offered.name, offered.choices[0])
            for offered in self.record.reading
        }

    def verdict(self, reading: Mapping[str, str] | None = None) -> Verdict | None:
        """Return our verdict that agrees with `reading` and names most of its choices, or None."""
        chosen = self.complete(reading)
        fitting = [
            verdict
            for verdict in self.verdicts
            if verdict.reading.items() <= chosen.items()
        ]
        return max(fitting, key=lambda verdict: len(verdict.reading), default=None)

    def pinned(
        self, reading: Mapping[str, str], variant: Variant = "printed"
    ) -> Status:
        """Return the status that our verdict gives to a statement; "untested" if it gives none."""
        verdict = self.verdict(reading)
        judged: Verdict | Amendment | Regime | None = verdict
        if verdict is not None and variant != "printed":
            judged = verdict.amendment if variant == "amended" else verdict.holds
        return "untested" if judged is None else judged.status

    def statement(
        self, reading: Mapping[str, str] | None = None, variant: Variant = "printed"
    ) -> Statement:
        """Return the statement of a reading: printed, amended, or printed with the conditions of its regime."""
        chosen = self.complete(reading)
        place = Place(self.file, self.key)
        wording = printed_wording(self.record)
        verdict = None if variant == "printed" else self.verdict(chosen)
        if variant == "amended":
            if verdict is None or verdict.amendment is None:
                raise place.at("amendment").error("", "this reading has no amendment")
            wording = amended_wording(self.record, verdict.amendment)
        elif variant == "held":
            if verdict is None or verdict.holds is None:
                raise place.at("holds").error(
                    "", "nothing is said of where this reading holds"
                )
            wording = held_wording(self.record, verdict.holds)
        statement = StatementReader(wording, self.vocabulary, place, Problems()).read(
            self.record, self.key, chosen
        )
        return replace(
            statement,
            variant=variant,
            siblings=self.siblings,
            glossary=self.glossary,
            edges=self.edges,
            proofs=self.proofs,
        )

    def statements(self) -> Iterator[Statement]:
        """Yield the printed statement, its amendment and its regime (if any), under every choice of readings."""
        for reading in self.readings():
            yield self.statement(reading)
            verdict = self.verdict(reading)
            if verdict is not None and verdict.amendment is not None:
                yield self.statement(reading, "amended")
            if verdict is not None and verdict.holds is not None:
                yield self.statement(reading, "held")


def _formulas(record: Claim | Amendment | Regime) -> Iterator[str]:
    """Yield every formula, condition, assumption and defined symbol of a record."""
    if isinstance(record, Regime):
        yield from record.requires
        return
    if isinstance(record, Claim):
        yield from (
            record.lhs or "",
            record.printed or "",
            *record.hides,
            *record.divisors,
        )
    else:
        yield record.formula or ""
    yield from record.assumes or ()
    yield from record.requires or ()
    for let in record.let or ():
        yield from (let.symbol, let.value)


def full_id(claim: str, paper: str) -> str:
    """Return a claim's full id; an id without a paper belongs to `paper`."""
    return claim if ":" in claim else f"{paper}:{claim}"


def reading_problems(
    record: Claim, reading: Mapping[str, str], place: Place
) -> Iterator[SpecError]:
    """Yield an error for each choice in `reading` that the claim does not offer."""
    offered = {declared.name: declared.choices for declared in record.reading}
    for name, choice in reading.items():
        if name not in offered:
            yield place.error(
                shown(name), f"the claim has no such reading{suggest(name, offered)}"
            )
        elif choice not in offered[name]:
            yield place.error(
                shown(choice), f"reading {name} offers {', '.join(offered[name])}"
            )


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
