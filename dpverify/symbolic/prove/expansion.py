"""Expansion into monomials. Powers of sums stay whole, except over numeric bases: ``2**(u + 1)`` is ``2*2**u``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

_HINTS = {"power_exp": False, "power_base": False, "log": False, "deep": True}


@lru_cache(maxsize=20_000)
def expanded(expr: Any) -> Any:
    """Expand products and integer powers.

    An equal expression, a sum of monomials in symbols and functions. ``gamma**(2*k - 2)`` and ``exp(a - b)`` stay as
    they are, so that they can be compared with others of their kind.
    """
    result = sympy.expand(expr, **_HINTS)
    split = result.replace(_has_numeric_base, _split_exponent)
    return result if split == result else sympy.expand(split, **_HINTS)


def _has_numeric_base(expr: Any) -> bool:
    return bool(expr.is_Pow and expr.base.is_Rational and expr.base.is_positive and expr.exp.is_Add)


def _split_exponent(power: Any) -> Any:
    constant, rest = power.exp.as_coeff_Add()
    return power.base**constant * power.base**rest if constant.is_Integer else power


def squares(symbols: list[Any]) -> list[Any]:
    """Squares of differences of symbols and of their distances from 1: nonnegative, and no products of other facts."""
    real = [s for s in symbols if s.is_real]
    return [(a - b) ** 2 for i, a in enumerate(real) for b in (*real[i + 1 :], sympy.Integer(1))]


def common_denominator(expr: Any) -> Any:
    """Product of the bases that stand under a fraction bar in the terms of a sum, each to its highest power.

    1 where there is no fraction bar. Exponentials are never turned into denominators.
    """
    powers: dict[Any, Any] = {}
    for term in sympy.Add.make_args(expr):
        for factor in sympy.Mul.make_args(term):
            if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative and not factor.base.is_Rational:
                powers[factor.base] = max(powers.get(factor.base, 0), -factor.exp)
    return sympy.Mul(*(base**exponent for base, exponent in powers.items()))


@lru_cache(maxsize=50_000)
def symbols_of(expr: Any) -> frozenset[Any]:
    """Free symbols of an expression: sympy walks the whole tree each time it is asked."""
    return frozenset(expr.free_symbols)
