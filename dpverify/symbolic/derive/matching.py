"""Find the places of an expression where a side of a rule occurs, and the steps that rules suggest.

Suggested steps replace parts of an expression. Certificates decide whether a step is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

from dpverify.symbolic.expressions.functions import HOLE, PopCount
from dpverify.symbolic.prove.canonical import canonical, inner_sum
from dpverify.symbolic.prove.comparisons import same_terms
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Relation


def with_part_replaced(
    expr: Any, part: Any, letter: Any, facts: Facts
) -> Iterator[Any]:
    """Yield an expression with a letter in the places of a part of it; some may not have the letter."""
    if part == expr:
        yield letter
    if part.is_Rational:
        return  # a 1 may be anywhere: the author gives the place by a context
    yield expr.xreplace({part: letter})
    yield _in_sums(expr, part, letter, facts)
    if isinstance(part, sympy.Integral):
        equal = [
            node for node in expr.atoms(sympy.Integral) if same_terms(node, part, facts)
        ]
        yield expr.xreplace(dict.fromkeys(equal, letter))
    if part.free_symbols and not part.is_Symbol:
        yield expr.xreplace({-part: -letter})
        yield expr.subs(part, letter)
    flat = canonical(expr, facts)
    flat_part = canonical(part, facts)
    yield flat.xreplace({flat_part: letter})


def _in_sums(expr: Any, part: Any, letter: Any, facts: Facts) -> Any:
    """Replace sums of a given form by a letter. Names and starts of indices and constant factors do not matter."""
    wanted_factor, target = canonical(part, facts).as_independent(
        sympy.Sum, as_Add=False
    )
    if not isinstance(target, sympy.Sum):
        return expr
    replacements = {}
    for node in expr.atoms(sympy.Sum):
        for count in range(1, len(node.limits) + 1):
            factor, core = canonical(inner_sum(node, count), facts).as_independent(
                sympy.Sum, as_Add=False
            )
            if core == target:
                replacement = factor / wanted_factor * letter
                replacements[node] = (
                    sympy.Sum(replacement, *node.limits[count:])
                    if count < len(node.limits)
                    else replacement
                )
    return expr.xreplace(replacements)


_HALF = sympy.Rational(1, 2)
_FEW = 3  # number of terms under a root that are split off


class RuleMatch(NamedTuple):
    """A rule that applies to a part of an expression. The part is ``context`` with a side of the rule in the hole."""

    rule: str
    where: dict[str, Any]
    upper: bool = True  # whether the rule's right side replaces the left side
    context: Any = HOLE


class Suggestion(NamedTuple):
    """A replacement for an expression, and the step from one to the other, in either direction."""

    expr: Any
    match: RuleMatch
    context: Any  # the expression with a hole for the rule's sides


def suggestions(expr: Any, relation: Relation) -> Iterator[Suggestion]:
    """Yield replacements of an expression by a rule at one of its parts. For ``=`` the rule is an identity."""
    for part in dict.fromkeys(sympy.preorder_traversal(expr)):
        for match in _rule_matches(part):
            instance = find_rule(match.rule).instance(match.where)
            if instance.relation == "=" or relation != "=":
                context = expr.xreplace({part: match.context})
                replacement = instance.rhs if match.upper else instance.lhs
                yield Suggestion(context.xreplace({HOLE: replacement}), match, context)


def _rule_matches(part: Any) -> Iterator[RuleMatch]:
    if isinstance(part, PopCount):
        yield from (
            RuleMatch(rule, {"n": part.args[0]})
            for rule in ("popcount-width", "popcount-log2")
        )
    elif isinstance(part, sympy.exp):
        yield RuleMatch("exp-chord", {"x": -part.args[0]})
    elif isinstance(part, sympy.Piecewise) and isinstance(part.args[0][0], sympy.Sum):
        yield RuleMatch("guarded-sum", _of_sum(part.args[0][0]))
    elif isinstance(part, sympy.Sum) and len(part.limits) == 1:
        yield from _sum_matches(part)
    elif part.is_Pow and part.exp == _HALF:
        yield RuleMatch("am-gm", {"a": part, "b": sympy.Integer(1)}, context=HOLE / 2)
        for term in part.base.args[:_FEW] if part.base.is_Add else ():
            yield RuleMatch("sqrt-subadditive", {"a": term, "b": part.base - term})
    elif part.is_Pow and not part.exp.is_number:
        yield RuleMatch(
            "power-monotone",
            {"a": part.base, "b": sympy.exp(part.base - 1), "p": part.exp},
        )
        yield RuleMatch("bernoulli", {"x": part.base - 1, "n": part.exp}, upper=False)


def _sum_matches(node: Any) -> Iterator[RuleMatch]:
    index, lo, hi = node.limits[0]
    body = node.function
    of_sum = _of_sum(node)
    base = (
        body.base
        if body.is_Pow and body.exp == index
        else body
        if body == index
        else None
    )
    if (
        lo == 0
        and base is not None
        and body != index
        and index not in base.free_symbols
    ):
        if hi == sympy.oo:
            yield RuleMatch("geometric-series", {"x": base})
        else:
            yield RuleMatch("geometric-sum-bound", {"x": base, "m": hi})
            yield RuleMatch("geometric-sum", {"x": base, "m": hi + 1})
    if lo == 0 and body == index:
        yield RuleMatch("sum-integers", {"m": hi})
    if hi != sympy.oo:
        for end in (lo, hi):
            yield RuleMatch("sum-at-most", {**of_sum, "c": body.xreplace({index: end})})


def _of_sum(node: Any) -> dict[str, Any]:
    index, lo, hi = node.limits[0]
    return {"f": sympy.Lambda(index, node.function), "lo": lo, "hi": hi}
