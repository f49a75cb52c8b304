"""Floats that are never below the exact number they stand for."""

from __future__ import annotations

import math

from flint import arb

PRECISION = 128  # bits; a float has 53


def upward(value: arb) -> float:
    """Round a ball up to a float: the smallest that is at least every number in the ball, or the one above it."""
    if not value.is_finite():
        raise ValueError(f"value must be finite, got value={value}.")
    top = value.upper()
    near = float(top)
    rounded = near if arb(near) >= top else math.nextafter(near, math.inf)
    if math.isinf(rounded):
        raise ValueError(f"value must be within the range of floats, got value={value}.")
    return rounded
