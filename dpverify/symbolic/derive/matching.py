"""Does an instance of a rule take one expression to the next? Where it is applied is found; that it may be is proven.

There are two ways. *Substitution*: the old expression holds one side of the rule in some place, the new one the other
side, and what stands around that place moves in the right direction. *Addition*: the two expressions differ by the
difference of the rule's sides, times a factor that is nonnegative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.prove.canonical import canonical, inner_sum
from dpverify.symbolic.prove.equality import are_equal, same_terms, within
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.monotone import direction, well_defined
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive
from dpverify.symbolic.rules.base import Instance, Relation

_SECONDS = 5.0
_MAX_OPERATIONS = 100
_MAX_FACTOR = 25


@dataclass(frozen=True)
class Move:
    """What is to be justified."""

    old: Any  # the expressions before and after the step
    new: Any
    relation: Relation  # ``old relation new``
    context: Any  # the old expression with HOLE in the place of the rule, if the author gives it
    facts: Facts  # what holds on the domain
    inside: Facts  # the same, and the ranges of the sum indices that the rule's instance mentions
    refuted: Callable[[Any], bool]  # from an expression to whether it is certainly not 0 somewhere on the domain


def justified(move: Move, instance: Instance) -> str:
    """Why a rule's instance, whose conditions are proven already, does not justify a step; empty if it does."""
    if move.relation == "=" and instance.relation != "=":
        return "an inequality cannot justify an equality."
    small, large = instance.lhs, instance.rhs
    if instance.relation == ">=":
        small, large = large, small
    reason = "the rule's sides are not found in the two expressions."
    rises = 1 if move.relation == "<=" else -1
    for held, put, wanted in ((small, large, rises), (large, small, -rises)):
        for letter, context in _contexts(move, held, small, large):
            after = context.xreplace({letter: put})
            if not are_equal(after, move.new, move.facts, move.refuted):
                continue
            if instance.relation == "=":
                return ""
            known = move.inside.extended(letter, (small, large)).given([letter >= small, letter <= large])
            moves = direction(context, letter, known)
            if moves in {0, wanted}:
                return ""
            way = "nondecreasing" if wanted > 0 else "nonincreasing"
            reason = f"not proven: {context} is {way} in {letter} from {small} to {large}."
    if instance.relation != "=" and _differs_by_multiple(move, large - small):
        return ""
    return reason


def _contexts(move: Move, held: Any, small: Any, large: Any) -> Iterator[tuple[Any, Any]]:
    """Yield letters, and the old expression with the letter in the place of the side that it holds."""
    signs = {"nonnegative": True} if is_nonnegative(small, move.inside) else {}
    signs = {"positive": True} if is_positive(small, move.inside) else signs
    letter = sympy.Dummy("h", real=True, **signs)
    seen = set()
    for context in _places(move, held, letter):
        if letter in context.free_symbols and context not in seen:
            seen.add(context)
            if not context.free_symbols <= move.old.free_symbols | {letter}:
                continue  # an index may not leave its sum
            if are_equal(context.xreplace({letter: held}), move.old, move.facts, move.refuted):
                yield letter, context


def _places(move: Move, held: Any, letter: Any) -> Iterator[Any]:
    if move.context is not None:
        yield move.context.xreplace({HOLE: letter})
        return
    if held == move.old:
        yield letter
    if held.is_Rational:
        return  # a 1 may stand anywhere: say where, by a context
    yield move.old.xreplace({held: letter})
    yield _in_sums(move, held, letter)
    if isinstance(held, sympy.Integral):
        equal = [node for node in move.old.atoms(sympy.Integral) if same_terms(node, held, move.facts)]
        yield move.old.xreplace(dict.fromkeys(equal, letter))
    if held.free_symbols and not held.is_Symbol:
        yield move.old.xreplace({-held: -letter})
        yield move.old.subs(held, letter)
    flat, flat_held = canonical(move.old, move.facts), canonical(held, move.facts)
    yield flat.xreplace({flat_held: letter})


def _in_sums(move: Move, held: Any, letter: Any) -> Any:
    """Find a sum by its shape: the names and starts of indices, and constant factors, do not matter."""
    wanted_factor, wanted = canonical(held, move.inside).as_independent(sympy.Sum, as_Add=False)
    if not isinstance(wanted, sympy.Sum):
        return move.old
    found = {}
    for node in move.old.atoms(sympy.Sum):
        for count in range(1, len(node.limits) + 1):
            factor, core = canonical(inner_sum(node, count), move.inside).as_independent(sympy.Sum, as_Add=False)
            if core == wanted:
                put = factor / wanted_factor * letter
                found[node] = sympy.Sum(put, *node.limits[count:]) if count < len(node.limits) else put
    return move.old.xreplace(found)


def _differs_by_multiple(move: Move, gap: Any) -> bool:
    """Whether ``new - old`` (turned for >=) is a nonnegative multiple of the gap between the rule's sides."""
    change = move.new - move.old if move.relation == "<=" else move.old - move.new
    if gap == 0 or change.has(sympy.Sum) or gap.has(sympy.Sum) or move.inside != move.facts:
        return False  # an instance about the terms of a sum says nothing where the sum is empty
    factor = _quotient(change, gap)
    return (
        factor is not None
        and is_nonnegative(factor, move.facts)
        and well_defined(factor, move.facts)
        and are_equal(change, factor * gap, move.facts, move.refuted)
    )


def _quotient(change: Any, gap: Any) -> Any:
    """The factor between two differences, where it is simple; what is not has to be written as a substitution."""
    if change.count_ops() + gap.count_ops() > _MAX_OPERATIONS:
        return None
    factor = within(_SECONDS, lambda: sympy.cancel(change / gap))
    return factor if factor is not None and factor.count_ops() <= _MAX_FACTOR else None
