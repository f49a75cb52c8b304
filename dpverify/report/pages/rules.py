"""The page of the rules that proofs cite, and the typesetting of the lines of proofs.

The page of the rules has their statements, conditions, and proofs in Coq. Each line of a proof has a reason with a link
to the cited rule or statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dpverify.ledger.formula import Compare, Formula, latex, parse
from dpverify.ledger.formula.prefix import formula_of, relation_of
from dpverify.ledger.load import bundled_specs
from dpverify.ledger.proof_book import Proof, ProofBook
from dpverify.ledger.proof_chains import (
    HYPOTHESIS,
    INDUCTION,
    Argument,
    ChainLine,
    Reason,
    parse_chain,
)
from dpverify.ledger.records import Symbol
from dpverify.report import markdown as md
from dpverify.report.pages.layout import INDEX, Places
from dpverify.report.pages.templates import render

PAGE = "rules.md"
"""The page of the rules, in the report's folder."""

FUNCTIONS = {"moment": r"\mathbb{E}\lVert{#1}\rVert^{#2}"}
"""LaTeX of functions that occur only in proofs."""

_TOPICS = {
    "scalars.v": "Numbers: order, exponentials, logarithms, powers and roots",
    "sums.v": "Sums",
    "sequences.v": "Sequences and convolutions",
    "bits.v": "Binary digits and floors",
    "moments.v": "Norms and means",
    "integrals.v": "Integrals",
}
_LAWS = {
    "random": "{0} is a random variable or vector",
    "vector": "{0} is a vector, fixed or random",
    "gaussian-norm": "{0} is a Gaussian vector in dimension {1} with mean 0 and variance {2} in each coordinate",
    "set-bits": "{0} lists the positions of the digits 1 of {1}, smallest first",
    "bernstein": "{1} minus {0} is a polynomial in {2} whose Bernstein coefficients from {3} to {4} are at least 0",
}
_NOTES = {
    "order": "A line that cites this rule replaces a part by a larger one. The conditions of the claim show `a <= b`.",
    "guarded-sum": "The left side stands for 0 if the sum has no terms.",
}
_RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "="}
_LETTERS = {"low": r"\ell", "high": "h"}
_FIRST_POWER = re.compile(r"\^\{1\}")


@cache
def rules() -> Mapping[str, Mapping[str, Any]]:
    """Return the catalogue of rules by name, from the file that the checker reads."""
    file = bundled_specs() / "proofs" / "rules.json"
    return {
        rule["name"]: rule
        for rule in json.loads(file.read_text(encoding="utf-8"))["rules"]
    }


def rules_page(reasons: Mapping[str, str] | None = None) -> str:
    """Return the page of the rules; ``reasons`` has explanations by rule, which are shown above the proofs in Coq."""
    return render("rules", index=INDEX, entries="\n\n".join(_entries(reasons or {})))


def _entries(reasons: Mapping[str, str]) -> Iterator[str]:
    for file, title in _TOPICS.items():
        yield f"## {title}"
        for name, rule in rules().items():
            if rule["basis"]["coq"] == file:
                yield from _entry(rule, reasons.get(name, ""))


def _entry(rule: Mapping[str, Any], reason: str) -> Iterator[str]:
    name = rule["name"]
    yield f"### {md.code(name)}"
    sides = (typeset(formula_of(rule[side])) for side in ("lhs", "rhs"))
    yield md.math_block(f" {_RELATIONS[rule['relation']]} ".join(sides))
    yield " ".join(
        filter(None, [_domain(rule), _NOTES.get(name, ""), md.explanation(reason)])
    )
    coq = rule["basis"]["coq"]
    theorem = rule["basis"]["theorem"]
    proof = f"{_coq('statements.v', f'{theorem}_statement')}\n\n{_coq(coq, theorem)}"
    yield md.details_block(
        f"Proof in Coq, from specs/proofs/{coq}", f"```coq\n{proof}\n```"
    )


