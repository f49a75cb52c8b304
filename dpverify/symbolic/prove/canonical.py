"""Sums in one shape, so that equal sums look equal: index from 0, named by nesting depth, constant factors outside."""

from __future__ import annotations

from typing import Any

import sympy

from dpverify.symbolic.prove.expansion import expanded
from dpverify.symbolic.prove.facts import Facts

_FEW_TERMS = 6


def canonical(expr: Any, facts: Facts) -> Any:
    """Rewrite every sum of an expression.

    ``facts``: what may be assumed; a sum of equal terms becomes a product only where its range is proven not to be
    negative. An equal expression. Finite sums of sums are split; ranges that are numbers and short are written out.
    """
    return expr.replace(lambda e: isinstance(e, sympy.Sum), lambda e: _sum(e, facts))


def _sum(node: Any, facts: Facts) -> Any:
    body = node.function
    for index, lo, hi in node.limits:
        body = _one_sum(body, index, lo, hi, facts)
    return body


def _one_sum(body: Any, index: Any, lo: Any, hi: Any, facts: Facts) -> Any:
    fresh = sympy.Symbol(f"_{depth_of(body)}", integer=True, nonnegative=True)
    if lo == -sympy.oo:
        return sympy.Sum(body, (index, lo, hi))
    shifted = expanded(body.xreplace({index: fresh + lo}))
    last = expanded(hi - lo)
    if last.is_Integer:
        if last < 0:
            return sympy.Integer(0)
        if last < _FEW_TERMS:
            return sympy.Add(*(shifted.xreplace({fresh: sympy.Integer(k)}) for k in range(int(last) + 1)))
    terms = sympy.Add.make_args(shifted) if last != sympy.oo else (shifted,)
    return sympy.Add(*(_one_term(term, fresh, last, facts) for term in terms))


def _one_term(term: Any, index: Any, last: Any, facts: Facts) -> Any:
    from dpverify.symbolic.prove.signs import is_nonnegative

    constant, rest = term.replace(lambda e: _splittable(e, index), lambda e: _split(e, index)).as_independent(
        index, as_Add=False
    )
    if rest == 1 and last != sympy.oo and is_nonnegative(last + 1, facts):
        return constant * (last + 1)
    return constant * sympy.Sum(rest, (index, 0, last))


def _splittable(expr: Any, index: Any) -> bool:
    return bool(expr.is_Pow and expr.exp.is_Add and expr.base.is_positive and index not in expr.base.free_symbols)


def _split(power: Any, index: Any) -> Any:
    constant, rest = power.exp.as_independent(index, as_Add=True)
    return sympy.Mul(power.base**constant, power.base**rest, evaluate=False)


def inner_sum(node: Any, count: int) -> Any:
    """The innermost sums of a nested sum, which sympy keeps flat: the first ``count`` of its limits."""
    return sympy.Sum(node.function, *node.limits[:count]) if count else node.function


def depth_of(expr: Any) -> int:
    """How many sums are nested in an expression."""
    if isinstance(expr, sympy.Sum):
        return len(expr.limits) + depth_of(expr.function)
    return max((depth_of(arg) for arg in expr.args), default=0)
