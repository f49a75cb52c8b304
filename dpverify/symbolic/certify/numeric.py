"""Expressions of certificates as floats: they prove nothing, and save the search for proofs of what is false."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dpverify.symbolic.certify.checker import Expr

Point = Mapping[str, float]

_MOST_TERMS = 300


def _power(base: float, exponent: float) -> float:
    value = base**exponent
    if isinstance(value, complex):
        raise ArithmeticError
    return float(value)


def _floor(value: float) -> int:
    return math.floor(value + 1e-9)  # of what may be whole but for rounding


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "floor": _floor,
    "max": max,
    "^": _power,
    "pi": lambda: math.pi,
    "bit": lambda s, i: float(int(s) >> int(i) & 1),
    "popcount": lambda n: float(int(n).bit_count()),
    "binomial": lambda n, k: float(math.comb(int(n), int(k))),
    "+": lambda *xs: math.fsum(xs),
    "*": lambda *xs: math.prod(xs),
}


def value_of(expr: Expr, point: Point) -> float | None:
    """Value of an expression at a point, or None where it has none."""
    try:
        return _value(expr, point)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None


def _value(expr: Expr, point: Point) -> float:
    op, *args = expr
    if op == "q":
        return int(args[0].p) / int(args[0].q)
    if op == "letter":
        return point[args[0]]
    if op == "sum":
        index, lo, hi, body = args
        if hi[0] == "oo":
            raise ValueError
        first = round(_value(lo, point))
        last = _floor(_value(hi, point))
        if last - first > _MOST_TERMS:
            raise ValueError
        return math.fsum(_value(body, {**point, index: float(n)}) for n in range(first, last + 1))
    return _FUNCTIONS[op](*(_value(arg, point) for arg in args))
