"""Balls around the points at which decreasing functions reach a level. The signs on both sides prove them."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

from dpverify.symbolic.exact.numbers import UndecidedError, working_precision

Falling = Callable[[arb], arb]
_MOST_DOUBLINGS = 200
_STEPS = 400
_ROUGH_BITS = 64


def falls_to(function: Falling, level: arb, low: arb) -> arb:
    """Return a ball around the point at which a decreasing function equals a level.

    The function is above it at ``low``.
    """
    gap = arb(1)
    for _ in range(_MOST_DOUBLINGS):
        if function((low + gap).mid()) < level:
            break
        gap *= 2
    else:
        raise UndecidedError(f"where a function falls to {level}.")
    return _around(
        function, level, _near(function, level, low.mid(), (low + gap).mid()), low
    )


def changes_sign(function: Falling, low: arb, high: arb) -> arb:
    """Return a ball around the zero of a decreasing function that is positive at ``low`` and negative at ``high``.

    Bisection with few bits comes first, since a sign that is certain at few bits is certain. Secant steps follow.
    """
    left = low.mid()
    right = high.mid()
    with working_precision(_ROUGH_BITS):
        while right - left > (1 + abs(left)) * arb(2) ** -(_ROUGH_BITS // 3):
            middle = ((left + right) / 2).mid()
            value = function(middle)
            if value > 0:
                left = middle
            elif value < 0:
                right = middle
            else:
                break
    older = (left, function(left).mid())
    newer = (right, function(right).mid())
    small = arb(2) ** (-ctx.prec // 2)
    for _ in range(_STEPS):
        cut = (
            newer[0] - newer[1] * (newer[0] - older[0]) / (newer[1] - older[1])
        ).mid()
        if not left <= cut <= right:
            break
        older = newer
        newer = (cut, function(cut).mid())
        if abs(cut - older[0]) <= small * (1 + abs(cut)):
            break
    return _around(function, arb(0), newer[0], low)


def _near(function: Falling, level: arb, left: arb, right: arb) -> arb:
    """Return a point where the function is nearly at its level, by secant steps on its logarithm and by bisection."""

    def height(x: arb) -> arb:
        return (function(x) / level).log().mid()

    older = (left, height(left))
    newer = (right, height(right))
    small = arb(2) ** (-ctx.prec // 2)
    for _ in range(_STEPS):
        rise = newer[1] - older[1]
        cut = (
            (newer[0] - newer[1] * (newer[0] - older[0]) / rise).mid()
            if rise != 0
            else left
        )
        if not left < cut < right:
            cut = ((left + right) / 2).mid()
        older = newer
        newer = (cut, height(cut))
        if newer[1] > 0:
            left = cut
        else:
            right = cut
        if abs(cut - older[0]) <= small * (1 + abs(cut)):
            break
    return newer[0]


def _around(function: Falling, level: arb, near: arb, low: arb) -> arb:
    """Widen a ball around a point until the signs at its two ends are certain."""
    width = (abs(near) + (near - low) + arb(2) ** -ctx.prec).mid() * arb(2) ** (
        2 - ctx.prec // 2
    )
    for _ in range(ctx.prec // 16):
        left = (near - width).lower().max(low.lower())
        right = (near + width).upper()
        at_left = left <= low or function(left.mid()) > level
        if at_left and function(right.mid()) < level:
            return left.union(right)
        width *= 256
    raise UndecidedError(f"where a function falls to {level}.")
