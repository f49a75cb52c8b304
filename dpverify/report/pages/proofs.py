"""The page of a paper's proofs: their text, typeset line by line, with links to what each line cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dpverify.ledger.formula import Compare, Formula, parse, parse_relation
from dpverify.ledger.proofs.book import ProofBook
from dpverify.ledger.proofs.chains import INDUCTION, Argument, ChainLine, Reason, parse_chain
from dpverify.ledger.proofs.records import GivenPremise, Lemma, Proof
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.pages.layout import Places

PAGE = "proofs.md"
"""The page of a long paper's proofs, in the paper's folder."""

_AFTER_NAME = re.compile(r"(?<=[a-z]\}) (?=[\\\w])")
_BEFORE_NAME = re.compile(r"(?<=[\w})]) (?=\\mathrm\{[a-z])")
_RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "="}


def proof_book(paper: PaperSpec | None) -> ProofBook:
    """Return the proofs of a paper; an empty book if it has none."""
    claims = () if paper is None else paper.claims.values()
    return next((claim.proofs for claim in claims), ProofBook())


@dataclass(frozen=True)
class ProofPage:
    """Typesets the proofs of one paper."""

    key: str
    book: ProofBook
    places: Places

    def blocks(self) -> Iterator[str]:
        """Yield the page as blocks of markdown, without its head."""
        if self.book.let:
            yield f"Abbreviations of the whole page: {self._abbreviations(self.book.let)}."
        if self.book.given:
            yield "## Premises in words"
            yield "\n".join(map(self._given, self.book.given.values()))
        if self.book.lemmas:
            yield "## Lemmas"
            for lemma in self.book.lemmas.values():
                yield from self._lemma(lemma)
        yield "## Proofs"
        for proof in self.book.proofs:
            yield from self._proof(proof)

    def _given(self, premise: GivenPremise) -> str:
        return f"- {md.code(premise.id)}: {md.explanation(premise.words)}. {self._relation(premise.says)}"

    def _lemma(self, lemma: Lemma) -> Iterator[str]:
        yield f"### {md.code(lemma.id)}"
        if lemma.words:
            yield md.explanation(lemma.words)
        yield from self._setting(lemma.let, lemma.requires)
        yield self._table(lemma.chain)

    def _proof(self, proof: Proof) -> Iterator[str]:
        choices = "".join(f", {name} = {value}" for name, value in proof.reading.items())
        yield f"### Proof of {self._claim(proof.of)}, {proof.variant}{choices}"
        if proof.words:
            yield md.explanation(proof.words)
        yield from self._setting(proof.let, [])
        yield self._table(proof.chain)

    def _claim(self, claim: str) -> str:
        """A claim's id, as a link if the report has the claim."""
        key = f"{self.key}:{claim}"
        return md.link(md.code(claim), self.places.target(key)) if key in self.places.pages else md.code(claim)

    def _setting(self, let: Mapping[str, str], requires: list[str]) -> Iterator[str]:
        if requires:
            yield f"For {', '.join(map(self._relation, requires))}."
        if let:
            yield f"With {self._abbreviations(let)}."

    def _abbreviations(self, let: Mapping[str, str]) -> str:
        parts = (f"{self._latex(parse(name))} = {self._latex(parse(value))}" for name, value in let.items())
        return ", ".join(map(md.inline_math, parts))

    def _relation(self, text: str) -> str:
        return md.inline_math(self._latex(parse_relation(text)))

    def _latex(self, formula: Formula | Compare) -> str:
        """Typeset a formula, with a space beside each name of several letters, so that products can be read."""
        latex = self.book.vocabulary.latex(formula)
        return _BEFORE_NAME.sub(r"\\, ", _AFTER_NAME.sub(r"\\, ", latex))

    def _table(self, chain: str) -> str:
        parsed = parse_chain(chain)
        rows = [self._row("", self._latex(parsed.start), ""), *self._rows(parsed.lines, "")]
        return "\n".join(["| | |", "|---|---|", *rows])

    def _row(self, indent: str, formula: str, reason: str) -> str:
        return f"| {indent}{md.inline_math(formula)} | {reason} |"

    def _rows(self, lines: tuple[ChainLine, ...], indent: str) -> Iterator[str]:
        inside = f"{indent}&emsp;"
        for line in lines:
            for condition, part in line.cases:
                yield f"| {inside}Case {md.inline_math(self._latex(condition))} | |"
                yield from self._rows(part, inside)
            formula = f"{_RELATIONS[line.relation]} {self._latex(line.formula)}"
            yield self._row(indent, formula, self._reason(line))
            for name, part in zip(("Base", "Step"), line.induction or (), strict=False):
                yield f"| {inside}{name} | |"
                yield from self._rows(part, inside)

    def _reason(self, line: ChainLine) -> str:
        words = [] if line.reason is None else [self._cited(line.reason)]
        if line.cases:
            words = ["by these cases"]
        if line.note:
            words.append(md.explanation(line.note))
        return "; ".join(words)

    def _cited(self, reason: Reason) -> str:
        name = md.code(reason.name)
        if reason.cited == "claim":
            name = self._claim(reason.name)
            name = name if reason.variant == "printed" else f"{name}, {reason.variant}"
        elif reason.cited:
            name = f"{reason.cited} {name}"
        elif reason.name in self.book.lemmas:
            name = f"lemma {md.link(name, f'#{reason.name}')}"
        elif reason.name == INDUCTION:
            return self._induction(reason)
        values = [self._value(argument) for argument in reason.arguments]
        return f"{name} with {', '.join(map(md.inline_math, values))}" if values else name

    def _induction(self, reason: Reason) -> str:
        """The letter of an induction with its first value, and the last one if it ends."""
        values = {argument.name: self._latex(argument.value) for argument in reason.arguments}
        last = values.pop("upto", "")
        (start,) = (f"{self._latex(parse(name))} = {value}" for name, value in values.items())
        end = f" to {md.inline_math(last)}" if last else ""
        return f"induction from {md.inline_math(start)}{end}"

    def _value(self, argument: Argument) -> str:
        name = f"{argument.name}({argument.index})" if argument.index else argument.name
        return f"{self._latex(parse(name))} = {self._latex(argument.value)}"
