"""Subsampling without replacement in exact arithmetic, for one pair of neighbours."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from flint import acb, arb

from dpverify.symbolic.exact.numbers import ball, working_precision


def pair_divergence(order: int, tau: Fraction, ratio: Fraction) -> arb:
    """Return the Renyi divergence of a pair of neighbours under subsampling without replacement.

    All examples have the value 0 except one, which has the whole sensitivity in one data set and 0 in the other. The
    sum over a part of the data is (1 - tau) N(0, s^2) + tau N(1, s^2) against N(0, s^2), in units of the sensitivity.
    The divergence of this pair is exact, and a lower bound on the mechanism's.
    """
    weights = (
        (comb(order, k) * tau**k * (1 - tau) ** (order - k), k)
        for k in range(2, order + 1)
    )
    moment = sum(
        (ball(w) * ball(k * (k - 1) / (2 * ratio)).expm1() for w, k in weights),
        start=arb(0),
    )
    return moment.log1p() / (order - 1)


def pair_divergence_at(order: Fraction, tau: Fraction, ratio: Fraction) -> arb:
    """Return a lower bound on the same pair's divergence at any order above 1, by a certified integral.

    With 1 + x for the ratio of densities, E (1 + x)^order - 1 is the mean of (1 + x)^order - 1 - order x, which is
    never negative. It is integrated over 12 deviations on both sides of the means.
    """
    with working_precision(128):
        z, weight, s = ball(order), ball(tau), ball(ratio)

        def integrand(at: acb, analytic: bool) -> acb:
            x = weight * (((2 * at - 1) / (2 * s)).exp() - 1)
            return ((1 + x).pow(z, analytic=analytic) - 1 - z * x) * (
                -at * at / (2 * s)
            ).exp()

        reach = 12 * s.sqrt()
        excess = (
            acb.integral(integrand, -reach, z + reach, rel_tol=arb(2) ** -70).real
            / (2 * arb.pi() * s).sqrt()
        )
        return excess.log1p() / (z - 1)


def composed_moment(
    order: int,
    first: tuple[Fraction, Fraction],
    second: list[tuple[Fraction, Fraction]],
) -> tuple[Fraction, list[Fraction]]:
    """Return exact moments of two adaptive steps: joint; of step 1, and of step 2 after each of two outcomes."""

    def moment(p: Fraction, q: Fraction) -> Fraction:
        return p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)

    (p, q), later = first, [moment(*law) for law in second]
    joint = (
        p**order * q ** (1 - order) * later[0]
        + (1 - p) ** order * (1 - q) ** (1 - order) * later[1]
    )
    return joint, [moment(p, q), *later]