def _domain(rule: Mapping[str, Any]) -> str:
    """Return a sentence with the values for which a rule holds."""
    whole = [
        _inline(condition[1])
        for condition in rule["conditions"]
        if condition[0] == "integer"
    ]
    laws = [condition for condition in rule["conditions"] if condition[0] == "declared"]
    if vectors := [
        _inline(condition[2]) for condition in laws if condition[1] == "vector"
    ]:
        return f"For vectors {_listed(vectors)}, fixed or random."
    texts = [
        condition_text(condition)
        for condition in rule["conditions"]
        if condition[0] not in ("integer", "declared")
    ]
    conditions = f"{' with' if whole else 'if'} {_listed(texts)}" if texts else ""
    domain = f"for whole {_listed(whole)}{conditions}" if whole else conditions
    sentence = ", where ".join(
        filter(
            None,
            [domain, _listed([condition_text(law) for law in laws]) if laws else ""],
        )
    )
    return (
        f"{sentence[:1].upper()}{sentence[1:]}."
        if domain
        else f"If {sentence}."
        if laws
        else "For all values."
    )


def condition_text(condition: Sequence[Any]) -> str:
    """Return a side condition of a rule or of an instance in words and formulas."""
    head, *args = condition
    if head == "forall":
        index, lo, hi, inside = args
        end = rf" \le {typeset(formula_of(hi))}" if hi != "oo" else ""
        index_range = md.inline_math(rf"{typeset(formula_of(lo))} \le {index}{end}")
        return f"{condition_text(inside)} for whole {index_range}"
    if head == "integer":
        return f"{_inline(args[0])} is whole"
    if head == "!=":
        left, right = (typeset(formula_of(arg)) for arg in args)
        return md.inline_math(rf"{left} \ne {right}")
    if head == "declared":
        law, *letters = args
        return _LAWS[law].format(*map(_inline, letters))
    return md.inline_math(typeset(relation_of(condition)))


def _inline(expression: Any) -> str:
    return md.inline_math(typeset(formula_of(expression)))


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def typeset(node: Formula | Compare) -> str:
    """Return a formula of a rule as LaTeX."""
    return _FIRST_POWER.sub("", latex(node, _LETTERS, FUNCTIONS))


@cache
def _coq(file: str, name: str) -> str:
    """Return the source of a definition, or of a theorem with its proof."""
    text = (bundled_specs() / "proofs" / file).read_text(encoding="utf-8")
    pattern = rf"^(?:Definition {name} :.*?\.$|Theorem {name} :.*?Qed\.$)"
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"name={name!r}: specs/proofs/{file} has no such theorem.")
    return match[0]


_AFTER_NAME = re.compile(r"(?<=[a-z]\}) (?=[\\\w])")
_BEFORE_NAME = re.compile(r"(?<=[\w})]) (?=\\mathrm\{[a-z])")
_FIRST_POWER_OF_NORM = re.compile(r"(?<=\\rVert)\^\{1\}")
_TWO_NORMS = re.compile(r"\\lVert\{\\\|((?:(?!\\\|).)*)\\\|\s*\}\\rVert")
"""A norm whose argument is already typeset as a norm."""


def proof_place(proof: Proof) -> str:
    """Return the anchor of a proof on the page of proofs."""
    return "-".join(["proof", proof.of, proof.variant, *proof.reading.values()])


def proof_for(
    book: ProofBook, claim: str, variant: str, reading: Mapping[str, str]
) -> Proof | None:
    """Return the proof of a claim's statement that fits most choices, or None; the claim's id is without the paper."""
    fitting = [
        proof
        for proof in book.proofs_of(claim)
        if proof.variant == variant
        and all(
            reading.get(name, choice) == choice
            for name, choice in proof.reading.items()
        )
    ]
    return max(
        fitting,
        key=lambda proof: len(proof.reading.items() & reading.items()),
        default=None,
    )


