"""The Gaussian trade-off in ball arithmetic: decisions that are certain."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq

Real: TypeAlias = float | int | Fraction | arb

FIRST_BITS = 128
LAST_BITS = 1 << 16


def certify(mu: Real, epsilon: Real, delta: Real) -> bool:
    """Decide whether a Gaussian mechanism is (epsilon, delta)-DP, without rounding.

    ``mu``: sensitivity over standard deviation, at least 0; floats stand for the dyadic rationals that they are, and of
    a ball every point is meant. True is certain. False is too, unless an argument is a ball that holds both answers or
    the two sides agree to thousands of digits.
    """
    for name, value in (("mu", mu), ("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {name}={value}.")
        if value < 0:
            raise ValueError(f"{name} must be at least 0, got {name}={value}.")
    if delta >= 1 or (not isinstance(mu, arb) and mu == 0):
        return True
    return bool(_decide(mu, epsilon, delta))


def delta_ball(mu: Real, epsilon: Real) -> arb:
    """Enclose Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu); terms may cancel, and more bits help."""
    m, e = _ball(mu), _ball(epsilon)
    root = arb(2).sqrt()
    u, h = e / m / root, m / 2 / root
    return ((u - h).erfc() - e.exp() * (u + h).erfc()) / 2


def _decide(mu: Real, epsilon: Real, delta: Real) -> bool | None:
    """Compare with more and more bits."""
    before, bits = ctx.prec, FIRST_BITS
    try:
        while bits <= LAST_BITS:
            ctx.prec = bits
            gap = delta_ball(mu, epsilon) - _ball(delta)
            if gap <= 0:
                return True
            if gap > 0:
                return False
            bits *= 2
    finally:
        ctx.prec = before
    return None


def _ball(value: Real) -> arb:
    """Enclose a number; a float is the rational that it is."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)
