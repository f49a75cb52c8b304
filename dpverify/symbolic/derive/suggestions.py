"""Steps that rules suggest at the parts of an expression; whether one is right is checked elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

from dpverify.symbolic.expressions.functions import HOLE, PopCount
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Relation

_HALF = sympy.Rational(1, 2)
_FEW = 3  # terms of a root that are split off by themselves


class Fit(NamedTuple):
    """A rule that speaks of a part of an expression: the part is ``place`` with one of the rule's sides in the hole."""

    rule: str
    where: dict[str, Any]
    upper: bool = True  # whether the part has the rule's left side, and gets the right one
    place: Any = HOLE


class Suggestion(NamedTuple):
    """What is put in the place of an expression, and the step that leads from one to the other, either way."""

    expr: Any
    fit: Fit
    context: Any  # the expression with a hole for the rule's sides


def suggested(expr: Any, relation: Relation) -> Iterator[Suggestion]:
    """What may be put in the place of an expression, with a rule at one of its parts; an identity only for ``=``."""
    for part in dict.fromkeys(sympy.preorder_traversal(expr)):
        for fit in _fits(part):
            instance = find_rule(fit.rule).instance(fit.where)
            if instance.relation == "=" or relation != "=":
                context = expr.xreplace({part: fit.place})
                put = instance.rhs if fit.upper else instance.lhs
                yield Suggestion(context.xreplace({HOLE: put}), fit, context)


def _fits(part: Any) -> Iterator[Fit]:
    if isinstance(part, PopCount):
        yield from (Fit(rule, {"n": part.args[0]}) for rule in ("popcount-width", "popcount-log2"))
    elif isinstance(part, sympy.exp):
        yield Fit("exp-chord", {"x": -part.args[0]})
    elif isinstance(part, sympy.Piecewise) and isinstance(part.args[0][0], sympy.Sum):
        yield Fit("guarded-sum", _of_sum(part.args[0][0]))
    elif isinstance(part, sympy.Sum) and len(part.limits) == 1:
        yield from _about_sum(part)
    elif part.is_Pow and part.exp == _HALF:
        yield Fit("am-gm", {"a": part, "b": sympy.Integer(1)}, place=HOLE / 2)
        for term in part.base.args[:_FEW] if part.base.is_Add else ():
            yield Fit("sqrt-subadditive", {"a": term, "b": part.base - term})
    elif part.is_Pow and not part.exp.is_number:
        yield Fit("power-monotone", {"a": part.base, "b": sympy.exp(part.base - 1), "p": part.exp})
        yield Fit("bernoulli", {"x": part.base - 1, "n": part.exp}, upper=False)


def _about_sum(node: Any) -> Iterator[Fit]:
    index, lo, hi = node.limits[0]
    body = node.function
    of_sum = _of_sum(node)
    base = body.base if body.is_Pow and body.exp == index else body if body == index else None
    if lo == 0 and base is not None and body != index and index not in base.free_symbols:
        if hi == sympy.oo:
            yield Fit("geometric-series", {"x": base})
        else:
            yield Fit("geometric-sum-bound", {"x": base, "m": hi})
            yield Fit("geometric-sum", {"x": base, "m": hi + 1})
    if lo == 0 and body == index:
        yield Fit("sum-integers", {"m": hi})
    if hi != sympy.oo:
        for end in (lo, hi):
            yield Fit("sum-at-most", {**of_sum, "c": body.xreplace({index: end})})


def _of_sum(node: Any) -> dict[str, Any]:
    index, lo, hi = node.limits[0]
    return {"f": sympy.Lambda(index, node.function), "lo": lo, "hi": hi}
