"""Subsampling without replacement in exact arithmetic: one pair of neighbours."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from flint import arb

from dpverify.symbolic.exact.numbers import ball


def pair_divergence(order: int, tau: Fraction, ratio: Fraction) -> arb:
    """Renyi divergence of a pair of neighbours under subsampling without replacement.

    All examples are worth 0 but one, which is worth the whole sensitivity in one data set and 0 in the other. The sum
    over a part of the data is (1 - tau) N(0, s^2) + tau N(1, s^2) against N(0, s^2), in units of the sensitivity.

    The divergence, exact; a lower bound on the mechanism's.
    """
    weights = ((comb(order, k) * tau**k * (1 - tau) ** (order - k), k) for k in range(2, order + 1))
    moment = sum((ball(w) * ball(k * (k - 1) / (2 * ratio)).expm1() for w, k in weights), start=arb(0))
    return moment.log1p() / (order - 1)


def composed_moment(
    order: int, first: tuple[Fraction, Fraction], second: list[tuple[Fraction, Fraction]]
) -> tuple[Fraction, list[Fraction]]:
    """Moments of two adaptive steps, exactly: joint; of step 1, and of step 2 after each of two outcomes."""

    def moment(p: Fraction, q: Fraction) -> Fraction:
        return p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)

    (p, q), later = first, [moment(*law) for law in second]
    joint = p**order * q ** (1 - order) * later[0] + (1 - p) ** order * (1 - q) ** (1 - order) * later[1]
    return joint, [moment(p, q), *later]
