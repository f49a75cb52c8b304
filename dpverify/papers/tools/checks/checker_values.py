"""Values of expressions of the stand-alone checker: exact rationals if possible, otherwise balls.

The checker gives a value to every expression, and these values are the same: 0**-1, log(-1) and (-8)**(1/3) are 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

from flint import arb

from dpverify.symbolic.certify.checker import Expr
from dpverify.symbolic.exact.numbers import ball

Value = Fraction | arb
Point = Mapping[str, Fraction]

MOST_POWER = 60
MOST_EXPONENT = 200
MOST_TERMS = 20


class Undecided(Exception):  # noqa: N818  the point says nothing
    """A value that balls cannot decide, or that is too large."""


def value(e: Expr, point: Point) -> Value:
    """Evaluate an expression of the checker; raise Undecided if a ball contains a limit of a case distinction."""
    op, *args = e
    if op == "q":
        return Fraction(int(args[0].p), int(args[0].q))
    if op == "letter":
        return point[args[0]]
    if op == "pi":
        return arb.pi()
    if op == "sum":
        return _sum(args, point)
    values = [value(arg, point) for arg in args]
    match op:
        case "+":
            return reduce(_add, values)
        case "*":
            return reduce(_multiply, values)
        case "max":
            return reduce(_larger, values)
        case "^":
            return _power(values[0], values[1])
        case "exp":
            return _exp(values[0])
        case "log":
            return _log(values[0])
        case "floor":
            return _floor(values[0])
    raise Undecided(op)


def same(left: Value, right: Value) -> bool:
    """Test whether two values may be equal: fractions exactly, otherwise overlapping balls."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left == right
    return bool(ball(left).overlaps(ball(right)))


def sign(number: Value) -> int:
    """Return the sign of a value; raise Undecided if its ball contains 0."""
    if isinstance(number, Fraction):
        return (number > 0) - (number < 0)
    if number > 0:
        return 1
    if number < 0:
        return -1
    raise Undecided("sign")


def _sum(args: list[Expr], point: Point) -> Value:
    index, lo, hi, body = args
    first = value(lo, point)
    last = value(hi, point)
    if not (
        isinstance(first, Fraction)
        and isinstance(last, Fraction)
        and first.denominator == last.denominator == 1
    ):
        raise Undecided("sum")
    if last - first > MOST_TERMS:
        raise Undecided("sum")
    terms = (
        value(body, {**point, index: Fraction(n)})
        for n in range(int(first), int(last) + 1)
    )
    start: Value = Fraction(0)
    return reduce(_add, terms, start)


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    return ball(left) + ball(right)


def _multiply(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left * right
    if 0 in (
        left if isinstance(left, Fraction) else 1,
        right if isinstance(right, Fraction) else 1,
    ):
        return Fraction(0)
    return ball(left) * ball(right)


def _larger(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return max(left, right)
    return ball(left).max(ball(right))


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, int(exponent))
    if (
        isinstance(exponent, arb)
        and not (exponent.floor() + 1 > exponent > exponent.floor())
        and sign(base) <= 0
    ):
        raise Undecided("exponent")
    if sign(base) <= 0:
        return Fraction(0)
    return _exp(_multiply(exponent, _log(base)))


def _whole_power(base: Value, exponent: int) -> Value:
    if abs(exponent) > MOST_POWER or (
        isinstance(base, Fraction) and _bits(base) * abs(exponent) > 10**5
    ):
        raise Undecided("power")
    if isinstance(base, arb):
        if exponent < 0 or exponent == 0:
            sign(base)
        return base**exponent
    if base == 0:
        return Fraction(int(exponent == 0))
    return base**exponent


def _bits(number: Fraction) -> int:
    return max(abs(number.numerator), number.denominator).bit_length()


def _exp(number: Value) -> Value:
    if number == 0 and isinstance(number, Fraction):
        return Fraction(1)
    if not abs(ball(number)) < MOST_EXPONENT:
        raise Undecided("exp")
    return ball(number).exp()


def _log(number: Value) -> Value:
    if sign(number) <= 0 or (isinstance(number, Fraction) and number == 1):
        return Fraction(0)
    return ball(number).log()


def _floor(number: Value) -> Value:
    if isinstance(number, Fraction):
        return Fraction(math.floor(number))
    integer_part = number.floor().unique_fmpz()
    if integer_part is None:
        raise Undecided("floor")
    return Fraction(int(integer_part))
