"""Definitions of measured quantities and of the paper's functions as formulas, and facts of the literature."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from dpverify.ledger.errors import Place, Problems, SpecError, shown, suggest
from dpverify.ledger.formula import Call, FormulaError, Name, children
from dpverify.ledger.reading import StatementReader, Wording
from dpverify.ledger.records import Let, Record, Relation, Symbol
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, Vocabulary


class Definition(Record, frozen=True, kw_only=True):
    """An equation that defines a quantity or a function of ``claims.toml``, with a justification in words.

    Letters that the formula introduces range over their whole domain: a bound on the quantity is a bound on the
    formula for all their values.
    """

    name: str
    # the left side of a function's equation, such as ``momentum(t)``
    at: str | None = None
    formula: str
    part: str = ""  # tells several equations of one function apart: ``start``, ``step``
    requires: list[str] = []
    let: list[Let] = []
    letters: dict[str, Symbol] = {}
    # ids of the claims that use this definition; all claims of the paper if empty
    claims: list[str] = []
    reading: dict[str, str] = {}
    # whether the words argue that this is the
    # worst case; proofs then name it as a premise
    argued: bool = False
    where: str
    quote: str
    words: str


class Fact(Record, frozen=True, kw_only=True):
    """A theorem of the literature that derivations may assume. It is shown with its citation."""

    name: str
    citation: str
    lhs: str
    relation: Relation
    formula: str
    requires: list[str] = []
    let: list[Let] = []
    letters: dict[str, Symbol] = {}
    words: str


class DefinitionsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/definitions.toml``."""

    definition: list[Definition] = []
    fact: list[Fact] = []


@dataclass(frozen=True)
class Meaning:
    """A definition or a fact with its formulas parsed."""

    record: Definition | Fact
    # both sides, conditions and domains; a definition of a quantity has no left side
    statement: Statement

    def __str__(self) -> str:
        record = self.record
        conditions_required = self.record.requires
        if isinstance(record, Fact):
            return f"{record.words} ({record.citation})"
        domains = (
            letter.domain.partition(", ")[2] for letter in record.letters.values()
        )
        conditions = ", ".join(filter(None, [*domains, *conditions_required]))
        with_these = ", ".join(f"{let.symbol} = {let.value}" for let in record.let)
        text = "argued in words: " if record.argued else ""
        text += f"{record.at or record.name} = {record.formula}{f' with {with_these}' if with_these else ''}"
        return " ".join((f"{text} for {conditions}" if conditions else text).split())


@dataclass(frozen=True)
class Glossary:
    """The definitions and facts of a paper."""

    meanings: tuple[Meaning, ...] = ()

    def definition(
        self, name: str, claim: str, reading: Mapping[str, str], part: str = ""
    ) -> Meaning | None:
        """Return the definition that a claim uses for a name, under a choice of its readings, or None."""
        fitting = [
            (_weight(record), meaning)
            for meaning in self.meanings
            if isinstance(record := meaning.record, Definition)
            and (record.name, record.part) == (name, part)
            and (not record.claims or claim in record.claims)
            and record.reading.items() <= reading.items()
        ]
        return max(fitting, key=lambda pair: pair[0], default=(None, None))[1]

    def fact(self, name: str) -> Meaning | None:
        """Return the fact with a name, or None."""
        return next(
            (
                m
                for m in self.meanings
                if isinstance(m.record, Fact) and m.record.name == name
            ),
            None,
        )

    @cached_property
    def digest(self) -> str:
        """All formulas, conditions and domains as text, without quotes and words."""
        prose = {"where", "quote", "words", "citation"}
        records = [msgspec.to_builtins(meaning.record) for meaning in self.meanings]
        contents = [
            {name: value for name, value in record.items() if name not in prose}
            for record in records
        ]
        domains = [
            {name: str(domain) for name, domain in m.statement.domains.items()}
            for m in self.meanings
        ]
        return (
            json.dumps([contents, domains], sort_keys=True, ensure_ascii=False)
            if contents
            else ""
        )


def read_glossary(
    file: DefinitionsFile, vocabulary: Vocabulary, place: Place, problems: Problems
) -> Glossary:
    """Read the definitions and facts of a paper, and add their errors to `problems`."""
    problems.extend(_repeated(file, place))
    records: list[Definition | Fact] = [*file.definition, *file.fact]
    return Glossary(
        tuple(
            _read(record, vocabulary, place.in_record(record.name), problems)
            for record in records
        )
    )


