"""Test whether an instance of a rule justifies a step, and suggest steps by rules.

The place where a rule is applied is searched for, and its conditions are proved. There are two ways to apply a rule.
*Substitution*: the old expression contains one side of the rule at some place, the new one contains the other side
there, and the surrounding expression is monotone in the right direction. *Addition*: the two expressions differ by the
difference of the rule's sides, times a nonnegative factor.

Suggested steps replace parts of an expression. Other modules check whether a suggestion is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from dpverify.symbolic.expressions.functions import HOLE, PopCount
from dpverify.symbolic.expressions.ranges import Variable
from dpverify.symbolic.prove.canonical import canonical, inner_sum
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.equality import are_equal, holds_any_values, same_terms, within
from dpverify.symbolic.prove.facts import Facts, Occurrence, inside_sums, sums_around, symbols_of
from dpverify.symbolic.prove.monotone import direction
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Instance, Relation

_SECONDS = 5.0
_MAX_OPERATIONS = 100
_MAX_FACTOR = 25
_NOT_FOUND = "the rule's sides are not found in the two expressions."
_LETTER = sympy.Dummy("place", real=True)


@dataclass(frozen=True)
class Move:
    """A step that needs a justification."""

    old: Any  # the expressions before and after the step
    new: Any
    relation: Relation  # ``old relation new``
    context: Any  # the old expression with HOLE in the place of the rule, if the author gives it
    facts: Facts  # what holds on the domain
    variables: Mapping[str, Variable]
    refuted: Callable[[Any], bool]  # tests whether an expression is certainly not 0 somewhere on the domain


def justified(move: Move, instance: Instance) -> str:
    """Return why a rule's instance does not justify a step, or an empty text."""
    if move.relation == "=" and instance.relation != "=":
        return "an inequality cannot justify an equality."
    small = instance.lhs
    large = instance.rhs
    if instance.relation == ">=":
        small, large = large, small
    reason = _NOT_FOUND
    rises = 1 if move.relation == "<=" else -1
    for held, put, slope_sign in ((small, large, rises), (large, small, -rises)):
        for context in _contexts(move, held):
            if not are_equal(context.xreplace({_LETTER: put}), move.new, move.facts, move.refuted):
                continue
            reason = _obstacle(move, instance, context, 0 if instance.relation == "=" else slope_sign)
            if not reason:
                return ""
    if instance.relation == "=":
        return reason
    obstacle = _obstacle(move, instance, _LETTER, 0)
    if not obstacle and _differs_by_multiple(move, large - small):
        return ""
    return obstacle or reason if reason == _NOT_FOUND else reason


def _obstacle(move: Move, instance: Instance, context: Any, slope_sign: int) -> str:
    """Return why an instance cannot be used at the letter of a context, or an empty text.

    Unless ``slope_sign`` is 0, the context must be monotone in the letter with this sign.
    """
    small = instance.lhs
    large = instance.rhs
    if instance.relation == ">=":
        small, large = large, small
    indices = {s for s in small.free_symbols | large.free_symbols if s.name not in move.variables}
    bound = {limit[0] for side in (small, large) for node in side.atoms(sympy.Sum) for limit in node.limits}
    paths = set()
    place_facts = []
    for around in sums_around(context, _LETTER):
        path = tuple(limit[0] for limit in around)
        if outside := indices - set(path):
            return f"the rule speaks of {min(map(str, outside))}, and not inside a sum over it."
        if bound & set(path):
            return "give nested sums different indices."
        depth = max((path.index(index) + 1 for index in indices), default=0)
        paths.add(path[:depth])
        place_facts.append(inside_sums(move.facts, around[:depth]))
    for facts in dict.fromkeys(place_facts):
        unmet = [str(c) for c in instance.conditions if not c.met(facts, move.variables)]
        if unmet:
            return f"not proven: {'; '.join(unmet)}."
        for side in (small, large, *(e for c in instance.conditions for e in c.expressions())):
            part = undefined_part(side, Occurrence(facts), move.variables)
            if part is not None:
                return f"not proven that {part} has a value, in the rule."
    is_integer = small.is_integer and large.is_integer and _in_limits(context)
    kind = "integer" if is_integer else "real"
    anything = context.xreplace({_LETTER: _letter(kind, "real")})
    if slope_sign == 0 and undefined_part(anything, Occurrence(move.facts), move.variables) is None:
        return ""  # for any value at this place
    tried = () if holds_any_values(small) else (("positive", is_positive), ("nonnegative", is_nonnegative))
    sign = next((name for name, proven in tried if all(proven(small, facts) for facts in place_facts)), "real")
    letter = _letter(kind, sign)
    context = context.xreplace({_LETTER: letter})
    place = Occurrence(move.facts).bounded(letter, small, large, frozenset(paths))
    part = undefined_part(context, place, move.variables)
    if part is not None:
        return f"not proven that {part} has a value for every {letter} from {small} to {large}."
    if slope_sign == 0 or direction(context, letter, place) in {0, slope_sign}:
        return ""
    way = "nondecreasing" if slope_sign > 0 else "nonincreasing"
    return f"not proven: {context} is {way} in {letter} from {small} to {large}."


