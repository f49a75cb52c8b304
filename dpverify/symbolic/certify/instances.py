"""Instances of rules and premises as the checker reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import sympy

from dpverify.symbolic.certify.prefix import NotExpressibleError, Prefix, conditions_of, from_sympy, letter_of
from dpverify.symbolic.derive.steps import PREMISE, Cases, Link, Premise, symbol_conditions
from dpverify.symbolic.rules.base import (
    AreSetBits,
    ForAll,
    Holds,
    IsGaussianNorm,
    IsInteger,
    IsRandom,
    IsVector,
)
from dpverify.symbolic.rules.sequences import Same


def kind_of(symbol: Any) -> str:
    """Kind of a letter, by the assumptions of its symbol."""
    if symbol.is_integer:
        return "integer"
    return "real" if symbol.is_real else "random"


def where_value(value: Any) -> Any:
    """A value of a rule's letter: an expression, a function's name, or an index and a term."""
    if isinstance(value, sympy.Lambda):
        (index,) = value.variables
        return (letter_of(index), from_sympy(value.expr))
    if isinstance(value, sympy.core.function.FunctionClass):
        return (str(value),)
    return from_sympy(value)


def replaced(links: Iterable[Link]) -> dict[str, set[str]]:
    """Letters that the uses of each premise put something else for; the others stand for the statement's own."""
    letters_by_premise: dict[str, set[str]] = {}
    for link in links:
        if isinstance(link, Cases):
            parts = [replaced(case.steps) for case in link.cases]
        else:
            names = {name for name, value in link.where.items() if str(value) != name}
            parts = [{name: names for name in link.premises if link.rule == PREMISE}]
        for part in parts:
            for name, letters in part.items():
                letters_by_premise.setdefault(name, set()).update(letters)
    return letters_by_premise


def said_by(instance: Any, symbols: Iterable[Any]) -> dict[str, Any]:
    """What holds for all values of some symbols, by what is assumed of them and under the instance's conditions."""
    sign_conditions = [condition for s in symbols for condition in symbol_conditions(s)]
    return {
        "letters": {letter_of(s): kind_of(s) for s in symbols},
        "conditions": [
            condition
            for c in dict.fromkeys((*instance.conditions, *sign_conditions))
            for condition in condition_data(c)
        ],
        "lhs": from_sympy(instance.lhs),
        "relation": instance.relation,
        "rhs": from_sympy(instance.rhs),
    }


def premise_data(premise: Premise, letters: Collection[str]) -> dict[str, Any]:
    """A premise as something that holds for all values of some letters, under its conditions."""
    expressions = [premise.lhs, premise.rhs, *(e for c in premise.conditions for e in _expressions(c))]
    symbols = sorted({s for e in expressions for s in sympy.sympify(e).free_symbols}, key=str)
    return said_by(premise, [s for s in symbols if letter_of(s) in letters])


def _expressions(condition: Any) -> list[Any]:
    if isinstance(condition, Holds):
        return [condition.relation]
    if isinstance(condition, ForAll):
        index = condition.index
        return [condition.lo, condition.hi, condition.relation.subs(index, condition.lo)]
    return [v for v in vars(condition).values() if isinstance(v, sympy.Basic)]


def condition_data(condition: Any) -> list[Prefix]:
    """A condition in the format of the rules."""
    if isinstance(condition, Holds):
        return conditions_of(condition.relation)
    if isinstance(condition, ForAll):
        lo = from_sympy(condition.lo)
        hi = from_sympy(condition.hi)
        return [
            ["forall", letter_of(condition.index), lo, hi, relation] for relation in conditions_of(condition.relation)
        ]
    if isinstance(condition, IsInteger):
        return [["integer", from_sympy(condition.expr)]]
    if isinstance(condition, Same):
        return [["=", from_sympy(condition.left), from_sympy(condition.right)]]
    if isinstance(condition, IsRandom | IsVector):
        what = "random" if isinstance(condition, IsRandom) else "vector"
        return [["declared", what, from_sympy(condition.variable)]]
    if isinstance(condition, IsGaussianNorm):
        parts = (condition.variable, condition.dimension, condition.variance)
        return [["declared", "gaussian-norm", *(from_sympy(p) for p in parts)]]
    if isinstance(condition, AreSetBits):
        return [["declared", "set-bits", str(condition.position.func), from_sympy(condition.of)]]
    raise NotExpressibleError(f"the condition {condition}.")