def _read(
    record: Definition | Fact, vocabulary: Vocabulary, place: Place, problems: Problems
) -> Meaning:
    own_vocabulary = _with_letters(record, vocabulary, place, problems)
    quantity, left, relation = _left(record)
    wording = Wording(
        quantity,
        left,
        relation,
        record.formula,
        None,
        record.requires,
        [],
        record.let,
        printed="formula",
    )
    statement = StatementReader(wording, own_vocabulary, place, problems).read(
        None, place.claim, {}
    )
    # also unused letters
    names = sorted(
        statement.domains.keys() | own_vocabulary.with_domains(record.letters)
    )
    domains = {name: own_vocabulary.domains[name] for name in names}
    symbols = {name: own_vocabulary.symbols[name] for name in names}
    statement = replace(statement, domains=domains, symbols=symbols)
    if isinstance(record, Definition):
        problems.extend(_definition_problems(record, statement, vocabulary, place))
    return Meaning(record, statement)


def _left(record: Definition | Fact) -> tuple[str | None, str | None, Relation]:
    """Return the quantity on the left side, the formula on the left side (one of the two is None) and the relation."""
    if isinstance(record, Fact):
        return None, record.lhs, record.relation
    return None if record.at else record.name, record.at, "="


def _with_letters(
    record: Definition | Fact, vocabulary: Vocabulary, place: Place, problems: Problems
) -> Vocabulary:
    """Return the paper's vocabulary with the letters that a record introduces."""
    own_vocabulary = replace(
        vocabulary,
        symbols=vocabulary.symbols | record.letters,
        domains=dict(vocabulary.domains),
    )
    for name, letter in record.letters.items():
        letter_place = place.at(f"letters.{name}")
        own_vocabulary.domains[name] = Domain("real")
        if name in vocabulary.symbols or name in vocabulary.functions:
            problems.append(
                letter_place.error(
                    shown(name), "a letter is new: the paper's own are in claims.toml"
                )
            )
        try:
            own_vocabulary.domains[name] = own_vocabulary.domain(letter.domain, name)
        except FormulaError as error:
            problems.append(
                letter_place.at(f"letters.{name}.domain").formula_error(error)
            )
    return own_vocabulary


def _definition_problems(
    record: Definition, statement: Statement, paper: Vocabulary, place: Place
) -> Iterator[SpecError]:
    """Yield the errors in the left side of a definition, and an error for each missing text."""
    if record.at is not None and record.name not in paper.functions:
        rule = (
            f"claims.toml has no such function{suggest(record.name, paper.functions)}"
        )
        yield place.at("name").error(shown(record.name), rule)
    elif record.at is not None and not (
        isinstance(statement.lhs, Call) and statement.lhs.name == record.name
    ):
        yield place.at("at").error(
            shown(record.at), f"the left side is {record.name}, applied"
        )
    for field in ("where", "quote", "words"):
        if not getattr(record, field).strip():
            yield place.at(field).error(
                "", "a definition says where the paper has it, in its words and in ours"
            )
    letters = (
        Counter(
            place.id for place in children(statement.lhs) if isinstance(place, Name)
        )
        if statement.lhs
        else {}
    )
    if twice := [name for name, count in letters.items() if count > 1]:
        yield place.at("at").error(
            shown(twice[0]), "each place of the left side has a letter of its own"
        )


def _weight(record: Definition) -> tuple[bool, int]:
    return bool(record.claims), len(record.reading)


def _repeated(file: DefinitionsFile, place: Place) -> Iterator[SpecError]:
    """Yield an error for each name that could refer to two records."""
    for first, second in itertools.combinations(file.definition, 2):
        same = (first.name, first.part, _weight(first)) == (
            second.name,
            second.part,
            _weight(second),
        )
        is_disjoint = first.claims and not set(first.claims) & set(second.claims)
        differ = any(
            second.reading.get(name, choice) != choice
            for name, choice in first.reading.items()
        )
        if same and not is_disjoint and not differ:
            yield (
                place.in_record(first.name)
                .at("name")
                .error(
                    shown(first.part or first.name), "two definitions fit equally well"
                )
            )
    for name, count in Counter(fact.name for fact in file.fact).items():
        if count > 1:
            yield (
                place.in_record(name)
                .at("name")
                .error(shown(name), "a fact is given once, this one twice")
            )


def unknown_claims(
    file: DefinitionsFile, claims: Mapping[str, object], place: Place
) -> Iterator[SpecError]:
    """Yield an error for each claim id in a definition that the paper does not have."""
    for record in file.definition:
        for i, claim in enumerate(record.claims):
            if claim not in claims:
                rule = f"the paper has no such claim{suggest(claim, claims)}"
                yield (
                    place.in_record(record.name)
                    .at(f"claims[{i}]")
                    .error(shown(claim), rule)
                )
