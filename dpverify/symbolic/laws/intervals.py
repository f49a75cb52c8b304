"""The log ratio of two laws on intervals, and bounds on their tails.

On an interval, these functions find where the log ratio of two continuous laws is monotone, its range, and its sign.
Outside of the intervals and integers that are evaluated, they bound the log ratio and the remaining Renyi sum or
integral.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from flint import arb

from dpverify.symbolic.exact.numbers import OO, UnsupportedError, spend, to_ball
from dpverify.symbolic.laws.components import LogDensity
from dpverify.symbolic.laws.discrete import whole
from dpverify.symbolic.laws.law import LineLaw

_PARTS_OF_A_VALUE = 15
_SMALLEST = 48  # an interval of uncertain sign is cut to 2**-_SMALLEST of its piece
_FLAT = 90  # a ratio within 2**-_FLAT of a level counts as equal to it
_SECANTS = 60


class RatioCell(NamedTuple):
    """An interval with exact ends, and exact bounds of the log ratio on it."""

    left: arb
    right: arb
    lowest: arb = arb.neg_inf()  # infinite if the second density is 0
    highest: arb = arb.pos_inf()


@dataclass(frozen=True)
class RatioPiece:
    """An interval without kinks inside, on which the first density is positive."""

    left: arb
    right: arb
    # terms of the first density, with the logarithms of their weights
    tops: Sequence[LogDensity]
    bottoms: Sequence[LogDensity]

    @cached_property
    def relative_tops(self) -> list[LogDensity]:
        """Terms of the first density, each divided by the first term of the second."""
        return [term.minus(self.bottoms[0]) for term in self.tops]

    @cached_property
    def relative_bottoms(self) -> list[LogDensity]:
        """Terms of the second density, each divided by the first of them."""
        return [term.minus(self.bottoms[0]) for term in self.bottoms]

    @cached_property
    def changes(self) -> list[LogDensity]:
        """Each term of the first density divided by each of the second."""
        return [top.minus(bottom) for top in self.tops for bottom in self.bottoms]

    def log_density(self, x: arb) -> arb:
        """Return the logarithm of the first density at an exact point."""
        return _log_sum([top.at(x) for top in self.tops])

    def at(self, x: arb) -> arb:
        """Return the log ratio at an exact point."""
        spend(_PARTS_OF_A_VALUE)
        top = _log_sum([term.at(x) for term in self.relative_tops])
        if len(self.bottoms) == 1:
            return top
        return top - _log_sum([term.at(x) for term in self.relative_bottoms])

    def slopes(self, left: arb, right: arb) -> tuple[arb, arb]:
        """Return bounds of the derivative of the log ratio on an interval.

        The derivative is a weighted mean of slopes of terms of the first density minus such a mean for the second
        density. It is therefore a weighted mean of differences of slopes. Each difference is affine in x, and exactly 0
        for straight terms of the same scale and side.
        """
        return _extremes(
            [change.slope(x) for change in self.changes for x in (left, right)]
        )

    def over(self, left: arb, right: arb) -> tuple[RatioCell, bool]:
        """Return the cell of an interval, and whether the ratio is monotone on the interval."""
        slowest, fastest = self.slopes(left, right)
        if slowest >= 0 or fastest <= 0:
            return RatioCell(
                left, right, *_extremes([self.at(left), self.at(right)])
            ), True
        middle = ((left + right) / 2).mid()
        half = (right - middle) * abs(slowest).max(abs(fastest))
        value = self.at(middle)
        return RatioCell(
            left, right, (value - half).lower(), (value + half).upper()
        ), False


def _log_sum(exponents: Sequence[arb]) -> arb:
    if len(exponents) == 1:
        return exponents[0]
    largest = exponents[0]
    for exponent in exponents[1:]:
        largest = exponent if exponent.mid() > largest.mid() else largest
    largest = largest.mid()
    return (
        largest
        + sum(
            ((exponent - largest).exp() for exponent in exponents), start=arb(0)
        ).log()
    )


def _extremes(values: Sequence[arb]) -> tuple[arb, arb]:
    lowest = values[0].lower()
    highest = values[0].upper()
    for value in values[1:]:
        lowest = lowest.min(value.lower())
        highest = highest.max(value.upper())
    return lowest, highest


def pieces(
    first: LineLaw, second: LineLaw, low: arb, high: arb
) -> Iterator[RatioPiece | RatioCell]:
    """Yield the pieces of an interval between kinks, slivers around inexact kinks, and cells of infinite ratio."""
    kinks = sorted(
        map(to_ball, {*first.kinks(), *second.kinks()}), key=lambda ball: ball.mid()
    )
    left = low
    for ball in kinks:
        start = ball.lower().max(left)
        end = ball.upper().min(high)
        if start > high or end < left:
            continue
        yield from _piece(first, second, left, start)
        if start < end:
            yield RatioCell(start, end)
        left = end.max(left)
    yield from _piece(first, second, left, high)


def _piece(
    first: LineLaw, second: LineLaw, left: arb, right: arb
) -> Iterator[RatioPiece | RatioCell]:
    if not left < right:
        return
    inside = ((left + right) / 2).mid()
    tops = terms_at(first, inside)
    bottoms = terms_at(second, inside)
    if not tops:
        return
    yield (
        RatioPiece(left, right, tops, bottoms)
        if bottoms
        else RatioCell(left, right, arb.pos_inf())
    )


def terms_at(law: LineLaw, inside: arb) -> list[LogDensity]:
    """Return the log densities of components on the piece that contains a point, plus their log weights."""
    terms = []
    for weight, component in law.parts:
        quadratic = component.quadratic(inside)
        if quadratic is not None:
            terms.append(quadratic._replace(a=quadratic.a + to_ball(weight).log()))
    return terms


def signed_cells(piece: RatioPiece, level: arb) -> Iterator[RatioCell]:
    """Yield cells of a piece on which the log ratio is above the level, below it, or nearly equal to it.

    A cell on which this is not certain is tiny.
    """
    width = (piece.right - piece.left) * arb(2) ** -_SMALLEST
    todo = [(piece.left, piece.right)]
    while todo:
        left, right = todo.pop()
        cell, is_monotone = piece.over(left, right)
        is_flat = (
            max(abs(cell.lowest - level), abs(cell.highest - level), key=arb.mid)
            < arb(2) ** -_FLAT
        )
        if (
            cell.lowest >= level
            or cell.highest <= level
            or is_flat
            or right - left <= width
        ):
            yield cell
            continue
        ends = piece.at(left) - level, piece.at(right) - level
        if is_monotone and ends[0] * ends[1] < 0:
            yield from _around_root(piece, level, left, right)
            continue
        middle = ((left + right) / 2).mid()
        todo += [(left, middle), (middle, right)]


def _around_root(
    piece: RatioPiece, level: arb, left: arb, right: arb
) -> Iterator[RatioCell]:
    """Cut a cell with opposite signs at its ends around the point where the ratio crosses the level."""
    low = left
    high = right
    at_low = piece.at(low) - level
    at_high = piece.at(high) - level
    for turn in range(_SECANTS):
        small = (abs(low) + abs(high) + 1) * arb(2) ** (-2 * _SMALLEST)
        if high - low <= small:
            break
        cut = ((low + high) / 2).mid()
        if turn % 3 != 2:
            cut = (low - at_low * (high - low) / (at_high - at_low)).mid()
        room = ((high - low) / 2**20 if turn % 3 != 0 else small / 4).mid()
        for place in ((cut - room).mid(), (cut + room).mid()):
            if not low < place < high:
                continue
            value = piece.at(place) - level
            if value * at_low > 0:
                low = place
                at_low = value
            elif value * at_high > 0:
                high = place
                at_high = value
    yield from (
        piece.over(a, b)[0]
        for a, b in ((left, low), (low, high), (high, right))
        if a < b
    )


def narrow_cells(piece: RatioPiece, step: arb) -> Iterator[RatioCell]:
    """Yield cells of a piece, from left to right, on which the log ratio varies by at most a step or 1/64 of itself."""
    width = (piece.right - piece.left) * arb(2) ** -_SMALLEST
    todo = [(piece.left, piece.right)]
    while todo:
        left, right = todo.pop()
        cell, _ = piece.over(left, right)
        size = abs(cell.lowest).max(abs(cell.highest)) / 64
        if cell.highest - cell.lowest <= step.max(size) or right - left <= width:
            yield cell
            continue
        middle = ((left + right) / 2).mid()
        todo += [(middle, right), (left, middle)]


REACH = 140  # at most 2**-REACH of a law lies outside on each side
# at most 2**-TAIL of a Renyi sum or integral, which is at least 1, lies outside
TAIL = 100
_WIDER = 40  # largest number of times that an interval is doubled


def joint(first: LineLaw, second: LineLaw) -> tuple[arb, arb]:
    """Return an interval that contains all kinks and all but a small part of both laws."""
    ends = [*first.reach(REACH), *second.reach(REACH)]
    low = min(ends[0], ends[2], key=lambda end: end.mid())
    high = max(ends[1], ends[3], key=lambda end: end.mid())
    return low, high


def window(law: LineLaw) -> tuple[int, int]:
    """Return the integers between which a discrete law is evaluated."""
    low, high = law.reach(REACH)
    return whole(low.floor()), whole(high.ceil())


def ends(first: LineLaw, second: LineLaw, z: arb) -> tuple[int, int, arb]:
    """Return the integers between which a Renyi sum is evaluated, and a ball around the remaining sum."""
    if first.is_finite:
        return (*window(first), arb(0))
    if second.is_finite:
        return (*window(first), OO)
    low, high = joint(first, second)
    width = (high - low).mid()
    left, below = widened(first, second, z, low, -1, width)
    right, above = widened(first, second, z, high, 1, width)
    if OO in (below, above):
        return (*window(first), OO)
    return whole(left.floor()), whole(right.ceil()), below + above


def widened(
    first: LineLaw, second: LineLaw, z: arb, end: arb, side: int, width: arb
) -> tuple[arb, arb]:
    """Move an end outwards until the Renyi tail beyond it is below ``2**-TAIL``.

    Return it with a ball around that tail.
    """
    place = end
    for _ in range(_WIDER):
        tail = _tail(first, second, z, place, side)
        if tail == OO:
            return end, OO
        if tail is not None and tail < arb(2) ** -TAIL:
            return place, up_to(tail.upper())
        place = (place + side * width).mid()
        width *= 2
    raise UnsupportedError("the tail of a Renyi divergence is not known to be small.")


def _tail(first: LineLaw, second: LineLaw, z: arb, end: arb, side: int) -> arb | None:
    """Bound the sum or integral of ``p**z*q**(1-z)`` beyond an end. Return None if no bound is known.

    With n components, ``p**z <= n**(z-1)*(sum of the powers of the terms)``, and q is at least each of its terms.
    """
    outside = end + side
    tops = terms_at(first, outside)
    bottoms = terms_at(second, outside)
    if not tops:
        return arb(0)
    if not bottoms:
        return OO
    total = arb(0)
    for top in tops:
        bounds = [
            _geometric(top.tilted(bottom, z), end, side, first.is_discrete)
            for bottom in bottoms
        ]
        usable = [bound for bound in bounds if bound is not None]
        if not usable:
            return None
        least = min(usable, key=lambda bound: bound.mid())
        if least == OO and len(usable) < len(bounds):
            return None
        total += least
    return total * arb(len(tops)) ** (z - 1)


def _geometric(
    exponent: LogDensity, end: arb, side: int, is_discrete: bool
) -> arb | None:
    """Bound the tail of the exponential of a concave quadratic by that of its tangent; infinite if it diverges."""
    slope = side * exponent.slope(end)
    if exponent.c > 0:
        return OO
    if exponent.c == 0 and slope >= 0:
        return OO
    if not (exponent.c <= 0 and slope < 0):
        return None
    return exponent.at(end).exp() / (-slope.expm1() if is_discrete else -slope)


def up_to(bound: arb) -> arb:
    """Return a ball that contains the numbers from 0 to a bound."""
    return bound * arb(0.5, 0.5)


def beyond(piece: RatioPiece, end: arb, side: int) -> arb:
    """Return the largest log ratio beyond an end of the interval.

    Assume that for each term of the first density there is a term of the second such that their ratio decreases
    outwards. Then this ratio is largest at the end. The ratio of the sums is at most the largest of these ratios times
    the number of terms of the first density.
    """
    bounds = []
    for top in piece.tops:
        changes = [top.minus(bottom) for bottom in piece.bottoms]
        falling = [
            change.at(end)
            for change in changes
            if change.c <= 0 and side * change.slope(end) <= 0
        ]
        if not falling:
            if all(
                change.c > 0 or (change.c == 0 and side * change.b > 0)
                for change in changes
            ):
                return OO
            raise UnsupportedError(
                "the largest ratio of these two laws in their tails is not known."
            )
        bounds.append(min(falling, key=arb.mid))
    inside = piece.at(end)
    if len(piece.tops) == 1 or _all_parallel(piece):
        return inside if _all_parallel(piece) else inside.union(bounds[0])
    return inside.union(largest_of(bounds) + arb(len(bounds)).log())


def _all_parallel(piece: RatioPiece) -> bool:
    """Test whether the ratio is constant."""
    base = piece.bottoms[0]
    changes = [term.minus(base) for term in (*piece.tops, *piece.bottoms)]
    return all(change.b == 0 and change.c == 0 for change in changes)


def largest_of(values: list[arb]) -> arb:
    """Return the largest of some values, which may be infinite."""
    best = values[0]
    for value in values[1:]:
        best = value if value == OO else best if best == OO else best.max(value)
    return best