@dataclass(frozen=True)
class ProofLines:
    """Typesets the lines of proofs of one paper."""

    key: str
    book: ProofBook
    places: Places  # of the claims, for links on the page that shows the lines
    rules: str = ""  # path of the page of the rules
    proofs: str = ""  # path of the page of proofs; empty if the lines are on it
    # side conditions of lines, by line number
    needs: Mapping[int, str] = field(default_factory=dict)

    def table(self, chain: str) -> str:
        """Return the lines of a chain as a table of formulas and reasons."""
        parsed = parse_chain(chain)
        rows = [_row("", self.latex(parsed.start), ""), *self._rows(parsed.lines, "")]
        return "\n".join(["| | |", "|---|---|", *rows])

    def latex(
        self, formula: Formula | Compare, own: Mapping[str, Symbol] | None = None
    ) -> str:
        """Return a formula as LaTeX, with spaces around names of several letters, so that products are readable.

        ``own`` has letters that are not letters of the paper.
        """
        vocabulary = self.book.vocabulary
        letters = {
            name: symbol.latex
            for name, symbol in {**vocabulary.symbols, **(own or {})}.items()
        }
        heads = {
            name: function.latex for name, function in vocabulary.functions.items()
        }
        text = _FIRST_POWER_OF_NORM.sub("", latex(formula, letters, FUNCTIONS | heads))
        text = _TWO_NORMS.sub(r"\\lVert{\1}\\rVert", text)
        return _BEFORE_NAME.sub(r"\\, ", _AFTER_NAME.sub(r"\\, ", text))

    def claim(self, claim: str) -> str:
        """Return a claim's id, with a link if the report has the claim."""
        key = f"{self.key}:{claim}"
        return (
            md.link(md.code(claim), self.places.target(key))
            if key in self.places.pages
            else md.code(claim)
        )

    def link(self, text: str, place: str) -> str:
        """Return a link to an anchor on the page of proofs."""
        return md.link(text, f"{self.proofs}#{place}")

    def _rows(self, lines: tuple[ChainLine, ...], indent: str) -> Iterator[str]:
        inside = f"{indent}&emsp;"
        for line in lines:
            for condition, part in line.cases:
                yield f"| {inside}Case {md.inline_math(self.latex(condition))} | |"
                yield from self._rows(part, inside)
            formula = f"{_RELATIONS[line.relation]} {self.latex(line.formula)}"
            needs = self.needs.get(line.number, "")
            yield _row(
                indent, formula, "<br>".join(filter(None, [self._reason(line), needs]))
            )
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
        if not reason.kind and reason.name == INDUCTION:
            return self._induction(reason)
        name = self._name(reason)
        values = [self._value(argument) for argument in reason.arguments]
        text = (
            f"{name} with {', '.join(map(md.inline_math, values))}" if values else name
        )
        place = (
            ""
            if reason.place is None
            else f" in {md.inline_math(self.latex(reason.place))}"
        )
        return f"{text}{place}"

    def _name(self, reason: Reason) -> str:
        """Return the name of the cited rule or statement with a link."""
        name = md.code(reason.name)
        match reason.kind:
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
        """Return the cited claim with its variant and reading, and a link to its proof if there is one."""
        about: list[str] = [] if reason.variant == "printed" else [reason.variant]
        about += [f"{name} = {choice}" for name, choice in reason.reading]
        proof = proof_for(self.book, reason.name, reason.variant, dict(reason.reading))
        about += [] if proof is None else [self.link("proof", proof_place(proof))]
        return ", ".join([f"claim {self.claim(reason.name)}", *about])

    def _induction(self, reason: Reason) -> str:
        """Return the letter of an induction with its first value, and with its last value if there is one."""
        values = {
            argument.name: self.latex(argument.value) for argument in reason.arguments
        }
        last = values.pop("upto", "")
        (start,) = (
            f"{self.latex(parse(name))} = {value}" for name, value in values.items()
        )
        end = f" to {md.inline_math(last)}" if last else ""
        return f"induction from {md.inline_math(start)}{end}"

    def _value(self, argument: Argument) -> str:
        name = f"{argument.name}({argument.index})" if argument.index else argument.name
        return f"{self.latex(parse(name))} = {self.latex(argument.value)}"


def _row(indent: str, formula: str, reason: str) -> str:
    return f"| {indent}{md.inline_math(formula)} | {reason} |"
