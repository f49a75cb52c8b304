"""Rational numbers with few digits in an interval, simplest first, and other values that are worth trying.

The values are numbers with few digits, powers of two and their neighbours, primes,
ends, and large values. Two small integers, a mode and a payload, encode a value.
Smaller integers give simpler values, and (0, 0) gives the simplest value.

``first_below`` finds the first size N = 10^(k/20) from which a bound stays better than the trivial bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Values = dict[str, Fraction]  # a point, symbol by symbol


@dataclass(frozen=True)
class Interval:
    """The interval of a symbol, given the values of the symbols before it."""

    lo: Fraction | None  # ends; None means unbounded
    hi: Fraction | None
    lo_open: bool = False  # whether an end is excluded
    hi_open: bool = False
    integer: bool = False  # whether only integers count; then integer ends are included

    @property
    def empty(self) -> bool:
        """Whether the interval contains no number."""
        if self.lo is None or self.hi is None:
            return False
        return self.lo > self.hi or (
            self.lo == self.hi and (self.lo_open or self.hi_open)
        )

    def __contains__(self, value: Fraction) -> bool:
        """Return whether the interval contains a number."""
        if self.integer and value.denominator != 1:
            return False
        if self.lo is not None and (
            value < self.lo or (self.lo_open and value == self.lo)
        ):
            return False
        return (
            self.hi is None
            or value < self.hi
            or (not self.hi_open and value == self.hi)
        )

    def cut(self, op: str, end: Fraction) -> Interval:
        """Return the part of the interval that satisfies a comparison with ``end``."""
        cut = self
        if op in {"<", "<=", "==", "="} and (
            self.hi is None or (end, op != "<") < (self.hi, not self.hi_open)
        ):
            cut = Interval(cut.lo, end, cut.lo_open, op == "<", cut.integer)
        if op in {">", ">=", "==", "="} and (
            self.lo is None or (end, op == ">") > (self.lo, self.lo_open)
        ):
            cut = Interval(end, cut.hi, op == ">", cut.hi_open, cut.integer)
        return cut.rounded() if self.integer else cut

    def rounded(self) -> Interval:
        """Return the same integers between included integer ends."""
        lo, hi = self.lo, self.hi
        if lo is not None:
            lo = Fraction(math.floor(lo) + 1 if self.lo_open else math.ceil(lo))
        if hi is not None:
            hi = Fraction(math.ceil(hi) - 1 if self.hi_open else math.floor(hi))
        return Interval(lo, hi, integer=True)


def complexity(value: Fraction) -> int:
    """Return the number of bits of the numerator and denominator."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def simplest(interval: Interval) -> Fraction | None:
    """Return the simplest rational of an interval: smallest denominator, then smallest numerator."""
    if interval.empty:
        return None
    candidates = []
    if interval.lo is None or interval.hi is None or interval.lo < interval.hi:
        candidates.append(_simplest_open(interval.lo, interval.hi))
    if interval.lo is not None and not interval.lo_open:
        candidates.append(interval.lo)
    if interval.hi is not None and not interval.hi_open:
        candidates.append(interval.hi)
    return min(candidates, key=lambda v: (v.denominator, abs(v.numerator)))


def nth_simplest(interval: Interval, index: int) -> Fraction | None:
    """Return the member at a position in the tree of simplest members, or None if there is none.

    The root is the simplest member. Its children are the roots of the intervals to its left and right.
    """
    path = []
    while index > 0:
        path.append(index % 2 == 1)
        index = (index - 1) // 2
    value = simplest(interval)
    for left in reversed(path):
        if value is None:
            return None
        if left:
            interval = Interval(interval.lo, value, interval.lo_open, True)
        else:
            interval = Interval(value, interval.hi, True, interval.hi_open)
        value = simplest(interval)
    return value


def _simplest_open(lo: Fraction | None, hi: Fraction | None) -> Fraction:
    """Return the simplest rational strictly between two ends."""
    if (lo is None or lo < 0) and (hi is None or hi > 0):
        return Fraction(0)
    if hi is not None and hi <= 0:
        return -_simplest_open(-hi, None if lo is None else -lo)
    if lo is None:
        raise AssertionError(
            "an interval without a lower end contains 0 or lies below it"
        )
    above = (1, 0) if hi is None else (hi.numerator, hi.denominator)
    return Fraction(*_between(lo.numerator, lo.denominator, *above))


