"""Canonical forms of expressions: expanded into monomials, with sum indices that start at 0, named by their depth."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from dpverify.symbolic.prove.facts import Facts, renamed

_FEW_TERMS = 6
_HINTS = {"power_exp": False, "power_base": False, "log": False, "deep": True}


def canonical(expr: Any, facts: Facts) -> Any:
    """Rewrite every sum. A sum of equal terms becomes a product only if its length is proven nonnegative."""
    return expr.replace(lambda e: isinstance(e, sympy.Sum), lambda e: _sum(e, facts))


def _sum(node: Any, facts: Facts) -> Any:
    body = node.function
    for index, lo, hi in node.limits:
        body = _one_sum(body, index, lo, hi, facts)
    return body


def _one_sum(body: Any, index: Any, lo: Any, hi: Any, facts: Facts) -> Any:
    fresh = _index(depth_of(body))
    if lo == -sympy.oo:
        return sympy.Sum(body, (index, lo, hi))
    shifted = expanded(renamed(body, index, fresh + lo))
    last = expanded(hi - lo)
    if last.is_Integer:
        if last < 0:
            return sympy.Integer(0)
        if last < _FEW_TERMS:
            few = (
                shifted.xreplace({fresh: sympy.Integer(k)})
                for k in range(int(last) + 1)
            )
            return sympy.Add(*(canonical(term, facts) for term in few))
    terms = sympy.Add.make_args(shifted) if last != sympy.oo else (shifted,)
    return sympy.Add(*(_one_term(term, fresh, last, facts) for term in terms))


@lru_cache
def _index(depth: int) -> Any:
    """Return the index of every sum at a nesting depth."""
    return sympy.Dummy(str(depth), integer=True, nonnegative=True)


def _one_term(term: Any, index: Any, last: Any, facts: Facts) -> Any:
    from dpverify.symbolic.prove.signs import is_nonnegative

    constant, variable_part = term.replace(
        lambda e: _splittable(e, index), lambda e: _split(e, index)
    ).as_independent(index, as_Add=False)
    if variable_part == 1 and last != sympy.oo and is_nonnegative(last + 1, facts):
        return constant * (last + 1)
    return constant * sympy.Sum(variable_part, (index, 0, last))


def _splittable(expr: Any, index: Any) -> bool:
    return bool(
        expr.is_Pow
        and expr.exp.is_Add
        and expr.base.is_positive
        and index not in expr.base.free_symbols
    )


def _split(power: Any, index: Any) -> Any:
    constant, variable_part = power.exp.as_independent(index, as_Add=True)
    return sympy.Mul(power.base**constant, power.base**variable_part, evaluate=False)


def inner_sum(node: Any, count: int) -> Any:
    """Return the innermost ``count`` sums of a nested sum, which sympy stores as a flat list of limits."""
    return sympy.Sum(node.function, *node.limits[:count]) if count else node.function


def depth_of(expr: Any) -> int:
    """Return the nesting depth of sums in an expression."""
    if isinstance(expr, sympy.Sum):
        return len(expr.limits) + depth_of(expr.function)
    return max((depth_of(arg) for arg in expr.args), default=0)


@lru_cache(maxsize=100_000)
def expanded(expr: Any) -> Any:
    """Expand products, integer powers, and exponents of numeric bases: ``2**(u + 1)`` becomes ``2*2**u``."""
    if not expr.has(sympy.Add):
        return expr
    # term by term, since each may be cached already
    if expr.is_Mul and any(factor.is_Add for factor in expr.args):
        terms = [sympy.Integer(1)]
        for factor in expr.args:
            terms = [
                term * new
                for term in terms
                for new in sympy.Add.make_args(expanded(factor))
            ]
        return sympy.Add(*map(expanded, terms))
    result = sympy.expand(expr, **_HINTS)
    split = result.replace(_has_numeric_base, _split_exponent)
    return result if split == result else sympy.expand(split, **_HINTS)


def _has_numeric_base(expr: Any) -> bool:
    return bool(
        expr.is_Pow
        and expr.base.is_Rational
        and expr.base.is_positive
        and expr.exp.is_Add
    )


def _split_exponent(power: Any) -> Any:
    constant, variable_part = power.exp.as_coeff_Add()
    return (
        power.base**constant * power.base**variable_part
        if constant.is_Integer
        else power
    )


def squares(symbols: list[Any]) -> list[Any]:
    """Return squares of differences of symbols, and of symbols and 1.

    They are nonnegative, but not products of facts.
    """
    real = [s for s in symbols if s.is_real]
    return [
        (a - b) ** 2
        for i, a in enumerate(real)
        for b in (*real[i + 1 :], sympy.Integer(1))
    ]


def common_denominator(expr: Any) -> Any:
    """Return the product of the bases in denominators, except exponentials, each to its highest power, or 1."""
    powers: dict[Any, Any] = {}
    for term in sympy.Add.make_args(expr):
        for factor in sympy.Mul.make_args(term):
            if (
                factor.is_Pow
                and factor.exp.is_Rational
                and factor.exp.is_negative
                and not factor.base.is_Rational
            ):
                powers[factor.base] = max(powers.get(factor.base, 0), -factor.exp)
    return sympy.Mul(*(base**exponent for base, exponent in powers.items()))
