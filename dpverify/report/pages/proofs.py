"""The page of a paper's proofs: the proved statements, the lines of their proofs, and everything that lines cite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from dpverify.ledger.claims import ClaimSpec, display
from dpverify.ledger.definitions import Definition, Fact, Glossary, Meaning
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.proof_book import GivenPremise, Lemma, Proof, ProofBook
from dpverify.ledger.records import Symbol
from dpverify.ledger.results import Result
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.statements import Statement, Variant
from dpverify.ledger.vocabulary import parse_domain
from dpverify.report import markdown as md
from dpverify.report.pages.layout import Places
from dpverify.report.pages.rules import ProofLines, proof_for, proof_place
from dpverify.report.pages.templates import ProofTarget
from dpverify.report.statements import KINDS, block_of_lines

PAGE = "proofs.md"
"""The page of a long paper's proofs, in the paper's folder."""

_NORM = re.compile(r"gaussian norm\((?P<dimension>.*),(?P<variance>[^,]*)\)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]\w*")
_BITS = "set bits of "
_MEASURED = "measured"
_LAWS = {
    "random": "a random vector",
    "vector": "a vector",
    "function": "a function of whole numbers",
}


def proof_book(paper: PaperSpec | None) -> ProofBook:
    """Return the proofs of a paper; an empty book if it has none."""
    claims = () if paper is None else paper.claims.values()
    return next((claim.proofs for claim in claims), ProofBook())


def proof_targets(paper: PaperSpec | None, page: str) -> ProofTarget:
    """Return a function from statements to links to their proofs on the page of proofs with the path ``page``."""
    book = proof_book(paper)

    def target(result: Result, variant: Variant) -> str:
        proof = proof_for(book, result.claim.partition(":")[2], variant, result.reading)
        return "" if proof is None else f"{page}#{proof_place(proof)}"

    return target


Letters: TypeAlias = Mapping[str, Symbol]


@dataclass(frozen=True)
class ProofPage:
    """Typesets the proofs of one paper."""

    lines: ProofLines
    # by id without the paper
    claims: Mapping[str, ClaimSpec] = field(default_factory=dict)

    @classmethod
    def of(cls, paper: PaperSpec, places: Places, rules: str) -> ProofPage:
        """Return the page of a paper; ``rules`` is the path of the page of the rules."""
        return cls(
            ProofLines(paper.info.key, proof_book(paper), places, rules), paper.claims
        )

    @property
    def book(self) -> ProofBook:
        """The proofs of the paper."""
        return self.lines.book

    def blocks(self) -> Iterator[str]:
        """Yield the page as blocks of markdown, without its head."""
        if self.book.let:
            yield f"Abbreviations of the whole page: {self._abbreviations(self.book.let)}."
        yield from self._meanings()
        if self.book.given:
            yield "## Premises in words"
            yield "\n".join(map(self._given, self.book.given.values()))
        if self.book.lemmas:
            yield "## Lemmas"
            for lemma in self.book.lemmas.values():
                yield from self._lemma(lemma)
        yield "## Proofs"
        for proof in self.book.proofs:
            yield from self.proof(proof)

    def _meanings(self) -> Iterator[str]:
        """Yield the recorded definitions, and the theorems of the literature that proofs cite."""
        glossary = next((claim.glossary for claim in self.claims.values()), Glossary())
        definitions = [m for m in glossary.meanings if isinstance(m.record, Definition)]
        facts = [m for m in glossary.meanings if isinstance(m.record, Fact)]
        if definitions:
            yield "## Definitions"
            yield "\n".join(self._definitions(definitions))
        if facts:
            yield "## Theorems of the literature"
            yield "\n".join(map(self._fact, facts))

    def _definitions(self, meanings: Sequence[Meaning]) -> Iterator[str]:
        anchors: set[str] = set()
        for meaning in meanings:
            record = meaning.record
            assert isinstance(record, Definition)
            place = definition_place(record)
            anchor = "" if place in anchors else md.anchor(place)
            anchors.add(place)
            about = [
                *record.claims,
                *(f"{name} = {choice}" for name, choice in record.reading.items()),
            ]
            of = f" for {', '.join(map(md.code, about))}" if about else ""
            name = f"{record.name}.{record.part}" if record.part else record.name
            formula = md.inline_math(self._equation(meaning))
            yield f"- {anchor}{md.code(name)}{of}: {formula}{self._conditions(meaning)}. {md.explanation(record.words)}"

    def _equation(self, meaning: Meaning) -> str:
        """Return a definition or a theorem as LaTeX; the left side of a quantity is in the paper's letters."""
        record = meaning.record
        right = self.lines.latex(parse(record.formula), record.letters)
        if isinstance(record, Fact):
            relation = {"<=": r"\le", ">=": r"\ge"}.get(record.relation, "=")
            return f"{self.lines.latex(parse(record.lhs), record.letters)} {relation} {right}"
        if record.at:
            return f"{self.lines.latex(parse(record.at), record.letters)} = {right}"
        quantity = self.book.vocabulary.quantities.get(record.name)
        return f"{quantity.latex if quantity else self.lines.latex(parse(record.name))} = {right}"

    def _conditions(self, meaning: Meaning) -> str:
        record = meaning.record
        own = record.letters
        texts = [self._letter(name, symbol.domain, own) for name, symbol in own.items()]
        texts += [
            md.inline_math(self.lines.latex(parse_relation(text), own))
            for text in record.requires
        ]
        let = {item.symbol: item.value for item in record.let}
        return f"{f' with {self._abbreviations(let, own)}' if let else ''}{f', for {_listed(texts)}' if texts else ''}"

    def _fact(self, meaning: Meaning) -> str:
        record = meaning.record
        assert isinstance(record, Fact)
        formula = md.inline_math(self._equation(meaning))
        head = f"{md.anchor(f'fact-{record.name}')}{md.code(record.name)}"
        words = md.explanation(record.words)
        return f"- {head}: {formula}{self._conditions(meaning)}. {words} ({md.prose(record.citation)})"

    def _given(self, premise: GivenPremise) -> str:
        head = f"{md.anchor(f'given-{premise.id}')}{md.code(premise.id)}"
        conditions = (
            f" for {_listed([*map(self._relation, premise.requires)])}"
            if premise.requires
            else ""
        )
        return f"- {head}: {md.explanation(premise.words)}. {self._relation(premise.says)}{conditions}"

    def _lemma(self, lemma: Lemma) -> Iterator[str]:
        yield f"### {md.code(lemma.id)}"
        if lemma.words:
            yield md.explanation(lemma.words)
        yield from self._setting(lemma)
        yield self.lines.table(lemma.chain)

    def proof(self, proof: Proof) -> Iterator[str]:
        """Yield a proof as blocks of markdown: its heading, the statement, and its lines."""
        choices = "".join(
            f", {name} = {value}" for name, value in proof.reading.items()
        )
        yield md.anchor(proof_place(proof))
        where = (
            f" ({md.explanation(self.claims[proof.of].record.where)})"
            if proof.of in self.claims
            else ""
        )
        yield f"### Proof of {self.lines.claim(proof.of)}, {proof.variant}{choices}{where}"
        statement = self.statement(proof)
        if statement is not None:
            yield block_of_lines(
                [line for line in display(statement) if line.word != "reading"]
            )
        yield from self.body(proof, statement)

    def body(self, proof: Proof, statement: Statement | None) -> Iterator[str]:
        """Yield the blocks after the statement: words, letters, abbreviations and lines."""
        if proof.words:
            yield md.explanation(proof.words)
        yield from self._quantity(statement)
        yield from self._setting(proof)
        yield self.lines.table(proof.chain)

    def alone(self, proof: Proof) -> Iterator[str]:
        """Yield the body of a proof for a separate page, with the shared abbreviations that it uses."""
        words = set(_WORD.findall(f"{proof.chain} {' '.join(proof.let.values())}"))
        used: set[str] = set()
        shared = self.book.let
        while new := {
            head for head in shared.keys() - used if head.partition("(")[0] in words
        }:
            used |= new
            words.update(*(_WORD.findall(shared[head]) for head in new))
        let = {
            **{head: value for head, value in shared.items() if head in used},
            **proof.let,
        }
        yield from self.body(
            msgspec.structs.replace(proof, let=let), self.statement(proof)
        )

    def statement(self, proof: Proof) -> Statement | None:
        """Return the first statement with this proof, or None."""
        claim = self.claims.get(proof.of)
        statements = () if claim is None else claim.statements()
        return next(
            (
                statement
                for statement in statements
                if self.book.find(statement) is proof
            ),
            None,
        )

    def _quantity(self, statement: Statement | None) -> Iterator[str]:
        """Yield a sentence on the formula for the measured quantity at the start of the chain."""
        if (
            statement is None
            or statement.quantity is None
            or statement.measured is None
        ):
            return
        letters = md.inline_math(statement.measured.latex) or md.code(
            statement.quantity
        )
        meaning = statement.definition(statement.quantity)
        if meaning is not None and isinstance(meaning.record, Definition):
            link = self.lines.link("definition", definition_place(meaning.record))
            yield f"The chain begins with {letters} by its {link}."
        else:
            yield f"The chain begins with {letters} as a formula. No record defines it, so its meaning is given."

    def _setting(self, record: Lemma | Proof) -> Iterator[str]:
        """Yield sentences with the letters, conditions and abbreviations of a lemma or a proof."""
        conditions = record.requires if isinstance(record, Lemma) else []
        measured = [
            self._inline(name)
            for name, domain in record.letters.items()
            if domain == _MEASURED
        ]
        texts = (
            [f"{', '.join(measured)}, which cited claims measure"] if measured else []
        )
        texts += [
            self._letter(name, domain)
            for name, domain in record.letters.items()
            if domain != _MEASURED
        ]
        texts += [*map(self._relation, conditions)]
        if texts:
            yield f"For {_listed(texts)}."
        if isinstance(record, Proof) and record.divide:
            division, *more = record.divide.split(", ")
            letter, _, value = division.partition("=")
            relations = [f"{letter} == {value}", *more]
            yield f"{self._inline(letter)} is divided with remainder: {', '.join(map(self._relation, relations))}."
        if isinstance(record, Proof) and record.known:
            known = ", ".join(
                self.lines.link(md.code(name), name) for name in record.known
            )
            yield f"Every line may use {known}."
        if record.let:
            yield f"With {self._abbreviations(record.let)}."

    def _letter(self, name: str, domain: str, own: Letters | None = None) -> str:
        """Return a letter with its domain in words."""
        letter = self._inline(name, own)
        if match := _NORM.fullmatch(domain):
            dimension, variance = (
                self._inline(match[part], own) for part in ("dimension", "variance")
            )
            return f"a Gaussian vector {letter} in dimension {dimension} with mean 0 and variance {variance} per entry"
        if domain.startswith(_BITS):
            number = self._inline(domain.removeprefix(_BITS), own)
            return f"{letter}, which lists the positions of the digits 1 of {number}"
        law = domain.partition(" up to ")[0]
        if law in _LAWS:
            return f"{letter}, {_LAWS[law]}"
        parsed = parse_domain(domain)
        bounds = (
            md.inline_math(self.lines.latex(constraint, own))
            for constraint in parsed.constraints
        )
        return f"{KINDS.get(parsed.kind, parsed.kind)} {', '.join(bounds) or letter}"

    def _inline(self, text: str, own: Letters | None = None) -> str:
        return md.inline_math(self.lines.latex(parse(text.strip()), own))

    def _abbreviations(self, let: Mapping[str, str], own: Letters | None = None) -> str:
        sides = (
            [self.lines.latex(parse(text), own) for text in pair]
            for pair in let.items()
        )
        return ", ".join(md.inline_math(" = ".join(pair)) for pair in sides)

    def _relation(self, text: str) -> str:
        return md.inline_math(self.lines.latex(parse_relation(text)))


def definition_place(record: Definition) -> str:
    """Return the anchor of a definition on the page of proofs."""
    return (
        f"definition-{record.name}.{record.part}"
        if record.part
        else f"definition-{record.name}"
    )


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(texts)
