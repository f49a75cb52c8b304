r"""How often many guesses can be right in one run whose privacy is a whole curve (f-DP).

Let m examples have independent fair coins, let exactly r of them be guessed from what the run released, and let R of
the guesses be right. An event of chance p on one data set has at least the chance g(p) on its neighbours; g is the
trade-off curve, and convex. (Mahloujifar, Melis and Chaudhuri 2024 use the same curve.)

*Inequality.* Take the event "the guess of example i is right, and R >= v". If coin i is turned, the same release makes
this guess wrong, and one guess less is right. Turned coins are as fair as the coins were, so that

    P[i is wrong, R >= v - 1] >= g(P[i is right, R >= v]).

The mean over all m examples, with g convex, gives for every v

    E[(r - R) 1{R >= v - 1}] / m >= g(E[R 1{R >= v}] / m).                                                         (1)

*Bound.* Let P[R >= v] = beta. If mass at R = j is moved to R = j - 1, the right side of (1) falls and the left side
rises for each index up to j. So all that is above v may be moved to v. Then, from j = v - 1 down, all mass at j that
(1) does not need at the index j + 1 may be moved to j - 1. What is left are the least masses that fulfil (1), from v
downwards. If their sum is above 1, P[R >= v] is less than beta.

*Rounding.* The least masses are those of a curve that is smaller by a share of 1e-9, which is more than all rounding
errors: a smaller curve needs less mass, so that errors make the bound larger, never smaller.

For pure epsilon-DP the bound is within a tenth of the binomial one of Steinke, Nasr and Jagielski; for a curve, or for
few guesses and a delta above 0, it is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from scipy.special import ndtr, ndtri

Tradeoff: TypeAlias = Callable[[float], float]
"""Least chance on a neighbouring data set of an event that has a given chance."""

SMALLER = 1.0 - 1e-9  # a curve by which rounding errors are covered
NEGLIGIBLE = 1e-18  # mass of one number of right guesses that is left out, which makes the sum smaller
STEP = 1e-4  # relative width to which a chance is found


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """Return the curve of N(0, 1) against N(mu, 1)."""

    def least_chance(chance: float) -> float:
        return 1.0 if chance >= 1.0 else float(ndtr(ndtri(chance) - mu))

    return least_chance


def curve_tradeoff(points: Sequence[tuple[float, float]]) -> Tradeoff:
    """Return the curve of a mechanism that is (epsilon, delta)-DP for each of the points."""
    factors = [(math.exp(-epsilon), math.exp(epsilon), delta) for epsilon, delta in points]

    def least_chance(chance: float) -> float:
        return max(
            max(0.0, (chance - delta) * inverse, 1.0 - delta - factor * (1.0 - chance))
            for inverse, factor, delta in factors
        )

    return least_chance


def least_mass(tradeoff: Tradeoff, examples: int, guesses: int, right: int, chance: float) -> float:
    """Return the least sum of the masses at which so many right guesses have the given chance; above 1 if none has."""
    of_right = right * chance / examples
    of_wrong = (guesses - right) * chance / examples
    total = chance
    for reached in range(right, 0, -1):
        missing = tradeoff(min(1.0, of_right * SMALLER)) * SMALLER - of_wrong
        mass = missing * examples / (guesses - reached + 1)
        if mass <= NEGLIGIBLE or total > 1.0:
            break
        total += mass
        of_right += (reached - 1) * mass / examples
        of_wrong += (guesses - reached + 1) * mass / examples
    return total * SMALLER


def is_rarer(tradeoff: Tradeoff, examples: int, guesses: int, right: int, level: float) -> bool:
    """Whether so many right guesses have a chance below the level under the curve."""
    return least_mass(tradeoff, examples, guesses, right, level) > 1.0


def chance_under(tradeoff: Tradeoff, examples: int, guesses: int, right: int) -> float:
    """Bound the chance of at least so many right guesses under the curve; 1e-300 at least."""
    if not is_rarer(tradeoff, examples, guesses, right, 1.0 - 1e-6):
        return 1.0
    low = math.log(1e-300)
    high = 0.0
    while high - low > STEP:
        middle = 0.5 * (low + high)
        if is_rarer(tradeoff, examples, guesses, right, math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)