@lru_cache
def _letter(kind: str, sign: str) -> Any:
    """Return a letter between the two sides, the same on every call, so that cached results about it are reused."""
    return sympy.Dummy("h", **{kind: True, sign: True})


def _in_limits(context: Any) -> bool:
    """Test whether the letter is in the limits of a sum, where it must be an integer."""
    return any(_LETTER in limit.free_symbols for node in context.atoms(sympy.Sum) for limit in node.limits)


def _contexts(move: Move, held: Any) -> Iterator[Any]:
    """Yield the old expression with a letter substituted for the side of the rule that it contains."""
    contexts = set()
    for context in _places(move, held, _LETTER):
        if _LETTER in symbols_of(context) and context not in contexts:
            contexts.add(context)
            if not symbols_of(context) <= symbols_of(move.old) | {_LETTER}:
                continue  # an index may not leave its sum
            if are_equal(context.xreplace({_LETTER: held}), move.old, move.facts, move.refuted):
                yield context


def _places(move: Move, held: Any, letter: Any) -> Iterator[Any]:
    if move.context is not None:
        yield move.context.xreplace({HOLE: letter})
        return
    if held == move.old:
        yield letter
    if held.is_Rational:
        return  # a 1 may be anywhere: the author gives the place by a context
    yield move.old.xreplace({held: letter})
    yield _in_sums(move, held, letter)
    if isinstance(held, sympy.Integral):
        equal = [node for node in move.old.atoms(sympy.Integral) if same_terms(node, held, move.facts)]
        yield move.old.xreplace(dict.fromkeys(equal, letter))
    if held.free_symbols and not held.is_Symbol:
        yield move.old.xreplace({-held: -letter})
        yield move.old.subs(held, letter)
    flat = canonical(move.old, move.facts)
    flat_held = canonical(held, move.facts)
    yield flat.xreplace({flat_held: letter})


def _in_sums(move: Move, held: Any, letter: Any) -> Any:
    """Replace sums of a given form by a letter. Names and starts of indices and constant factors do not matter."""
    wanted_factor, target = canonical(held, move.facts).as_independent(sympy.Sum, as_Add=False)
    if not isinstance(target, sympy.Sum):
        return move.old
    replacements = {}
    for node in move.old.atoms(sympy.Sum):
        for count in range(1, len(node.limits) + 1):
            factor, core = canonical(inner_sum(node, count), move.facts).as_independent(sympy.Sum, as_Add=False)
            if core == target:
                put = factor / wanted_factor * letter
                replacements[node] = sympy.Sum(put, *node.limits[count:]) if count < len(node.limits) else put
    return move.old.xreplace(replacements)


def _differs_by_multiple(move: Move, gap: Any) -> bool:
    """Test whether ``new - old`` (negated for >=) is a nonnegative multiple of the gap between the rule's sides."""
    change = move.new - move.old if move.relation == "<=" else move.old - move.new
    if gap == 0 or change.has(sympy.Sum) or gap.has(sympy.Sum):
        return False
    factor = _quotient(change, gap)
    return (
        factor is not None
        and is_nonnegative(factor, move.facts)
        and undefined_part(factor, Occurrence(move.facts), move.variables) is None
        and are_equal(change, factor * gap, move.facts, move.refuted)
    )


def _quotient(change: Any, gap: Any) -> Any:
    """Return the factor between two differences if it is simple, otherwise None."""
    if change.count_ops() + gap.count_ops() > _MAX_OPERATIONS:
        return None
    factor = within(_SECONDS, lambda: sympy.cancel(change / gap))
    return factor if factor is not None and factor.count_ops() <= _MAX_FACTOR else None


_HALF = sympy.Rational(1, 2)
_FEW = 3  # number of terms under a root that are split off


class Fit(NamedTuple):
    """A rule that applies to a part of an expression. The part is ``place`` with a side of the rule in the hole."""

    rule: str
    where: dict[str, Any]
    upper: bool = True  # whether the rule's right side replaces the left side
    place: Any = HOLE


class Suggestion(NamedTuple):
    """A replacement for an expression, and the step from one to the other, in either direction."""

    expr: Any
    fit: Fit
    context: Any  # the expression with a hole for the rule's sides


def suggested(expr: Any, relation: Relation) -> Iterator[Suggestion]:
    """Yield replacements of an expression by a rule at one of its parts. For ``=`` the rule is an identity."""
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
