"""Exact and ball evaluation of formula trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from flint import arb

from dpverify.ledger.formula import Compare, Formula
from dpverify.symbolic.exact.compile import compile_formula, compile_relation
from dpverify.symbolic.exact.numbers import (
    MAX_BITS,
    Datum,
    EvaluationError,
    Exact,
    UndecidedError,
    Value,
    to_exact,
    to_value,
    working_precision,
)
from dpverify.symbolic.exact.sums import Closure, Env

Point: TypeAlias = Mapping[str, Any]


def evaluate(node: Formula, env: Point, *, precision: int = 256, extended: bool = False) -> Exact:
    """Evaluate a formula at a point: to a Fraction where rational arithmetic suffices, else to a ball around the value.

    ``precision``: bits of the balls, or more where they do not show whether the formula is defined. ``extended``:
    ``x/0`` is +oo or -oo by the sign of x, and ``log(0)`` is -oo, instead of a DomainError.
    """
    return to_exact(run(cached_closure(node, extended), values(env), precision))


def values(point: Point) -> Env:
    """Copy a point into the dict that compiled formulas read."""
    return {name: v if isinstance(v, Datum) or callable(v) else to_value(v) for name, v in point.items()}


def run(closure: Closure, env: Env, precision: int, most: int = MAX_BITS) -> Value:
    """Run a compiled formula, with more bits as long as it asks for them; the value is never a NaN."""
    while True:
        try:
            with working_precision(precision):
                result = closure(env)
            if not (isinstance(result, arb) and result.is_nan()):
                return result
            raise UndecidedError("the value is indeterminate: oo - oo, 0*oo, or a ball that is too wide.")
        except UndecidedError:
            if precision >= most:
                raise
            precision *= 2


def holds(node: Compare, env: Point, *, precision: int = 64, extended: bool = False) -> bool | None:
    """Decide comparisons at a point: None where 2048 bits do not, False where a side is not defined."""
    return holds_compiled(compile_relation(node, extended), values(env), precision)


def holds_compiled(relation: Callable[[Env], bool | None], env: Env, precision: int = 64) -> bool | None:
    """Decide a compiled chain of comparisons; see :func:`holds`."""
    while True:
        try:
            with working_precision(precision):
                answer = relation(env)
        except UndecidedError:
            answer = None
        except EvaluationError:
            return False
        if answer is not None or precision >= MAX_BITS:
            return answer
        precision *= 4


_closures: dict[tuple[int, bool], tuple[Formula, Closure]] = {}


def cached_closure(node: Formula, extended: bool = False) -> Closure:
    """Compiled form of a tree, found by the tree's identity first: hashing a large tree costs more than running it."""
    key = (id(node), extended)
    entry = _closures.get(key)
    if entry is None or entry[0] is not node:
        if len(_closures) > 4096:
            _closures.clear()
        entry = _closures[key] = (node, compile_formula(node, extended))
    return entry[1]
