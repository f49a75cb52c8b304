"""Sums of a claim that may be over no integers: sympy says so with a guard, which the text of a proof does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import meant_by
from dpverify.symbolic.derive.steps import Derivation, Link, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.to_sympy import sympy_sides

RULE = "guarded-sum"


def is_guard(link: Link) -> bool:
    """Whether a step only puts a guard to a sum, or takes it off: it has no line."""
    return isinstance(link, Step) and link.rule == RULE


def with_guards(derivation: Derivation, statement: Statement) -> Derivation:
    """The chain from and to the sides of a statement with their guards, where it has them without."""
    left, right = sympy_sides(statement)
    meaning = meant_by(statement)
    left = left if meaning is None else meaning.formula
    steps = derivation.steps
    start = derivation.start
    if left is not None and left != start and _plain(left) == start:
        steps = (*(Step(expr, "=", RULE, w, context=c) for _, expr, w, c in _guards(left)), *steps)
        start = left
    if right is not None and right != derivation.last and _plain(right) == derivation.last:
        removed = list(_guards(right))[::-1]
        steps = (*steps, *(Step(expr, "=", RULE, w, context=c) for expr, _, w, c in removed))
    return replace(derivation, start=start, steps=steps)


def _guards(expr: Any) -> Iterator[tuple[Any, Any, dict[str, Any], Any]]:
    """Yield the expression before and after each guard is taken off, with the instance and the place."""
    while guards := sorted(expr.atoms(sympy.Piecewise), key=str):
        total = guards[0].args[0][0]
        if not isinstance(total, sympy.Sum):
            return
        index, low, high = total.limits[0]
        without = expr.xreplace({guards[0]: total})
        where = {"f": sympy.Lambda(index, total.function), "lo": low, "hi": high}
        yield expr, without, where, expr.xreplace({guards[0]: HOLE})
        expr = without


def _plain(expr: Any) -> Any:
    for _, without, _, _ in _guards(expr):
        expr = without
    return expr
