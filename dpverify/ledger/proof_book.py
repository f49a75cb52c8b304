"""The proofs of one paper: the records of ``proofs.toml``, their checks, and the proof of a statement.

The records are proofs, lemmas and premises, and the abbreviations that these may use. They are data and are never
executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from dpverify.ledger.errors import Place, SpecError, shown, suggest
from dpverify.ledger.formula import Call, FormulaError, Name, parse, parse_relation
from dpverify.ledger.proof_chains import Chain, parse_chain
from dpverify.ledger.records import Record
from dpverify.ledger.statements import Variant
from dpverify.ledger.vocabulary import Vocabulary, parse_domain

if TYPE_CHECKING:
    from dpverify.ledger.claims import ClaimSpec
    from dpverify.ledger.statements import Statement


class GivenPremise(Record, frozen=True, kw_only=True):
    """A relation that proofs assume. A statement whose proof cites it is "proved given" its ``words``."""

    id: str
    words: str
    says: str  # left side, relation and right side, in the letters of the citing proofs
    requires: list[str] = []


class Lemma(Record, frozen=True, kw_only=True):
    """A relation of two formulas that proofs of the same paper may cite by its id."""

    id: str
    words: str = ""
    letters: dict[str, str] = {}  # domains of letters that are not symbols of the paper
    requires: list[str] = []
    let: dict[str, str] = {}
    chain: str


class Proof(Record, frozen=True, kw_only=True):
    """A chain from the left side of a claim to its right side, or to a formula that implies the claim."""

    of: str
    variant: Variant = "printed"
    reading: dict[str, str] = {}  # choices for which it holds; all choices if empty
    words: str = ""
    # domains of letters of the measured quantity that the claim does not mention
    letters: dict[str, str] = {}
    let: dict[str, str] = {}
    # an integer letter in terms of quotient and remainder: ``T = epochs*N + rest``
    divide: str = ""
    known: list[str] = []  # lemmas whose statements every line may use
    unused: list[str] = []  # letters of the claim whose conditions no line uses
    # extra conditions for sample points, if the conditions yield none: ``n >= 10**8``
    points: list[str] = []
    chain: str


class ProofsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/proofs.toml``."""

    let: dict[str, str] = {}
    given: list[GivenPremise] = []
    lemma: list[Lemma] = []
    proof: list[Proof] = []


_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9.]+)*")
_WORD = re.compile(r"[A-Za-z][\w.-]*")
_LETTER = re.compile(r"[A-Za-z]\w*")
LAWS = re.compile(
    r"random( up to .*)?|function|gaussian norm\(.*\)|set bits of .*|measured",
    re.DOTALL,
)
"""Domains of letters that are not numbers, and ``measured``, the domain of a number that a cited claim measures."""