def _between(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """Return numerator and denominator of the simplest rational in (a/b, c/d), where d = 0 means no upper end.

    The result starts with the part that the continued fractions of both ends share.
    """
    shared = list[int]()
    while True:
        floor, remainder = divmod(a, b)
        if d == 0 or (floor + 1) * d < c:
            break
        shared.append(floor)
        a, b, c, d = d, c - floor * d, b, remainder
    numerator = floor + 1
    denominator = 1
    for part in reversed(shared):
        numerator, denominator = part * numerator + denominator, numerator
    return numerator, denominator


MODE_BITS = 3
PAYLOAD_BITS = 10
PAYLOADS = 1 << PAYLOAD_BITS
ASSUMED_LENGTH = 1 << 20  # assumed length of an integer interval that lacks an end
PRIMES = (
    2,
    3,
    5,
    7,
    11,
    13,
    17,
    31,
    61,
    97,
    127,
    251,
    509,
    1021,
    2039,
    4093,
    8191,
    65521,
    131071,
    1048573,
)


def value_at(
    interval: Interval, mode: int, payload: int, earlier_values: Sequence[Fraction]
) -> Fraction | None:
    """Return the member of an interval that a mode and a payload encode, or None if the interval is empty."""
    if interval.empty:
        return None
    if interval.integer:
        interval = _closed(interval)
        value = _integer(interval, mode, payload, earlier_values)
        return (
            value
            if value is not None and value in interval
            else _integer(interval, 0, payload, earlier_values)
        )
    value = _real(interval, mode, payload, earlier_values)
    # move towards the root of the tree of simplest members
    while value is None or value not in interval:
        value = nth_simplest(interval, payload)
        payload = (payload - 1) // 2
    return value


def _closed(interval: Interval) -> Interval:
    """Replace missing ends of an interval of integers by far ends."""
    lo, hi = interval.lo, interval.hi
    if lo is None:
        lo = Fraction(-ASSUMED_LENGTH) if hi is None else hi - ASSUMED_LENGTH
    if hi is None:
        hi = max(Fraction(ASSUMED_LENGTH), lo + ASSUMED_LENGTH)
    return Interval(lo, hi, integer=True)


def _integer(
    interval: Interval, mode: int, payload: int, earlier_values: Sequence[Fraction]
) -> Fraction | None:
    if interval.lo is None or interval.hi is None:
        raise AssertionError("an interval of integers has ends here")
    lo = int(interval.lo)
    hi = int(interval.hi)
    span = hi - lo + 1
    high_bit = max(1, hi.bit_length())
    half, odd = divmod(payload, 2)
    match mode:
        case 0:
            value = lo + payload % span
        case 1:
            value = (lo if odd else hi) + (half if odd else -half)
        case 2:  # powers of two and their neighbours
            value = (1 << (payload // 3) % (high_bit + 1)) + (0, -1, 1)[payload % 3]
        case 3:
            value = PRIMES[payload % len(PRIMES)]
        case 4:  # multiples of another symbol, and their neighbours
            earlier_integers = [
                int(o) for o in earlier_values if o.denominator == 1 and o != 0
            ]
            if not earlier_integers:
                return None
            times, offset_index = divmod(payload // len(earlier_integers), 3)
            value = (
                earlier_integers[payload % len(earlier_integers)] * (1 + times)
                + (0, 1, -1)[offset_index]
            )
        case 5:
            value = lo + (1 << span.bit_length() * payload // PAYLOADS) - 1
        case 6:
            value = lo + (span - 1) * payload // (PAYLOADS - 1)
        case _:
            value = (1, 2, 5)[payload % 3] * 10 ** ((payload // 3) % 8)
    return Fraction(value)


def _real(
    interval: Interval, mode: int, payload: int, earlier_values: Sequence[Fraction]
) -> Fraction | None:
    lo, hi = interval.lo, interval.hi
    half, odd = divmod(payload, 2)
    width = hi - lo if lo is not None and hi is not None else Fraction(1)
    match mode:
        case 0:
            return nth_simplest(interval, payload)
        case 1 | 2:  # an end, or near it
            near = (
                width / (2 if mode == 1 else 10) ** (half % 64) if half else Fraction(0)
            )
            if odd:
                return None if lo is None else lo + near
            return (
                1 / near if hi is None and near else None if hi is None else hi - near
            )
        case 3:  # evenly spaced, or spread over 64 powers of two
            if lo is not None and hi is not None:
                return lo + width * (2 * payload + 1) / (2 * PAYLOADS)
            start = lo if lo is not None else Fraction(0)
            return start + (16 + payload % 16) * Fraction(2) ** (payload // 16 - 32)
        case 4:  # derived from the value of another symbol
            if not earlier_values:
                return None
            earlier_value = earlier_values[payload % len(earlier_values)]
            form = (payload // len(earlier_values)) % 4
            remainder = payload // len(earlier_values) // 4
            times = (0, 0, 0, 0, 1, 1, 2, remainder // 8)[remainder % 8]
            shares = (
                (
                    Fraction(times + 1) / earlier_value,
                    1 - Fraction(times + 1) / earlier_value,
                )
                if earlier_value
                else (earlier_value, earlier_value)
            )
            return (*shares, earlier_value * (times + 1), earlier_value / (times + 2))[
                form
            ]
        case 5:
            return Fraction(1 + payload // 16) * Fraction(10) ** (payload % 16 - 8)
        case 6:
            return Fraction(2) ** (half % 64) if odd else 1 / Fraction(2) ** (half % 64)
        case _:
            return (lo if lo is not None else Fraction(0)) + width * (payload + 1) / 997


PER_DECADE = 20  # number of sizes per decade: N = 10^(k/PER_DECADE), rounded


def size_at(k: int) -> int:
    """Return the k-th size N."""
    return round(10 ** (k / PER_DECADE))


def first_below(bound: Callable[[int], float]) -> int:
    """Return the smallest k with ``bound(size(k)) < 1``, by bisection."""
    return 2 + bisect_left(
        range(2, 14 * PER_DECADE), True, key=lambda k: bound(size_at(k)) < 1
    )


def first_below_near(bound: Callable[[int], float], guess: int) -> int:
    """Return the same k, step by step from a guess: for a bound that is costly to evaluate."""
    k = guess
    while not bound(size_at(k)) < 1:
        k += 1
    while bound(size_at(k - 1)) < 1:
        k -= 1
    return k
