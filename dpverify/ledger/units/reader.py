"""The units of one record or proof: stated units, units that its equations determine, and comparisons that test them.

All lines of a chain of a proof have the same unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from dpverify.ledger.definitions import Definition, Glossary
from dpverify.ledger.formula import (
    Call,
    Compare,
    Formula,
    Name,
    children,
    parse,
    parse_relation,
    walk,
    with_pi,
)
from dpverify.ledger.proof_book import LAWS, Lemma, Proof, ProofBook
from dpverify.ledger.proof_chains import Chain, ChainLine, formulas_of, parse_chain
from dpverify.ledger.records import ORDERS, Symbol
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.statements import Statement
from dpverify.ledger.units.scaling import (
    UNITLESS,
    Equations,
    Scaling,
    UnitsFile,
    unknown_unit,
)
from dpverify.ledger.units.terms import Terms, number_of
from dpverify.ledger.vocabulary import Domain, parse_domain

UNITLESS_LETTERS = ("epsilon", "delta")
"""Real-valued letters without a unit in any paper, as in the search for practical counterexamples."""


class StatedUnits:
    """The units that a paper's ``units.toml`` states."""

    def __init__(self, paper: PaperSpec, file: UnitsFile) -> None:
        self.paper = paper
        self.file = file
        first = next(iter(paper.claims.values()), None)
        self.glossary = Glossary() if first is None else first.glossary
        self.proofs = ProofBook() if first is None else first.proofs
        self.default_units: dict[str, Scaling] = {}
        self.claim_units: dict[tuple[str, str], Scaling] = {}
        for group in file.unit:
            unit = Scaling((Fraction(group.loss), Fraction(group.length)))
            for name in group.names:
                self.claim_units.update(((claim, name), unit) for claim in group.claims)
                if not group.claims:
                    self.default_units[name] = unit
        self.explanations = {
            record: entry.why for entry in file.expected for record in entry.of
        }
        self.normalised: dict[str, list[Scaling]] = {}
        self.reasons: dict[str, str] = {}
        for entry in file.normalised:
            for record in entry.of:
                self.normalised.setdefault(record, []).append(
                    Scaling((Fraction(entry.loss), Fraction(entry.length)))
                )
                self.reasons[record] = (
                    f"{self.reasons[record]} {entry.why}"
                    if record in self.reasons
                    else entry.why
                )

    def unit_of(self, name: str, claim: str) -> Scaling | None:
        """Return the unit that is stated for a name in a claim."""
        return self.claim_units.get((claim, name)) or self.default_units.get(name)

    def letters(self) -> dict[str, Symbol]:
        """Return the letters that definitions and facts introduce."""
        return {
            name: letter
            for meaning in self.glossary.meanings
            for name, letter in meaning.record.letters.items()
        }

    def unknown_names(self) -> Iterator[str]:
        """Yield a line for each name and each claim of the file that the paper does not have."""
        vocabulary = self.paper.vocabulary
        names = {
            *vocabulary.symbols,
            *vocabulary.functions,
            *vocabulary.quantities,
            *self.letters(),
        }
        for lemma in self.proofs.lemmas.values():
            names |= lemma.letters.keys()
        for proof in self.proofs.proofs:
            names |= proof.letters.keys()
        records = {
            *self.paper.claims,
            *(f"lemma {name}" for name in self.proofs.lemmas),
        }
        records |= {
            f"definition {meaning.record.name}" for meaning in self.glossary.meanings
        }
        for group in self.file.unit:
            yield from (
                f"unit: the paper has no letter {name!r}"
                for name in group.names
                if name not in names
            )
            yield from (
                f"unit: the paper has no record {record!r}"
                for record in group.claims
                if record not in records
            )
        yield from (
            f"normalised: the paper has no record {record!r}"
            for record in self.reasons
            if record not in records
        )