@dataclass(frozen=True, eq=False)
class ProofBook:
    """The lemmas and proofs of a paper, in the order of the file."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary, repr=False)
    let: Mapping[str, str] = field(default_factory=dict)  # abbreviations
    given: Mapping[str, GivenPremise] = field(default_factory=dict)
    lemmas: Mapping[str, Lemma] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()

    def find(self, statement: Statement) -> Proof | None:
        """Return the proof of a statement, or None. If several fit its reading, take the one with the most choices."""
        claim = statement.key.partition(":")[2]
        fitting = [
            proof
            for proof in self.proofs
            if (proof.of, proof.variant) == (claim, statement.variant)
            and proof.reading.items() <= statement.reading.items()
        ]
        return max(fitting, key=lambda proof: len(proof.reading), default=None)

    def proofs_of(self, claim: str) -> tuple[Proof, ...]:
        """Return the proofs of a claim, given its id without the paper."""
        return tuple(proof for proof in self.proofs if proof.of == claim)

    def digest(self, claim: str) -> str:
        """Return the text of the proofs of a claim and of all records that they cite; empty without a proof."""
        proofs = [msgspec.to_builtins(proof) for proof in self.proofs_of(claim)]
        if not proofs:
            return ""
        abbreviations = {
            f"let.{head.partition('(')[0]}": [head, value]
            for head, value in self.let.items()
        }
        citable = {
            name: msgspec.to_builtins(record)
            for name, record in {**self.given, **self.lemmas}.items()
        }
        records: dict[str, object] = abbreviations | citable
        cited: dict[str, object] = {}
        todo = [json.dumps(proofs)]
        while todo:
            # a line break in JSON ends with a letter, which would join the next word
            text = todo.pop().replace("\\n", " ")
            names = {
                *_WORD.findall(text),
                *(f"let.{letter}" for letter in _LETTER.findall(text)),
            }
            for name in names & records.keys() - cited.keys():
                cited[name] = records[name]
                todo.append(json.dumps(records[name]))
        return json.dumps([proofs, cited], sort_keys=True, ensure_ascii=False)


def book_of(file: ProofsFile, vocabulary: Vocabulary) -> ProofBook:
    """Return the book of a paper, without checking its records."""
    premises = {premise.id: premise for premise in file.given}
    return ProofBook(
        vocabulary,
        file.let,
        premises,
        {lemma.id: lemma for lemma in file.lemma},
        tuple(file.proof),
    )


def book_problems(
    file: ProofsFile, claims: Mapping[str, ClaimSpec], place: Place
) -> Iterator[SpecError]:
    """Yield the errors in the proofs of a paper."""
    yield from _problems_of_let(file.let, place)
    ids: set[str] = set()
    records: list[GivenPremise | Lemma] = [*file.given, *file.lemma]
    for record in records:
        entry = place.in_record(record.id)
        if not _ID.fullmatch(record.id):
            yield entry.at("id").error(
                shown(record.id), "an id is words in small letters with hyphens"
            )
        if record.id in ids:
            yield entry.at("id").error(
                shown(record.id), "an id is given once, this one twice"
            )
        ids.add(record.id)
        if isinstance(record, Lemma):
            yield from _problems_of_letters(record, file.let, entry)
            yield from _problems_of_conditions(record.requires, entry)
            yield from _problems_of_chain(record.chain, entry.at("chain"))
        else:
            yield from _problems_of_conditions(record.requires, entry)
            yield from _problems_of_given(record, entry)
    for position, proof in enumerate(file.proof):
        entry = place.in_record(proof.of)
        yield from _problems_of_proof(proof, file.proof[:position], claims, entry)
        yield from _problems_of_letters(proof, file.let, entry)


def _problems_of_let(let: Mapping[str, str], place: Place) -> Iterator[SpecError]:
    for name, value in let.items():
        try:
            head = parse(name)
            parse(value)
        except FormulaError as error:
            yield place.at(f"let.{name}").formula_error(error)
            continue
        plain = isinstance(head, Call) and all(
            isinstance(argument, Name) for argument in head.args
        )
        if not (isinstance(head, Name) or plain):
            yield place.at("let").error(
                shown(name),
                "an abbreviation is a name, or a name with letters: decays(s)",
            )


def _problems_of_conditions(conditions: list[str], place: Place) -> Iterator[SpecError]:
    for i, condition in enumerate(conditions):
        try:
            parse_relation(condition)
        except FormulaError as error:
            yield place.at(f"requires[{i}]").formula_error(error)


def _problems_of_given(premise: GivenPremise, place: Place) -> Iterator[SpecError]:
    if not premise.words.strip():
        yield place.at("words").error(
            shown(premise.words), "what is taken for granted is said in words"
        )
    try:
        if len(parse_relation(premise.says).ops) != 1:
            yield place.at("says").error(shown(premise.says), "a premise has two sides")
    except FormulaError as error:
        yield place.at("says").formula_error(error)


def _problems_of_letters(
    record: Lemma | Proof, shared: Mapping[str, str], place: Place
) -> Iterator[SpecError]:
    """Yield the errors in the letters and abbreviations of a proof or a lemma."""
    yield from _problems_of_let(record.let, place)
    for name, domain in record.letters.items():
        entry = place.at(f"letters.{name}")
        if name in shared or name in record.let:
            yield entry.error(
                shown(name),
                "a letter must not have the name of an abbreviation: it would be replaced",
            )
        if LAWS.fullmatch(domain):
            continue
        try:
            parse_domain(domain)
        except FormulaError as error:
            yield entry.formula_error(error)


def _problems_of_proof(
    proof: Proof, before: list[Proof], claims: Mapping[str, ClaimSpec], place: Place
) -> Iterator[SpecError]:
    if proof.of not in claims:
        rule = f"the paper has no such claim{suggest(proof.of, claims)}"
        yield place.at("of").error(shown(proof.of), rule)
        return
    same = (proof.of, proof.variant, proof.reading)
    if any(
        (earlier.of, earlier.variant, earlier.reading) == same for earlier in before
    ):
        yield place.at("of").error(
            shown(proof.of), "a statement has one proof, this one has two"
        )
    fitting = [s for s in claims[proof.of].statements() if s.variant == proof.variant]
    if not any(
        proof.reading.items() <= statement.reading.items() for statement in fitting
    ):
        rule = "the claim has no such statement: see its readings and its verdict"
        yield place.at("variant").error(shown(proof.variant), rule)
    yield from _problems_of_chain(proof.chain, place.at("chain"))


def _problems_of_chain(text: str, place: Place) -> Iterator[SpecError]:
    try:
        _: Chain = parse_chain(text)
    except FormulaError as error:
        yield place.formula_error(error)
