"""How far the laws of two numbers are looked at, and bounds of what lies beyond in a Renyi sum or integral."""

from __future__ import annotations

from flint import arb

from dpverify.symbolic.exact.numbers import OO, UnsupportedError
from dpverify.symbolic.laws.components import LogDensity, whole
from dpverify.symbolic.laws.intervals import terms_at
from dpverify.symbolic.laws.law import LineLaw

REACH = 140  # bits: 2**-REACH of a law may lie outside on each side
TAIL = 100  # bits of a Renyi sum or integral, which is at least 1, that may lie outside
_WIDER = 40  # how often an interval is made twice as wide


def joint(first: LineLaw, second: LineLaw) -> tuple[arb, arb]:
    """An interval outside of which little of both laws lies, and no kink."""
    ends = [*first.reach(REACH), *second.reach(REACH)]
    low = min(ends[0], ends[2], key=lambda end: end.mid())
    high = max(ends[1], ends[3], key=lambda end: end.mid())
    return low, high


def window(law: LineLaw) -> tuple[int, int]:
    """Integers between which a discrete law is looked at."""
    low, high = law.reach(REACH)
    return whole(low.floor()), whole(high.ceil())


def ends(first: LineLaw, second: LineLaw, z: arb) -> tuple[int, int, arb]:
    """Integers between which a Renyi sum is taken, and a ball around what lies outside."""
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


def widened(first: LineLaw, second: LineLaw, z: arb, end: arb, side: int, width: arb) -> tuple[arb, arb]:
    """Move an end outwards until the Renyi tail beyond is below ``2**-TAIL``; with a ball around that tail."""
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
    """Bound the sum or integral of ``p**z*q**(1-z)`` beyond an end; None where nothing is known there.

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
        bounds = [_geometric(top.tilted(bottom, z), end, side, first.is_discrete) for bottom in bottoms]
        usable = [bound for bound in bounds if bound is not None]
        if not usable:
            return None
        least = min(usable, key=lambda bound: bound.mid())
        if least == OO and len(usable) < len(bounds):
            return None
        total += least
    return total * arb(len(tops)) ** (z - 1)


def _geometric(exponent: LogDensity, end: arb, side: int, is_discrete: bool) -> arb | None:
    """Bound the tail of the exponential of a concave quadratic by that of its tangent; infinite where it diverges."""
    slope = side * exponent.slope(end)
    if exponent.c > 0:
        return OO
    if exponent.c == 0 and slope >= 0:
        return OO
    if not (exponent.c <= 0 and slope < 0):
        return None
    return exponent.at(end).exp() / (-slope.expm1() if is_discrete else -slope)


def up_to(bound: arb) -> arb:
    """A ball around the numbers from 0 to a bound."""
    return bound * arb(0.5, 0.5)
