"""The next line of a proof: the printed side if a search reaches it, or what a rule offers on the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from dpverify.ledger.formula import FormulaError, parse, to_text
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import prove
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.derive.suggestions import Suggestion, suggested
from dpverify.symbolic.elaborate.text import text_of
from dpverify.symbolic.exact.numbers import EvaluationError, compare
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.expressions.to_sympy import sympy_sides

EFFORT = 1_500  # goals for one line
MOST_LINES = 5
MOST_TRIED = 40  # lines that rules offer
POINTS = 40
BITS = 170
TURNED: dict[str, Any] = {"<=": "<=", "<": "<=", ">=": ">=", ">": ">=", "=": "="}


def next_lines(statement: Statement, chain: Derivation) -> list[str]:
    """Lines after the last one of a chain, those after which the printed side follows first.

    A line is left out if the printed side does not follow from it at a point of the domain.
    """
    _, right = sympy_sides(statement)
    if right is None or statement.relation not in TURNED:
        return []
    last = chain.last
    relation = TURNED[statement.relation]
    symbols = sorted({s for side in (last, right) for s in side.free_symbols if s.name in chain.variables}, key=str)
    points = Setting(chain.variables, symbols, chain.assumptions, POINTS, 0).points.found
    if _proves(statement, last):
        return [f"{relation} {to_text(statement.rhs)}" if statement.rhs is not None else ""]
    closing: list[str] = []
    others: list[str] = []
    for suggestion in _possible(last, relation, right, points):
        line = f"{relation} {text_of(suggestion.expr)}      by {suggestion.fit.rule}"
        if len(closing) < MOST_LINES and _proves(statement, suggestion.expr):
            closing.append(f"{line}      # then the claim follows")
        else:
            others.append(line)
    return [*closing, *others][:MOST_LINES]


def _possible(last: Any, relation: Any, right: Any, points: list[dict[str, Any]]) -> Iterator[Suggestion]:
    for suggestion in islice(suggested(last, relation), MOST_TRIED):
        if _holds(suggestion.expr, relation, right, points):
            yield suggestion


def _proves(statement: Statement, left: Any) -> bool:
    """Whether a search proves that the printed side follows from an expression."""
    try:
        lhs = parse(text_of(left))
    except (FormulaError, ValueError):
        return False
    return prove(replace(statement, lhs=lhs, quantity=None), EFFORT).certificate is not None


def _holds(left: Any, relation: Any, right: Any, points: list[dict[str, Any]]) -> bool:
    """Whether no point shows that a relation is false."""
    try:
        sides = compile_expr(left), compile_expr(right)
    except TypeError:
        return False
    for point in points:
        try:
            if compare(sides[0](dict(point), BITS), relation, sides[1](dict(point), BITS)) is False:
                return False
        except EvaluationError:
            continue
    return True
