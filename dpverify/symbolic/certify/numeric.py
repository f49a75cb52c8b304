"""Expressions of certificates as floats: they prove nothing, and save the search for proofs of what is false."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Point = Mapping[str, float]

_MOST_TERMS = 300


def _power(base: float, exponent: float) -> float:
    value = base**exponent
    if isinstance(value, complex):
        raise ArithmeticError
    return float(value)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp, "log": math.log, "log2": math.log2, "sqrt": math.sqrt, "abs": abs, "floor": math.floor,
    "ceil": math.ceil, "max": max, "min": min, "mod": lambda a, b: a % b,
    "bit": lambda s, i: float(int(s) >> int(i) & 1), "popcount": lambda n: float(int(n).bit_count()),
    "+": lambda *xs: math.fsum(xs), "*": lambda *xs: math.prod(xs), "^": _power,
}  # fmt: skip


def value_of(expressions: Any, number: int, point: Point) -> float | None:
    """Value of an expression at a point, or None where it has none."""
    try:
        return _value(expressions, number, point)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None


def _value(expressions: Any, number: int, point: Point) -> float:
    op, *args = expressions.rows[number]
    if op == "q":
        return int(args[0].p) / int(args[0].q)
    if op == "letter":
        return point[args[0]]
    if op == "pi":
        return math.pi
    if op == "sum":
        index, lo, hi, body = args
        if expressions.rows[hi] == ("oo",):
            raise ValueError
        first, last = round(_value(expressions, lo, point)), math.floor(_value(expressions, hi, point) + 1e-9)
        if last - first > _MOST_TERMS:
            raise ValueError
        return math.fsum(_value(expressions, body, {**point, index: float(k)}) for k in range(first, last + 1))
    return _FUNCTIONS[op](*(_value(expressions, arg, point) for arg in args))