class RecordReader:
    """Reads the formulas of one record, with one set of equations."""

    def __init__(
        self,
        stated: StatedUnits,
        record: str,
        domains: Mapping[str, Domain],
        symbols: Mapping[str, Symbol],
        claim: str = "",
    ) -> None:
        self.stated = stated
        self.claim = claim or record
        self.domains = domains
        self.symbols = symbols
        self.units: dict[str, Scaling] = {}
        self.equations = Equations(stated.normalised.get(record, ()))
        self.terms = Terms(self.lookup, self.equations)
        self.is_tested = True

    def lookup(self, name: str) -> Scaling:
        """Return the unit of a letter or, with brackets after its name, of a function's value."""
        if name not in self.units:
            self.units[name] = self.known_unit(name) or unknown_unit(name)
        return self.units[name]

    def known_unit(self, name: str) -> Scaling | None:
        """Return the unit that is stated, or that the record of the letter implies."""
        unit = self.stated.unit_of(name.removesuffix("()"), self.claim)
        domain = self.domains.get(name)
        symbol = self.symbols.get(name)
        has_role = name in UNITLESS_LETTERS or (
            symbol is not None and symbol.role is not None
        )
        if unit is None and (
            has_role or (domain is not None and domain.kind == "integer")
        ):
            return UNITLESS
        return unit

    def undetermined(self) -> list[str]:
        """Return the names whose unit neither the file states nor the equations determine."""
        return sorted(
            name
            for name, unit in self.units.items()
            if self.equations.reduced(unit).unknown
        )

    def normalise(self, conditions: list[tuple[Formula, Formula]]) -> None:
        """Note each letter that a condition sets to a number other than 0: its unit is 1 in this record."""
        for left, right in (
            *conditions,
            *((right, left) for left, right in conditions),
        ):
            value = number_of(right)
            if (
                isinstance(left, Name)
                and value
                and (unit := self.known_unit(left.id)) is not None
            ):
                self.equations.normalised.append(unit.powers)

    def read_domains(self) -> None:
        """Read the conditions in the domains of the letters."""
        for name, domain in self.domains.items():
            for condition in domain.constraints:
                self.terms.at(f"domain of {name}").compare(condition)

    def read_statement(self, statement: Statement) -> None:
        """Read a statement: first what may determine a unit, then the comparison of its sides."""
        equalities = [
            _sides(condition)
            for condition in statement.requires
            if condition.ops == ("==",)
        ]
        self.normalise(
            [*equalities, *((Name(symbol), value) for symbol, value in statement.let)]
        )
        self.read_domains()
        for condition in statement.requires:
            self.terms.at("condition").compare(condition)
        for symbol, value in statement.let:
            self.terms.at(f"value of {symbol}").alike((Name(symbol), value))
        if statement.rhs is None:
            return
        left = (
            Name(statement.quantity)
            if statement.lhs is None and statement.quantity
            else statement.lhs
        )
        sides = [side for side in (left, statement.rhs) if side is not None]
        self.compare_sides(
            sides, sorted(statement.hides) if statement.relation in ORDERS else []
        )

    def compare_sides(
        self, sides: Iterable[Formula], hidden: Iterable[str] = ()
    ) -> None:
        """Compare the sides of a statement, up to the units of letters on which the constant of an O may depend."""
        measured = [(side, self.terms.at("the two sides").unit(side)) for side in sides]
        units = [self.equations.reduced(self.lookup(name)) for name in hidden]
        if any(unit.unknown for unit in units):
            self.is_tested = False
            return
        tests = self.equations.tests
        self.terms.match(measured, units)
        self.is_tested = self.equations.tests > tests or any(
            unit is None for _, unit in measured
        )


def _sides(condition: Compare) -> tuple[Formula, Formula]:
    return condition.operands[0], condition.operands[1]


