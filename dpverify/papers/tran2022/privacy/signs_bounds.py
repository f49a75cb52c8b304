"""A tiny problem whose published iterates reveal signs, with the noise of Algorithm 1's box.

With d = 1 and f(w, x) = x w, x = G or -G, Algorithm 1 publishes the signs of m^_1 .. m^_{T-1}. All examples are -G; in
the neighbour one of them is G. The sign of m^_{T-1} alone, with T - 1 a power of two (one node of noise), gives a lower
bound. The order of the examples stays hidden: for T - 1 = 1 the replaced example is drawn with probability 1/N, and for
N = 1 always.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from flint import arb

from dpverify.symbolic.exact.numbers import ball


def printed_v(steps: int, examples: int, depth: int) -> Fraction:
    """Return V exactly, as the box of Algorithm 1 prints it."""
    top = examples.bit_length() - 1
    low = (min(depth, top) + 1) * Fraction(steps, examples)
    return low + sum(steps >> j for j in range(top + 1, depth + 1))


class SignLaw(NamedTuple):
    """Probability that the last published step goes down, with the replaced example and without."""

    changed: arb
    unchanged: arb


def sign_law(
    steps: int, examples: int, alpha: Fraction, sigma: Fraction, depth: int
) -> SignLaw:
    """Return the law of the sign of m^_{T-1} under Algorithm 1 with the printed noise, in balls."""
    last = steps - 1
    if last < 1 or last & (last - 1):
        raise ValueError(f"steps - 1 must be a power of two, got steps={steps}.")
    if examples > 1 and steps > 2:
        raise ValueError(
            f"steps must be 2 or examples 1, got steps={steps}, examples={examples}."
        )
    momentum = 1 - ball(1 - alpha) ** last  # in units of G
    deviation = (
        4 * ball(alpha) * ball(sigma) * ball(printed_v(steps, examples, depth)).sqrt()
    )
    height = momentum / deviation / arb(2).sqrt()
    up = (-height).erfc() / 2
    down = height.erfc() / 2
    return SignLaw(down + (up - down) / examples, down)


def sign_divergence(law: SignLaw, order: Fraction) -> arb:
    """Return the Renyi divergence of the sign, changed from unchanged: a lower bound for the published iterates."""
    z = ball(order)
    p = law.changed
    q = law.unchanged
    moment = p**z * q ** (1 - z) + (1 - p) ** z * (1 - q) ** (1 - z)
    return moment.log() / (z - 1)


def sign_delta(law: SignLaw, epsilon: Fraction) -> arb:
    """Return a lower bound on the delta of the published iterates: P(down) - exp(epsilon) Q(down)."""
    return law.changed - ball(epsilon).exp() * law.unchanged
