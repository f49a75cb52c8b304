"""The next line of a proof: the printed side if a search reaches it, or what a rule offers on the way to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from dpverify.ledger.formula import FormulaError, parse, to_text
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import prove
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.derive.suggestions import suggested
from dpverify.symbolic.elaborate.text import text_of
from dpverify.symbolic.expressions.to_sympy import sympy_sides

EFFORT = 1_500  # goals for one line
MOST_LINES = 5
MOST_TRIED = 40  # lines that rules offer
POINTS = 40
RELATIONS: dict[str | None, Any] = {"<=": "<=", "<": "<=", ">=": ">=", ">": ">=", "=": "="}


def next_lines(statement: Statement, chain: Derivation) -> list[str]:
    """Lines after the last one of a chain, those after which the printed side follows first.

    A line is left out if the printed side does not follow from it at a point of the domain.
    """
    _, right = sympy_sides(statement)
    relation = RELATIONS.get(statement.relation)
    if statement.rhs is None or relation is None:
        return []
    if _proves(statement, chain.last):
        return [f"{relation} {to_text(statement.rhs)}"]
    symbols = sorted(
        {s for side in (chain.last, right) for s in side.free_symbols if s.name in chain.variables}, key=str
    )
    setting = Setting(chain.variables, symbols, chain.assumptions, POINTS, 0)
    closing: list[str] = []
    others: list[str] = []
    for suggestion in islice(suggested(chain.last, relation), MOST_TRIED):
        if evaluate_step(suggestion.expr, right, relation, setting).violation:
            continue
        line = f"{relation} {text_of(suggestion.expr)}      by {suggestion.fit.rule}"
        follows = len(closing) < MOST_LINES and _proves(statement, suggestion.expr)
        (closing if follows else others).append(f"{line}      # then the claim follows" if follows else line)
    return [*closing, *others][:MOST_LINES]


def _proves(statement: Statement, left: Any) -> bool:
    """Whether a search proves that the printed side follows from an expression."""
    try:
        lhs = parse(text_of(left))
    except (FormulaError, ValueError):
        return False
    return prove(replace(statement, lhs=lhs, quantity=None), EFFORT).certificate is not None
