"""A walk that goes uphill: why 1/sqrt(N) is needed, for Algorithm 1 and, under one permutation, for Algorithm 2.

Linear losses with the gradients 1, -10/21, -10/21, mean 1/63; the momentum with alpha = 1/3 is negative at two of three
steps under one permutation and at 51.4% under fresh ones, so the walk goes uphill for ever. Below the start the losses
flatten: G = 1, R is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Final

from flint import arb

from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import to_ball, to_value

# Gradients of the examples: one pulls one way, two the other.
BIG = Fraction(1)
SMALL = Fraction(-10, 21)
EXAMPLES: Final = 3
EPOCHS: Final = 6  # Orders of this many epochs decide the sign of the momentum, whatever was before.


@dataclass(frozen=True)
class Signs:
    """What the momentum's signs do over an epoch."""

    drift: Fraction  # expected number of steps uphill minus steps downhill in an epoch
    margin: Fraction  # what |m_t| is not below from epoch ``EPOCHS`` on


@cache
def signs(ordering: Ordering, big: Fraction = BIG) -> Signs:
    """Go through all orders of the last ``EPOCHS`` epochs, with the momentum before them anywhere it can be."""
    places = product(range(EXAMPLES), repeat=EPOCHS)
    runs = [run for run in places if ordering == "fresh" or len(set(run)) == 1]
    uphill = 0
    margin = big
    for run in runs:
        low, high = SMALL, big
        ends: list[tuple[Fraction, Fraction]] = []
        for place in run:
            ends.clear()
            for step in range(EXAMPLES):
                gradient = big if step == place else SMALL
                low = (2 * low + gradient) / 3
                high = (2 * high + gradient) / 3
                ends.append((low, high))
        for low_end, high_end in ends:
            if low_end <= 0 <= high_end:
                raise ValueError(f"the sign of the momentum must be decided, got [{low_end}, {high_end}].")
            uphill += 1 if high_end < 0 else -1
            margin = min(margin, max(low_end, -high_end))
    return Signs(Fraction(uphill, len(runs)), margin)


def noise_variance_1(steps: int) -> arb:
    """Bound the variance of Algorithm 1's noise in m_hat_t: Lemma 12 corrected, N = 3, d = 1, G = 1, printed alpha."""
    logs = arb(steps).log() / arb(2).log()
    ones = arb(steps + 1).log() / arb(2).log()
    scale = 9 / (steps * logs)  # sqrt(log(1/delta))/epsilon
    return 16 * (2 * scale) ** 2 / 9 * (4 * logs * steps / 3) * ones


def noise_variance_2(steps: int, smoothness: Fraction, delta: Fraction) -> arb:
    """Bound the variance of Algorithm 2's noise in m_hat_t: Lemma 7 corrected, N = 3, d = 1, G = 1, printed alpha."""
    x = (arb(3) / steps).sqrt()
    curvature = to_ball(to_value(smoothness))
    log_n = arb(3).log() / arb(2).log()
    ones = arb(steps + 1).log() / arb(2).log()
    windows = (6 + 2 / x * (4 + curvature**2) / (2 - x)) * (arb(5) / 2).log() / arb(2).log()
    inside = 3 * log_n + windows / (1 - arb(-1).exp()) ** 2 + curvature**2 * ones
    return 256 * x**3 * (1 / to_ball(to_value(delta))).log() * log_n * inside


def uphill_bound(ordering: Ordering, steps: int, variance: arb, big: Fraction = BIG) -> arb:
    """Bound the expected gradient from below by ``1/63 (1 - p)``, or by 0 if p >= 1."""
    # p bounds the chance that the walk ever goes more than 1 below its start: ``D = sqrt(3T)`` steps. Steps that the
    # noise turns: at most ``T variance/margin^2`` in the mean, by Chebyshev's inequality; by Markov's the chance of D/4
    # of them is at most 4/D times that. The signs without noise: under one order no window of steps goes down by more
    # than a few; under fresh ones the sums over every sixth epoch have independent terms in [-3, 3] with the mean
    # -drift, and ever go above y with a chance of at most ``exp(-drift y/4.5)``.
    sign_terms = signs(ordering, big)
    mean = (big + 2 * SMALL) / 3
    if sign_terms.drift <= 0 or mean <= 0:
        return arb(0)
    way = (arb(3) * steps).sqrt()
    turned = 4 * steps * variance / to_ball(to_value(sign_terms.margin)) ** 2 / way
    height = way / 2 - 4 * EXAMPLES * EPOCHS
    lost = arb(0)
    if ordering == "fresh":
        lost = EPOCHS * (-to_ball(to_value(sign_terms.drift)) * height / EPOCHS / (arb(9) / 2)).exp()
    chance = turned + lost
    if not (height > 0 and chance < 1):
        return arb(0)
    return to_ball(to_value(mean)) * (1 - chance)
