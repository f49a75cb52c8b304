"""The page of the rules that proofs cite: statement, conditions, and the proof in Coq."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dpverify.ledger.formula import Compare, Formula, latex
from dpverify.ledger.load import bundled_specs
from dpverify.report import markdown as md
from dpverify.report.pages.layout import INDEX
from dpverify.report.pages.templates import render
from dpverify.report.typeset.prefix import formula_of, relation_of

PAGE = "rules.md"
"""The page of the rules, in the report's folder."""

FUNCTIONS = {"moment": r"\mathbb{E}\lVert{#1}\rVert^{#2}"}
"""How functions are typeset that only proofs have."""

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
    """The catalogue of rules, as the checker reads it, by name."""
    file = bundled_specs() / "proofs" / "rules.json"
    return {rule["name"]: rule for rule in json.loads(file.read_text(encoding="utf-8"))["rules"]}


def rules_page(reasons: Mapping[str, str] | None = None) -> str:
    """Return the page; ``reasons``: of rules by name, why they are true, which the page has above the proof in Coq."""
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
    yield " ".join(filter(None, [_domain(rule), _NOTES.get(name, ""), md.explanation(reason)]))
    coq = rule["basis"]["coq"]
    theorem = rule["basis"]["theorem"]
    proof = f"{_coq('statements.v', f'{theorem}_statement')}\n\n{_coq(coq, theorem)}"
    yield md.folded(f"Proof in Coq, from specs/proofs/{coq}", f"```coq\n{proof}\n```")


def _domain(rule: Mapping[str, Any]) -> str:
    """For which values a rule holds, as a sentence."""
    whole = [_inline(condition[1]) for condition in rule["conditions"] if condition[0] == "integer"]
    laws = [condition for condition in rule["conditions"] if condition[0] == "declared"]
    if vectors := [_inline(condition[2]) for condition in laws if condition[1] == "vector"]:
        return f"For vectors {_listed(vectors)}, fixed or random."
    texts = [
        condition_text(condition) for condition in rule["conditions"] if condition[0] not in ("integer", "declared")
    ]
    conditions = f"{' with' if whole else 'if'} {_listed(texts)}" if texts else ""
    domain = f"for whole {_listed(whole)}{conditions}" if whole else conditions
    sentence = ", where ".join(filter(None, [domain, _listed([condition_text(law) for law in laws]) if laws else ""]))
    return f"{sentence[:1].upper()}{sentence[1:]}." if domain else f"If {sentence}." if laws else "For all values."


def condition_text(condition: Sequence[Any]) -> str:
    """A side condition, of a rule or of an instance, in words and formulas."""
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
    """A formula of a rule as LaTeX."""
    return _FIRST_POWER.sub("", latex(node, _LETTERS, FUNCTIONS))


@cache
def _coq(file: str, name: str) -> str:
    """The text of a definition, or of a theorem with its proof."""
    text = (bundled_specs() / "proofs" / file).read_text(encoding="utf-8")
    pattern = rf"^(?:Definition {name} :.*?\.$|Theorem {name} :.*?Qed\.$)"
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"name={name!r}: specs/proofs/{file} has no such theorem.")
    return match[0]
