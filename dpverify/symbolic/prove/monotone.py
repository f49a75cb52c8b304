"""Monotonicity of an expression in one letter, by its structure. Every condition is proven."""

from __future__ import annotations

from functools import reduce
from typing import Any

import sympy

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.canonical import inner_sum
from dpverify.symbolic.prove.facts import Facts, Occurrence, symbols_of
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive

_RISING = (sympy.exp, sympy.floor, sympy.ceiling, sympy.erf, sympy.Max, sympy.Min)
_NOT_SMOOTH = (
    sympy.Sum,
    sympy.Integral,
    sympy.floor,
    sympy.ceiling,
    sympy.Max,
    sympy.Min,
    sympy.Abs,
    sympy.Mod,
    sympy.Piecewise,
)


def direction(expr: Any, letter: Any, place: Occurrence) -> int | None:
    """Return the sign of the slope in a letter: 1, -1, 0 if it does not occur, None if nothing is proven."""
    if letter not in symbols_of(expr):
        return 0
    if expr == letter:
        return 1
    sign = _by_structure(expr, letter, place)
    return _by_derivative(expr, letter, place) if sign is None else sign


def _by_structure(expr: Any, letter: Any, place: Occurrence) -> int | None:
    if expr.is_Add or isinstance(expr, _RISING):
        return reduce(_together, (direction(arg, letter, place) for arg in expr.args))
    if expr.is_Mul:
        return _product(expr, letter, place)
    if expr.is_Pow:
        return _power(expr, letter, place)
    if isinstance(expr, sympy.log | Log2):
        return direction(expr.args[0], letter, place) if is_positive(expr.args[0], place.facts) else None
    if isinstance(expr, sympy.erfc):
        return _turned(direction(expr.args[0], letter, place), -1)
    if isinstance(expr, sympy.Abs):
        return _turned(direction(expr.args[0], letter, place), _sign(expr.args[0], place.facts))
    if isinstance(expr, sympy.Sum):
        return _sum(expr, letter, place)
    return None


def _together(a: int | None, b: int | None) -> int | None:
    """Return the direction of a sum of two parts."""
    if a is None or b is None:
        return None
    return a or b if a * b >= 0 else None


def _turned(a: int | None, sign: int | None) -> int | None:
    return None if a is None or sign is None else a * sign


def _sign(expr: Any, facts: Facts) -> int | None:
    if is_nonnegative(expr, facts):
        return 1
    return -1 if is_nonnegative(-expr, facts) else None


def _product(expr: Any, letter: Any, place: Occurrence) -> int | None:
    """Return the direction of a constant of known sign times nonnegative factors that all have the same direction."""
    constant, variable_part = expr.as_independent(letter, as_Add=False)
    sign = _sign(constant, place.facts)
    factors = sympy.Mul.make_args(variable_part)
    if sign is None or (len(factors) > 1 and not all(is_nonnegative(f, place.facts) for f in factors)):
        return None
    return _turned(reduce(_together, (direction(f, letter, place) for f in factors)), sign)


def _power(expr: Any, letter: Any, place: Occurrence) -> int | None:
    base, exponent = expr.args
    if letter not in symbols_of(exponent):
        moves = direction(base, letter, place)
        if exponent.is_Integer and exponent.is_odd and exponent.is_positive:
            return moves
        if is_nonnegative(exponent, place.facts) and is_nonnegative(base, place.facts):
            return moves
        if is_nonnegative(-exponent, place.facts) and is_positive(base, place.facts):
            return _turned(moves, -1)
        return None
    if letter in base.free_symbols:
        return None
    moves = direction(exponent, letter, place)
    if is_nonnegative(base - 1, place.facts):
        return moves
    if is_nonnegative(1 - base, place.facts) and (
        is_positive(base, place.facts) or (is_nonnegative(base, place.facts) and is_nonnegative(exponent, place.facts))
    ):
        return _turned(moves, -1)
    return None


def _sum(expr: Any, letter: Any, place: Occurrence) -> int | None:
    """Return the direction of a sum, by its terms or by its range.

    Infinite sums and ranges that depend on the letter need nonnegative terms.
    """
    _, lo, hi = expr.limits[-1]
    fresh, inside = place.inside(expr.limits[-1])
    body = inner_sum(expr, len(expr.limits) - 1).xreplace({expr.limits[-1][0]: fresh})
    if letter not in lo.free_symbols | hi.free_symbols:
        if hi == sympy.oo and not is_nonnegative(body, inside.facts):
            return None
        return direction(body, letter, inside)
    facts = place.facts if letter in lo.free_symbols else place.facts.given([fresh >= lo])
    if letter in body.free_symbols or not is_nonnegative(body, facts):
        return None
    return _together(direction(hi, letter, place), _turned(direction(lo, letter, place), -1))


def _by_derivative(expr: Any, letter: Any, place: Occurrence) -> int | None:
    """Return the sign of the derivative, for expressions that are smooth on the whole range."""
    if letter.is_integer or expr.has(*_NOT_SMOOTH) or not _smooth(expr, letter, place.facts):
        return None
    slope = sympy.diff(expr, letter)
    return None if slope.has(sympy.Derivative, sympy.Subs) else _sign(slope, place.facts)


def _smooth(expr: Any, letter: Any, facts: Facts) -> bool:
    """Test that no part with the letter reaches the edge of its domain: arguments of logarithms, bases, divisors."""
    for part in sympy.preorder_traversal(expr):
        if letter not in symbols_of(part):
            continue
        if isinstance(part, sympy.log | Log2) and not is_positive(part.args[0], facts):
            return False
        if part.is_Pow and not _smooth_power(part.base, part.exp, facts):
            return False
    return True


def _smooth_power(base: Any, exponent: Any, facts: Facts) -> bool:
    if (exponent.is_Integer and exponent.is_nonnegative) or is_positive(base, facts):
        return True
    return bool(exponent.is_Integer) and is_positive(-base, facts)
