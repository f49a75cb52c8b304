"""Where the letters are sampled of which only premises speak: below what these say, after what that depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise
from dpverify.symbolic.expressions.ranges import FromPremises, GaussianNorm, Range, SetBits, Variable
from dpverify.symbolic.rules.base import Holds


def in_order(derivation: Derivation) -> Mapping[str, Variable]:
    """Give such letters the bounds of the premises, and put each variable after those that its range depends on."""
    todo = {name: _bounded(name, variable, derivation) for name, variable in derivation.variables.items()}
    if todo == dict(derivation.variables):
        return derivation.variables
    done: dict[str, Variable] = {}
    while todo:
        name = next((n for n, v in todo.items() if range_names(v).isdisjoint(todo.keys() - {n})), None)
        if name is None:
            raise DerivationError(f"{derivation.name}: the ranges of {', '.join(todo)} depend on each other.")
        done[name] = todo.pop(name)
    return done


def _bounded(name: str, variable: Variable, derivation: Derivation) -> Variable:
    """A letter of the derivation's own that premises bound is drawn below their bounds, or has the value they give."""
    if not isinstance(variable, Range):
        return variable
    measured = isinstance(variable, FromPremises)
    if not measured and not (name in derivation.local and variable.kind == "real"):
        return variable
    premises = [p for p in derivation.premises.values() if _bounds(p, name)]
    if not measured:  # a step may give a premise other letters than those that are drawn
        premises = [p for p in premises if {s.name for s in p.rhs.free_symbols} <= derivation.variables.keys()]
    if not premises:
        if measured:
            raise DerivationError(f"{derivation.name}: no premise bounds {name}: give it a range.")
        return variable
    if value := next((premise.rhs for premise in premises if premise.relation == "="), None):
        return Range("real", value, value)
    bounds = [(premise.rhs, _applies(premise)) for premise in premises]
    if not measured:
        bounds.append((variable.hi, lambda _: True))
    return FromPremises("real", variable.lo, open_lo=variable.open_lo, bounds=tuple(bounds))


def _bounds(premise: Premise, name: str) -> bool:
    """Whether a premise bounds a letter from above."""
    return bool(premise.lhs.is_Symbol and premise.lhs.name == name and premise.relation != ">=")


def _applies(premise: Premise) -> Any:
    """Whether a premise's conditions hold at a point, those aside that the signs of its own letters are."""
    relations = tuple(
        c.relation for c in premise.conditions if isinstance(c, Holds) and c.relation not in (True, False)
    )
    tests = Setting.tests_of(relations)
    return lambda env: all(test(env) is True for test in tests)


def range_names(variable: Variable) -> set[str]:
    """Letters on which the range or the law of a letter depends."""
    match variable:
        case FromPremises():
            parts = [variable.lo, *(bound for bound, _ in variable.bounds)]
        case Range():
            parts = [variable.lo, variable.hi]
        case GaussianNorm():
            parts = [variable.dimension, variable.variance]
        case SetBits():
            parts = [variable.of]
        case _:
            parts = []
    return {s.name for part in parts for s in sympy.sympify(part).free_symbols}