class ProofReader(RecordReader):
    """Reads the formulas of a proof, which may also use the letters of definitions."""

    declared: frozenset[str] = frozenset()

    def known_unit(self, name: str) -> Scaling | None:
        """Return the unit that is stated or implied; letters that the proof declares have no stated unit."""
        if name.removesuffix("()") not in self.declared:
            return super().known_unit(name)
        domain = self.domains.get(name)
        return UNITLESS if domain is not None and domain.kind == "integer" else None

    def text(self, text: str) -> Formula:
        """Parse a formula of the proof."""
        return with_pi(parse(text), self.stated.paper.vocabulary.symbols)

    def abbreviate(self, values: Mapping[str, str]) -> None:
        """Store the values of abbreviations."""
        for text, value in values.items():
            head = self.text(text)
            letters = tuple(
                letter.id for letter in children(head) if isinstance(letter, Name)
            )
            self.terms.abbreviations[_name_of(head)] = letters, self.text(value)

    def read_chain(self, chain: Chain) -> None:
        """Read the lines of a chain and of its cases. Each part of an induction may have another unit."""
        measured = [(chain.start, self.terms.at("line 1").unit(chain.start))]
        for line in _lines(chain.lines):
            self.terms.at(f"line {line.number}")
            self.terms.match(
                [measured[0], (line.formula, self.terms.unit(line.formula))]
            )
            for condition, _ in line.cases:
                self.terms.compare(condition)
            for part in line.induction or ():
                self.terms.alike(part_line.formula for part_line in _lines(part))


def _name_of(node: object) -> str:
    return (
        node.name
        if isinstance(node, Call)
        else node.id
        if isinstance(node, Name)
        else ""
    )


def _lines(lines: Iterable[ChainLine]) -> Iterator[ChainLine]:
    for line in lines:
        yield line
        for _, inside in line.cases:
            yield from _lines(inside)


def read_proof(
    statement: Statement, proof: Proof, book: ProofBook, stated: StatedUnits
) -> RecordReader:
    """Read a proof of a statement, with the units that the statement determines."""
    chain = parse_chain(proof.chain)
    reader = _proof_reader(
        stated, statement.key.partition(":")[2], proof.letters, statement.domains
    )
    reader.read_statement(statement)
    reader.terms.mismatches.clear()  # the result of the statement has these
    reader.abbreviate({**book.let, **proof.let})
    quantity = Name(statement.quantity) if statement.quantity else None
    for name, side in (("left", statement.lhs or quantity), ("right", statement.rhs)):
        if side is not None and name not in statement.symbols:
            reader.terms.abbreviations[name] = (), side
    tests = reader.equations.tests
    if statement.rhs is not None and statement.relation not in ORDERS:
        reader.terms.at("line 1 and the printed side").alike(
            (statement.rhs, chain.start)
        )
    reader.read_chain(chain)
    reader.is_tested = reader.equations.tests > tests
    return reader


def read_lemma(lemma: Lemma, book: ProofBook, stated: StatedUnits) -> RecordReader:
    """Read a lemma of ``proofs.toml``."""
    chain = parse_chain(lemma.chain)
    vocabulary = stated.paper.vocabulary
    nodes = [chain.start, *formulas_of(chain.lines)]
    reader = _proof_reader(
        stated, f"lemma {lemma.id}", lemma.letters, vocabulary.domains
    )
    used = {_name_of(part) for node in nodes for part in walk(node)}
    reader.domains = {
        name: domain for name, domain in reader.domains.items() if name in used
    }
    reader.read_domains()
    for condition in lemma.requires:
        reader.terms.at("condition").compare(parse_relation(condition))
    reader.abbreviate({**book.let, **lemma.let})
    tests = reader.equations.tests
    reader.read_chain(chain)
    reader.is_tested = reader.equations.tests > tests
    return reader


def _proof_reader(
    stated: StatedUnits,
    record: str,
    letters: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> ProofReader:
    """Make a reader that also knows the letters of definitions. The proof's letters hide letters of the same name."""
    letter_domains: dict[str, Domain] = {}
    for meaning in stated.glossary.meanings:
        if isinstance(meaning.record, Definition):
            letter_domains |= {
                name: Domain(meaning.statement.domains[name].kind)
                for name in meaning.record.letters
            }
    declared = {
        name: Domain("real") if LAWS.fullmatch(text) else parse_domain(text)
        for name, text in letters.items()
    }
    reader = ProofReader(
        stated,
        record,
        {**letter_domains, **domains, **declared},
        stated.paper.vocabulary.symbols,
    )
    reader.declared = frozenset(letters)
    return reader
