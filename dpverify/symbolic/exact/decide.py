"""Decide a relation between two exact numbers, with as many bits as it takes, and write numbers into results."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpverify.ledger.results import Number
from dpverify.symbolic.exact.numbers import MAX_BITS, Exact, UndecidedError, compare, to_value, working_precision

_START_BITS = 64
_MAX_EXACT_CHARACTERS = 1000


def decide(
    lhs: Callable[[int], Exact] | Exact,
    relation: str,
    rhs: Callable[[int], Exact] | Exact,
    *,
    start: int = _START_BITS,
    most: int = MAX_BITS,
) -> bool | None:
    """Decide ``lhs relation rhs`` with certainty; None where the balls still overlap at ``most`` bits."""
    fixed = not callable(lhs) and not callable(rhs)
    bits = start
    while True:
        with working_precision(bits):
            try:
                left = lhs(bits) if callable(lhs) else lhs
                right = rhs(bits) if callable(rhs) else rhs
                answer = compare(to_value(left), relation, to_value(right))
            except UndecidedError:
                if bits >= most:
                    raise
                answer = None
        if answer is not None or fixed or bits >= most:
            return answer
        bits = min(4 * bits, most)


def to_number(x: Exact | int) -> Number:
    """Write a number for a report: a short fraction, and the nearest float (of a ball, of its midpoint).

    What no float can show is text: ``"inf"``, ``"-inf"``, ``"nan"``, and ``"1.5e-400"`` for what would become 0.
    """
    if isinstance(x, arb):
        return Number(exact=None, float=_float_of_ball(x))
    value = Fraction(x)
    short = max(value.numerator.bit_length(), value.denominator.bit_length()) < 3 * _MAX_EXACT_CHARACTERS
    exact = str(value) if short and len(str(value)) <= _MAX_EXACT_CHARACTERS else None
    return Number(exact=exact, float=_float_of_fraction(value))


def _float_of_fraction(value: Fraction) -> float | str:
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isinf(result) or (result == 0 and value != 0):
        with working_precision(_START_BITS):
            return _decimal(arb(to_value(value)))
    return result


def _float_of_ball(x: arb) -> float | str:
    if x.is_nan():
        return "nan"
    if not x.is_finite():
        return "inf" if x > 0 else "-inf" if x < 0 else "nan"
    middle = x.mid()
    result = float(middle)
    if math.isinf(result) or (result == 0 and not middle.is_zero()):
        return _decimal(middle)
    return result


def _decimal(x: arb) -> str:
    return x.str(6, radius=False)
