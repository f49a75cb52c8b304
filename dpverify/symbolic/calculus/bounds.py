"""Sums of powers of a variable y and of log(y). They bound formulas for all y >= start, where start >= 4."""

from __future__ import annotations

from typing import Final, TypeAlias

from flint import arb, fmpq

from dpverify.symbolic.exact.numbers import Value, to_ball

LOG: Final = "log"
MOST_TERMS = 24

Bound: TypeAlias = dict[fmpq | str, Value]
"""Coefficients of powers of y, by their exponents, and of log(y)."""


def constant(value: Value) -> Bound:
    """Return a bound that is the same for all y."""
    return {fmpq(0): value}


VANISHING: Bound = {fmpq(0): arb.neg_inf()}
"""Logarithm of the absolute value of a function that is 0 for all y."""


def vanishes(log_high: Bound) -> bool:
    """Test whether an upper bound of the logarithm of a size is minus infinity."""
    return bool(log_high.get(fmpq(0), fmpq(0)) == VANISHING[fmpq(0)])


def exactly(number: arb) -> fmpq:
    """Return an exact ball as a rational number."""
    mantissa, exponent = number.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def plus(left: Bound, right: Bound, factor: Value | int = 1) -> Bound:
    """Return a bound plus a multiple of another."""
    result = dict(left)
    for key, value in right.items():
        result[key] = result.get(key, fmpq(0)) + value * factor
    return result


def times(bound: Bound, factor: Value | int) -> Bound:
    """Return a multiple of a bound."""
    return {key: value * factor for key, value in bound.items()}


def largest(bound: Bound, start: arb) -> arb | None:
    """Return a number that is at least the bound for all y >= start, or None if none is known."""
    powers: dict[fmpq, arb] = {}
    logarithm = arb(0)
    for key, value in bound.items():
        if isinstance(key, str):
            logarithm = to_ball(value)
        elif not is_zero(value):
            powers[key] = to_ball(value)
    top = max((key for key in powers if key > 0), default=None)
    if top is None:
        total = arb(0)
        if not logarithm <= 0:
            return None
        # decreasing powers of y: each is at most its value at the start, or 0
        for key, value in powers.items():
            total += value if key == 0 else (value * start ** to_ball(key)).max(arb(0))
        return _above(total + logarithm * start.log())
    # the bound is y**top times a sum of decreasing powers
    scale = start ** to_ball(-top)
    share = powers.pop(top)
    for key, value in powers.items():
        share += (value * start ** to_ball(key - top)).max(arb(0))
    if not logarithm <= 0:
        if not start.log() * to_ball(top) > 1:  # log(y)/y**top decreases from here on
            return None
        share += logarithm.max(arb(0)) * start.log() * scale
    return _above(share / scale) if share < 0 else None


def _above(value: arb) -> arb | None:
    return value.upper() if value.is_finite() else None


def smallest(bound: Bound, start: arb) -> arb | None:
    """Return a number that is at most the bound for all y >= start, or None if none is known."""
    value = largest(times(bound, -1), start)
    return None if value is None else -value


def shifted(key: fmpq | str, top: fmpq) -> fmpq | str:
    """Return the exponent of a term after division by a power of y. The key of the logarithm does not change."""
    return key if isinstance(key, str) else key - top


def larger(left: Value, right: Value) -> Value:
    """Return the larger of two values, or a ball that contains it."""
    return (
        left
        if left >= right
        else right
        if right >= left
        else to_ball(left).max(to_ball(right))
    )


def is_zero(value: Value) -> bool:
    """Test whether a value is exactly 0. A wider ball that contains 0 is not."""
    return bool(value == 0)


def top_power(bound: Bound) -> fmpq:
    """Return the largest power of y in a bound, 0 if there is none."""
    return max(
        (key for key in bound if not isinstance(key, str) and not is_zero(bound[key])),
        default=fmpq(0),
    )


def multiplied(left: Bound, right: Bound) -> Bound | None:
    """Return the product of two sums of powers of y; None if there are logarithms or too many terms."""
    if LOG in left.keys() | right.keys() or len(left) * len(right) > MOST_TERMS:
        return None
    result: Bound = {}
    for key, value in left.items():
        for other, factor in right.items():
            assert not isinstance(key, str)
            assert not isinstance(other, str)
            result[key + other] = result.get(key + other, fmpq(0)) + value * factor
    return result
