"""Sums of powers of a variable y and of log(y) that bound a formula for all y >= start, and envelopes of them.

The start is at least 4. An envelope has bounds of a formula and of the logarithm of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from flint import arb, fmpq

from dpverify.symbolic.exact.numbers import UnsupportedError, Value, to_ball

LOG: Final = "log"
MOST_TERMS = 24
_SMALL = fmpq(1, 16)  # a power that bounds a logarithm

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


@dataclass(frozen=True)
class Envelope:
    """Bounds of a formula for all y >= start. None means that no bound is known."""

    low: Bound | None = None
    high: Bound | None = None
    # bound of the logarithm of the absolute value, which is then not 0
    log_low: Bound | None = None
    log_high: Bound | None = None
    sign: int = 0  # 1: at least 0; -1: at most 0

    @property
    def is_exact(self) -> bool:
        """Whether the formula is known to be equal to its bounds."""
        return self.low is not None and self.low is self.high


def constant_envelope(value: Value) -> Envelope:
    """Return the envelope of a number."""
    ball = to_ball(value)
    if not ball.is_finite():
        raise UnsupportedError("a part of it is infinite")
    size = abs(ball)
    sign = 1 if value >= 0 else -1 if value <= 0 else 0
    log_low = constant(size.log()) if size > 0 else None
    if isinstance(value, fmpq) and value == fmpq(1):
        log_low = constant(fmpq(0))
    log_high = log_low or (
        constant(size.upper().log()) if size.upper() > 0 else VANISHING
    )
    value_bound = constant(value)
    return Envelope(value_bound, value_bound, log_low, log_high, sign)


def envelope_between(
    start: arb,
    low: Bound | None,
    high: Bound | None = None,
    known: Envelope | None = None,
) -> Envelope:
    """Return the envelope of a value between two bounds, or equal to one bound, combined with a known envelope."""
    high = low if high is None and known is None else high
    known = known or Envelope()
    sign = known.sign
    log_low = known.log_low
    log_high = known.log_high
    for end, direction in ((low, 1), (high, -1)):
        if end is None:
            continue
        bound = end if direction > 0 else times(end, -1)
        least = smallest(bound, start)
        log_of_least = log_of_positive(start, bound)
        if log_of_least is not None or (least is not None and least >= 0):
            sign = direction
        log_low = log_low or log_of_least
    if log_high is None and low is not None and high is not None:
        log_high = (
            log_of_size(start, high)
            if low is high
            else log_of_sum(start, log_of_size(start, low), log_of_size(start, high))
        )
    if log_low is None and low is not None and low is high:
        log_low = log_of_term(low)
    return with_values(start, Envelope(low, high, log_low, log_high, sign))


def log_of_term(bound: Bound) -> Bound | None:
    """Return the logarithm of the size of a single power of y."""
    terms = [(key, value) for key, value in bound.items() if not is_zero(value)]
    if len(terms) != 1 or terms[0][0] == LOG:
        return None
    (key, value), *_ = terms
    size = abs(to_ball(value))
    if not size > 0 or isinstance(key, str):
        return None
    return {LOG: key, fmpq(0): fmpq(0) if size == arb(1) else size.log()}


def log_of_positive(start: arb, low: Bound) -> Bound | None:
    """Return a lower bound of the logarithm of a bound; None if it is not known to be positive."""
    top = top_power(low)
    logarithm = low.get(LOG, fmpq(0))
    if is_zero(logarithm) or (top > 0 and logarithm >= 0):
        share = smallest(
            {shifted(key, top): value for key, value in low.items() if key != LOG},
            start,
        )
        if share is not None and share > 0:
            return {LOG: top, fmpq(0): share.log()}
    least = smallest(low, start)
    return constant(least.log()) if least is not None and least > 0 else None


def log_of_size(start: arb, bound: Bound) -> Bound:
    """Return an upper bound of the logarithm of the size of a bound: a power of y times a number."""
    top = top_power(bound)
    total = arb(0)
    logarithm = abs(to_ball(bound.get(LOG, fmpq(0))))
    if not is_zero(logarithm):
        top = max(top, fmpq(0)) + _SMALL
        total += logarithm * 16 / arb(1).exp()  # log(y) <= y**s/(e*s)
    for key, value in bound.items():
        if not isinstance(key, str):
            total += abs(to_ball(value)) * start ** to_ball(key - top)
    total = total.upper()
    return {LOG: top, fmpq(0): total.log()} if total > 0 else VANISHING


def with_values(start: arb, known: Envelope) -> Envelope:
    """Add bounds of the value that follow from its size."""
    low, high = known.low, known.high
    size = (
        None if known.log_high is None else exponential(start, known.log_high, largest)
    )
    least = (
        None if known.log_low is None else exponential(start, known.log_low, smallest)
    )
    zero = constant(fmpq(0))
    if known.sign >= 0 and high is None:
        high = size
    if known.sign <= 0 and low is None and size is not None:
        low = times(size, -1)
    if known.sign == 1 and low is None:
        low = least if least is not None else zero
    if known.sign == -1 and high is None:
        high = times(least, -1) if least is not None else zero
    if known.sign == 0 and size is not None:
        low = times(size, -1) if low is None else low
        high = size if high is None else high
    return Envelope(low, high, known.log_low, known.log_high, known.sign)


def exponential(
    start: arb, bound: Bound, end: Callable[[Bound, arb], arb | None]
) -> Bound | None:
    """Return a bound of exp(bound): a power of y if log(y) has an exact coefficient, otherwise a constant."""
    power = bound.get(LOG, fmpq(0))
    others = {key: value for key, value in bound.items() if key != LOG}
    whole = end(bound, start)
    if whole is not None and (power > 0 if end is largest else power < 0):
        return constant(whole.exp())  # the other terms outweigh the power of y
    if isinstance(power, fmpq):
        value = end(others, start)
        if value is not None:
            exact = others.keys() <= {fmpq(0)} and others.get(fmpq(0), fmpq(0)) == 0
            return {power: fmpq(1) if exact else value.exp()}
    return None if whole is None else constant(whole.exp())


def log_of_sum(start: arb, left: Bound | None, right: Bound | None) -> Bound | None:
    """Return an upper bound of ``log(exp(left) + exp(right))``."""
    if left is None or right is None:
        return None
    if vanishes(left) or vanishes(right):
        return right if vanishes(left) else left
    for small, large in ((left, right), (right, left)):
        gap = largest(plus(small, large, -1), start)
        if gap is not None:
            return plus(large, constant(gap.exp().log1p()))
    keys = left.keys() | right.keys()
    most = {
        key: larger(left.get(key, fmpq(0)), right.get(key, fmpq(0))) for key in keys
    }
    return plus(most, constant(arb.const_log2()))


def negative(known: Envelope) -> Envelope:
    """Return the envelope of the negative of a formula."""
    low = None if known.high is None else times(known.high, -1)
    high = (
        low if known.is_exact else None if known.low is None else times(known.low, -1)
    )
    return Envelope(low, high, known.log_low, known.log_high, -known.sign)
