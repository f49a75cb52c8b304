"""The units of a proof as text: all lines of a chain have one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dpverify.ledger.definitions import Definition
from dpverify.ledger.formula import Call, Formula, Name, children, parse, parse_relation, walk, with_pi
from dpverify.ledger.proofs.book import LAWS, ProofBook
from dpverify.ledger.proofs.chains import Chain, ChainLine, formulas_of, parse_chain
from dpverify.ledger.proofs.records import Lemma, Proof
from dpverify.ledger.records import ORDERS
from dpverify.ledger.statements import Statement
from dpverify.ledger.units.exponents import PLAIN, Scaling
from dpverify.ledger.units.reader import RecordReader, StatedUnits
from dpverify.ledger.vocabulary import Domain, parse_domain


class ProofReader(RecordReader):
    """Reads the formulas of a proof, whose letters may be those of definitions too."""

    declared: frozenset[str] = frozenset()

    def known(self, name: str) -> Scaling | None:
        """Return the unit that is stated, or that the record of the letter implies; the proof's letters are new."""
        if name.removesuffix("()") not in self.declared:
            return super().known(name)
        domain = self.domains.get(name)
        return PLAIN if domain is not None and domain.kind == "integer" else None

    def text(self, text: str) -> Formula:
        """Parse a formula of the proof."""
        return with_pi(parse(text), self.stated.paper.vocabulary.symbols)

    def abbreviate(self, values: Mapping[str, str]) -> None:
        """Note what abbreviations mean."""
        for text, value in values.items():
            head = self.text(text)
            letters = tuple(letter.id for letter in children(head) if isinstance(letter, Name))
            self.terms.abbreviations[_name_of(head)] = letters, self.text(value)

    def read_chain(self, chain: Chain) -> None:
        """Read the lines of a chain, and those of its cases; an induction's parts have units of their own."""
        measured = [(chain.start, self.terms.at("line 1").unit(chain.start))]
        for line in _lines(chain.lines):
            self.terms.at(f"line {line.number}")
            self.terms.match([measured[0], (line.formula, self.terms.unit(line.formula))])
            for condition, _ in line.cases:
                self.terms.compare(condition)
            for part in line.induction or ():
                self.terms.alike(part_line.formula for part_line in _lines(part))


def _name_of(node: object) -> str:
    return node.name if isinstance(node, Call) else node.id if isinstance(node, Name) else ""


def _lines(lines: Iterable[ChainLine]) -> Iterator[ChainLine]:
    for line in lines:
        yield line
        for _, inside in line.cases:
            yield from _lines(inside)


def read_proof(statement: Statement, proof: Proof, book: ProofBook, stated: StatedUnits) -> RecordReader:
    """Read a proof of a statement: the units are those that the statement determines."""
    chain = parse_chain(proof.chain)
    reader = _reader(stated, statement.key.partition(":")[2], proof.letters, statement.domains)
    reader.read_statement(statement)
    reader.terms.mismatches.clear()  # those of the statement are its own
    reader.abbreviate({**book.let, **proof.let})
    quantity = Name(statement.quantity) if statement.quantity else None
    for name, side in (("left", statement.lhs or quantity), ("right", statement.rhs)):
        if side is not None and name not in statement.symbols:
            reader.terms.abbreviations[name] = (), side
    tests = reader.equations.tests
    if statement.rhs is not None and statement.relation not in ORDERS:
        reader.terms.at("line 1 and the printed side").alike((statement.rhs, chain.start))
    reader.read_chain(chain)
    reader.is_tested = reader.equations.tests > tests
    return reader


def read_lemma(lemma: Lemma, book: ProofBook, stated: StatedUnits) -> RecordReader:
    """Read a lemma of ``proofs.toml``."""
    chain = parse_chain(lemma.chain)
    vocabulary = stated.paper.vocabulary
    nodes = [chain.start, *formulas_of(chain.lines)]
    reader = _reader(stated, f"lemma {lemma.id}", lemma.letters, vocabulary.domains)
    used = {_name_of(part) for node in nodes for part in walk(node)}
    reader.domains = {name: domain for name, domain in reader.domains.items() if name in used}
    reader.read_domains()
    for condition in lemma.requires:
        reader.terms.at("condition").compare(parse_relation(condition))
    reader.abbreviate({**book.let, **lemma.let})
    tests = reader.equations.tests
    reader.read_chain(chain)
    reader.is_tested = reader.equations.tests > tests
    return reader


def _reader(stated: StatedUnits, record: str, letters: Mapping[str, str], domains: Mapping[str, Domain]) -> ProofReader:
    """Make a reader that knows the letters of definitions; those of the proof hide letters of the same name."""
    of_definitions: dict[str, Domain] = {}
    for meaning in stated.glossary.meanings:
        if isinstance(meaning.record, Definition):
            of_definitions |= {name: Domain(meaning.statement.domains[name].kind) for name in meaning.record.letters}
    declared = {name: Domain("real") if LAWS.fullmatch(text) else parse_domain(text) for name, text in letters.items()}
    reader = ProofReader(stated, record, {**of_definitions, **domains, **declared}, stated.paper.vocabulary.symbols)
    reader.declared = frozenset(letters)
    return reader
