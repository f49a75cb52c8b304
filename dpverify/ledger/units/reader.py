"""The units of one record: which are stated, which its equations determine, and which comparisons test them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from dpverify.ledger.definitions import Glossary
from dpverify.ledger.formula import Compare, Formula, Name
from dpverify.ledger.proofs.book import ProofBook
from dpverify.ledger.records import ORDERS, Symbol
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.statements import Statement
from dpverify.ledger.units.exponents import PLAIN, Equations, Scaling, unknown_unit
from dpverify.ledger.units.records import UnitsFile
from dpverify.ledger.units.terms import Terms, number_of
from dpverify.ledger.vocabulary import Domain

PLAIN_LETTERS = ("epsilon", "delta")
"""Letters of real numbers that have no unit in any paper, as in the search for practical counterexamples."""


class StatedUnits:
    """The units that a paper's ``units.toml`` states."""

    def __init__(self, paper: PaperSpec, file: UnitsFile) -> None:
        self.paper = paper
        self.file = file
        first = next(iter(paper.claims.values()), None)
        self.glossary = Glossary() if first is None else first.glossary
        self.proofs = ProofBook() if first is None else first.proofs
        self.everywhere: dict[str, Scaling] = {}
        self.in_claims: dict[tuple[str, str], Scaling] = {}
        for group in file.unit:
            unit = Scaling((Fraction(group.loss), Fraction(group.length)))
            for name in group.names:
                self.in_claims.update(((claim, name), unit) for claim in group.claims)
                if not group.claims:
                    self.everywhere[name] = unit
        self.explanations = {record: entry.why for entry in file.expected for record in entry.of}
        self.normalised: dict[str, list[Scaling]] = {}
        self.reasons: dict[str, str] = {}
        for entry in file.normalised:
            for record in entry.of:
                self.normalised.setdefault(record, []).append(Scaling((Fraction(entry.loss), Fraction(entry.length))))
                self.reasons[record] = f"{self.reasons[record]} {entry.why}" if record in self.reasons else entry.why

    def of(self, name: str, claim: str) -> Scaling | None:
        """Return the unit that is stated for a name in a claim."""
        return self.in_claims.get((claim, name)) or self.everywhere.get(name)

    def letters(self) -> dict[str, Symbol]:
        """Return the letters that definitions and facts introduce."""
        return {name: letter for meaning in self.glossary.meanings for name, letter in meaning.record.letters.items()}

    def unknown_names(self) -> Iterator[str]:
        """Yield a line for each name and each claim of the file that the paper does not have."""
        vocabulary = self.paper.vocabulary
        names = {*vocabulary.symbols, *vocabulary.functions, *vocabulary.quantities, *self.letters()}
        for lemma in self.proofs.lemmas.values():
            names |= lemma.letters.keys()
        for proof in self.proofs.proofs:
            names |= proof.letters.keys()
        records = {*self.paper.claims, *(f"lemma {name}" for name in self.proofs.lemmas)}
        records |= {f"definition {meaning.record.name}" for meaning in self.glossary.meanings}
        for group in self.file.unit:
            yield from (f"unit: the paper has no letter {name!r}" for name in group.names if name not in names)
            yield from (f"unit: the paper has no record {record!r}" for record in group.claims if record not in records)
        yield from (
            f"normalised: the paper has no record {record!r}" for record in self.reasons if record not in records
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
        self.met: dict[str, Scaling] = {}
        self.equations = Equations(stated.normalised.get(record, ()))
        self.terms = Terms(self.lookup, self.equations)
        self.is_tested = True

    def lookup(self, name: str) -> Scaling:
        """Return the unit of a letter or, with brackets after its name, of a function's value."""
        if name not in self.met:
            self.met[name] = self.known(name) or unknown_unit(name)
        return self.met[name]

    def known(self, name: str) -> Scaling | None:
        """Return the unit that is stated, or that the record of the letter implies."""
        unit = self.stated.of(name.removesuffix("()"), self.claim)
        domain = self.domains.get(name)
        symbol = self.symbols.get(name)
        has_role = name in PLAIN_LETTERS or (symbol is not None and symbol.role is not None)
        if unit is None and (has_role or (domain is not None and domain.kind == "integer")):
            return PLAIN
        return unit

    def undetermined(self) -> list[str]:
        """Return the names whose unit neither the file states nor the equations determine."""
        return sorted(name for name, unit in self.met.items() if self.equations.reduced(unit).unknown)

    def normalise(self, conditions: list[tuple[Formula, Formula]]) -> None:
        """Note each letter that a condition sets to a number other than 0: its unit is 1 in this record."""
        for left, right in (*conditions, *((right, left) for left, right in conditions)):
            value = number_of(right)
            if isinstance(left, Name) and value and (unit := self.known(left.id)) is not None:
                self.equations.normalised.append(unit.powers)

    def read_domains(self) -> None:
        """Read the conditions on the letters."""
        for name, domain in self.domains.items():
            for condition in domain.constraints:
                self.terms.at(f"domain of {name}").compare(condition)

    def read_statement(self, statement: Statement) -> None:
        """Read a statement: first what may determine a unit, then the comparison of its sides."""
        equalities = [_sides(condition) for condition in statement.requires if condition.ops == ("==",)]
        self.normalise([*equalities, *((Name(symbol), value) for symbol, value in statement.let)])
        self.read_domains()
        for condition in statement.requires:
            self.terms.at("condition").compare(condition)
        for symbol, value in statement.let:
            self.terms.at(f"value of {symbol}").alike((Name(symbol), value))
        if statement.rhs is None:
            return
        left = Name(statement.quantity) if statement.lhs is None and statement.quantity else statement.lhs
        sides = [side for side in (left, statement.rhs) if side is not None]
        self.compare_sides(sides, sorted(statement.hides) if statement.relation in ORDERS else [])

    def compare_sides(self, sides: Iterable[Formula], hidden: Iterable[str] = ()) -> None:
        """Compare the sides of a statement, up to units of the letters that the constant of an order may depend on."""
        measured = [(side, self.terms.at("the two sides").unit(side)) for side in sides]
        units = [self.equations.reduced(self.lookup(name)) for name in hidden]
        if any(unit.unknown for unit in units):
            self.is_tested = False
            return
        tests = self.equations.tests
        self.terms.match(measured, units)
        self.is_tested = self.equations.tests > tests or any(unit is None for _, unit in measured)


def _sides(condition: Compare) -> tuple[Formula, Formula]:
    return condition.operands[0], condition.operands[1]
