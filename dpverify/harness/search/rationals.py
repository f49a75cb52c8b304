"""Rationals of few digits inside an interval, simplest first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Values = dict[str, Fraction]  # a point, symbol by symbol


@dataclass(frozen=True)
class Interval:
    """Where a symbol may lie once the symbols before it have their values."""

    lo: Fraction | None  # ends; None is no end
    hi: Fraction | None
    lo_open: bool = False  # whether an end is left out
    hi_open: bool = False
    integer: bool = False  # whether only integers count; their ends are integers and closed

    @property
    def empty(self) -> bool:
        """Whether nothing lies in it."""
        if self.lo is None or self.hi is None:
            return False
        return self.lo > self.hi or (self.lo == self.hi and (self.lo_open or self.hi_open))

    def __contains__(self, value: Fraction) -> bool:
        """Whether a number lies in it."""
        if self.integer and value.denominator != 1:
            return False
        if self.lo is not None and (value < self.lo or (self.lo_open and value == self.lo)):
            return False
        return self.hi is None or value < self.hi or (not self.hi_open and value == self.hi)

    def cut(self, op: str, end: Fraction) -> Interval:
        """Cut down by one comparison."""
        cut = self
        if op in {"<", "<=", "==", "="} and (self.hi is None or (end, op != "<") < (self.hi, not self.hi_open)):
            cut = Interval(cut.lo, end, cut.lo_open, op == "<", cut.integer)
        if op in {">", ">=", "==", "="} and (self.lo is None or (end, op == ">") > (self.lo, self.lo_open)):
            cut = Interval(end, cut.hi, op == ">", cut.hi_open, cut.integer)
        return cut.rounded() if self.integer else cut

    def rounded(self) -> Interval:
        """The same integers, between closed integer ends."""
        lo, hi = self.lo, self.hi
        if lo is not None:
            lo = Fraction(math.floor(lo) + 1 if self.lo_open else math.ceil(lo))
        if hi is not None:
            hi = Fraction(math.ceil(hi) - 1 if self.hi_open else math.floor(hi))
        return Interval(lo, hi, integer=True)


def complexity(value: Fraction) -> int:
    """Bits it takes to write a number down."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def simplest(interval: Interval) -> Fraction | None:
    """Simplest rational of an interval: smallest denominator, then smallest numerator."""
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
    """Member by its place in the tree whose root, and whose nodes left and right, are simplest; None where it ends."""
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
    """Simplest rational strictly between two ends."""
    if (lo is None or lo < 0) and (hi is None or hi > 0):
        return Fraction(0)
    if hi is not None and hi <= 0:
        return -_simplest_open(-hi, None if lo is None else -lo)
    if lo is None:
        raise AssertionError("an interval without a lower end contains 0 or lies below it")
    above = (1, 0) if hi is None else (hi.numerator, hi.denominator)
    return Fraction(*_between(lo.numerator, lo.denominator, *above))


def _between(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """Numerator and denominator of the simplest one in (a/b, c/d), where d = 0 is no end, by the part they share."""
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
