"""Lines of a proof, typeset, each with a reason that links to what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpverify.ledger.formula import Compare, Formula, latex, parse
from dpverify.ledger.proofs.book import ProofBook
from dpverify.ledger.proofs.chains import HYPOTHESIS, INDUCTION, Argument, ChainLine, Reason, parse_chain
from dpverify.ledger.proofs.records import Proof
from dpverify.ledger.records import Symbol
from dpverify.report import markdown as md
from dpverify.report.pages.layout import Places
from dpverify.report.pages.rules import FUNCTIONS, rules

_AFTER_NAME = re.compile(r"(?<=[a-z]\}) (?=[\\\w])")
_BEFORE_NAME = re.compile(r"(?<=[\w})]) (?=\\mathrm\{[a-z])")
_FIRST_POWER = re.compile(r"(?<=\\rVert)\^\{1\}")
_TWO_NORMS = re.compile(r"\\lVert\{\\\|((?:(?!\\\|).)*)\\\|\s*\}\\rVert")
"""The norm of what is a norm already."""
_RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "="}


def proof_place(proof: Proof) -> str:
    """The anchor of a proof on the page of proofs."""
    return "-".join(["proof", proof.of, proof.variant, *proof.reading.values()])


def proof_for(book: ProofBook, claim: str, variant: str, reading: Mapping[str, str]) -> Proof | None:
    """The proof of a claim's statement, by the claim's id without the paper: the one that fits most choices."""
    fitting = [
        proof
        for proof in book.of(claim)
        if proof.variant == variant
        and all(reading.get(name, choice) == choice for name, choice in proof.reading.items())
    ]
    return max(fitting, key=lambda proof: len(proof.reading.items() & reading.items()), default=None)


@dataclass(frozen=True)
class ProofLines:
    """Typesets the lines of proofs of one paper."""

    key: str
    book: ProofBook
    places: Places  # of the claims, seen from the page that shows the lines
    rules: str = ""  # path of the page of the rules
    proofs: str = ""  # path of the page of proofs; empty if the lines are on it
    needs: Mapping[int, str] = field(default_factory=dict)  # what a line needs, by its number

    def table(self, chain: str) -> str:
        """The lines of a chain as a table: formulas and reasons."""
        parsed = parse_chain(chain)
        rows = [_row("", self.latex(parsed.start), ""), *self._rows(parsed.lines, "")]
        return "\n".join(["| | |", "|---|---|", *rows])

    def latex(self, formula: Formula | Compare, own: Mapping[str, Symbol] | None = None) -> str:
        """Typeset a formula, with a space beside each name of several letters, so that products can be read.

        ``own``: letters besides those of the paper.
        """
        vocabulary = self.book.vocabulary
        letters = {name: symbol.latex for name, symbol in {**vocabulary.symbols, **(own or {})}.items()}
        heads = {name: function.latex for name, function in vocabulary.functions.items()}
        text = _FIRST_POWER.sub("", latex(formula, letters, FUNCTIONS | heads))
        text = _TWO_NORMS.sub(r"\\lVert{\1}\\rVert", text)
        return _BEFORE_NAME.sub(r"\\, ", _AFTER_NAME.sub(r"\\, ", text))

    def claim(self, claim: str) -> str:
        """A claim's id, as a link if the report has the claim."""
        key = f"{self.key}:{claim}"
        return md.link(md.code(claim), self.places.target(key)) if key in self.places.pages else md.code(claim)

    def link(self, text: str, place: str) -> str:
        """A link to a place on the page of proofs."""
        return md.link(text, f"{self.proofs}#{place}")

    def _rows(self, lines: tuple[ChainLine, ...], indent: str) -> Iterator[str]:
        inside = f"{indent}&emsp;"
        for line in lines:
            for condition, part in line.cases:
                yield f"| {inside}Case {md.inline_math(self.latex(condition))} | |"
                yield from self._rows(part, inside)
            formula = f"{_RELATIONS[line.relation]} {self.latex(line.formula)}"
            needs = self.needs.get(line.number, "")
            yield _row(indent, formula, "<br>".join(filter(None, [self._reason(line), needs])))
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
        if not reason.cited and reason.name == INDUCTION:
            return self._induction(reason)
        name = self._name(reason)
        values = [self._value(argument) for argument in reason.arguments]
        text = f"{name} with {', '.join(map(md.inline_math, values))}" if values else name
        place = "" if reason.place is None else f" in {md.inline_math(self.latex(reason.place))}"
        return f"{text}{place}"

    def _name(self, reason: Reason) -> str:
        """What a line cites, as a link to it."""
        name = md.code(reason.name)
        match reason.cited:
            case "claim":
                return self._cited_claim(reason)
            case "definition":
                return f"definition {self.link(name, f'definition-{reason.name}')}"
            case "fact":
                return f"theorem {self.link(name, f'fact-{reason.name}')}"
            case "given":
                return f"premise {self.link(name, f'given-{reason.name}')}"
        if reason.name in self.book.lemmas:
            return f"lemma {self.link(name, reason.name)}"
        if reason.name in rules():
            return md.link(name, f"{self.rules}#{reason.name}")
        return "induction hypothesis" if reason.name == HYPOTHESIS else name

    def _cited_claim(self, reason: Reason) -> str:
        """A claim with the variant and the reading that the line cites, and its proof if there is one."""
        about: list[str] = [] if reason.variant == "printed" else [reason.variant]
        about += [f"{name} = {choice}" for name, choice in reason.reading]
        proof = proof_for(self.book, reason.name, reason.variant, dict(reason.reading))
        about += [] if proof is None else [self.link("proof", proof_place(proof))]
        return ", ".join([f"claim {self.claim(reason.name)}", *about])

    def _induction(self, reason: Reason) -> str:
        """The letter of an induction with its first value, and the last one if it ends."""
        values = {argument.name: self.latex(argument.value) for argument in reason.arguments}
        last = values.pop("upto", "")
        (start,) = (f"{self.latex(parse(name))} = {value}" for name, value in values.items())
        end = f" to {md.inline_math(last)}" if last else ""
        return f"induction from {md.inline_math(start)}{end}"

    def _value(self, argument: Argument) -> str:
        name = f"{argument.name}({argument.index})" if argument.index else argument.name
        return f"{self.latex(parse(name))} = {self.latex(argument.value)}"


def _row(indent: str, formula: str, reason: str) -> str:
    return f"| {indent}{md.inline_math(formula)} | {reason} |"
