r"""Epsilon of Gaussian measurements and noisy choices that share a budget of zero-concentrated DP, from both sides.

A step measures a vector for ``direction`` and then chooses among lengths for ``choice``. Where it chooses 0 it measures
once more, for ``growth`` times what the direction has cost so far, and chooses again; the next direction costs as much
as the last one did in the end. Nothing is done that the rest of the budget cannot pay. A measurement for rho has mu =
sqrt(2 rho); a choice for rho takes the least of losses in [0, C'] with Laplace noise of scale 2 C'/(n e), e = sqrt(2
rho), where replacing one example moves each mean loss by at most C'/n. So the choice is e-DP, hence e^2/2-zCDP.

**From above.** What is spent adaptively, with a budget that is never passed, costs no more than the budget (Feldman and
Zrnic 2021, theorem 3.1, for each order): rho-zCDP, converted at the best of many orders.

**From below.** Let one example have a gradient of length C in a direction and all others, and the one that replaces it,
the opposite one. In the first r choices all losses but that at 0 are as large as can be, so that 0 wins. In each later
one two lengths differ, and for the one example only: its losses there are 0 and C', or C' and 0 for the neighbour.
Either wins with the chances 1 - S and S, S = exp(-e/2) (1/2 + e/8) being a tail of the difference of two Laplace
numbers. So the pair is a Gaussian one and many independent two-point ones, but where another length wins: that has at
most the chance K exp(-x) (1/2 + x/4) a choice, x = (n-2) e/2 being a gap of C' (n-2)/n, and delta pays for it. The r
that shows most is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scipy.special import ndtr

from dpverify.kernels import check
from dpverify.privacy.conversions import improved_epsilon, zcdp_epsilon
from dpverify.privacy.participation import Bounds

ORDERS: Final = [1.0 + 1.2**k for k in range(-10, 60)]
SAFE: Final = 1e-9  # part of each number that goes to rounding
MOST_REPEATS: Final = 2000


@dataclass(frozen=True)
class GrowingBudget:
    """A budget and what is spent of it.

    Attributes
    ----------
    rho, direction, choice : float
        The whole budget, a first direction's and a choice's, above 0.
    growth : float
        By what part the budget of a direction grows, above 0.
    candidates : int
        Number K of lengths besides 0, at least 1.
    examples : int
        n, at least 1.
    steps : int
        At most so many steps are done, at least 1.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    rho: float
    direction: float
    choice: float
    growth: float
    candidates: int
    examples: int
    steps: int

    def __post_init__(self) -> None:
        for name in ("candidates", "examples", "steps"):
            check.whole(1, **{name: getattr(self, name)})
        for name in ("rho", "direction", "choice", "growth"):
            check.positive(**{name: getattr(self, name)})


def shared_epsilon(budget: GrowingBudget, delta: float) -> Bounds:
    """Bound the smallest epsilon of what is measured and chosen, for replacing one example.

    Parameters
    ----------
    budget : GrowingBudget
        What may be spent, and how.
    delta : float
        Privacy parameter in (0, 1).

    Returns
    -------
    Bounds
        ``upper`` holds for all data; ``lower`` is reached by the data set of this module's head, or 0.

    Raises
    ------
    ValueError
        If delta is out of its range.
    """
    upper = budget_epsilon(budget.rho, delta)
    ways = _ways(budget) if budget.candidates > 1 else ()
    lower = max((_attained(budget, delta, *spent) for spent in ways), default=0.0)
    return Bounds(min(lower, upper), upper, exact=False)


def budget_epsilon(rho: float, delta: float) -> float:
    """Give an epsilon that rho-zCDP implies."""
    return min(zcdp_epsilon(rho, delta), *(improved_epsilon(order, order * rho, delta) for order in ORDERS))


def classic_budget(epsilon: float, delta: float) -> float:
    """Give the rho whose conversion rho + 2 sqrt(rho log(1/delta)) is epsilon."""
    root = math.sqrt(math.log(1.0 / delta))
    return (math.sqrt(root * root + epsilon) - root) ** 2


def largest_budget(epsilon: float, delta: float) -> float:
    """Give the largest rho, up to nine digits, that is certain to imply (epsilon, delta)-DP by one of the orders."""
    low = classic_budget(epsilon, delta)
    from scipy.optimize import brentq  # not above: its import takes half a second

    return float(brentq(lambda rho: budget_epsilon(rho, delta) - epsilon, low, 64.0 * low, xtol=1e-12)) * (1.0 - SAFE)


def two_lengths(choice: float) -> tuple[float, float]:
    """Give e of a choice, and the chance of the length that the one example is against."""
    e = math.sqrt(2.0 * choice)
    return e, tail(0.5 * e)


def tail(x: float) -> float:
    """Chance that a difference of two Laplace numbers of scale 1 is above x, which is at least 0."""
    return math.exp(-x) * (0.5 + 0.25 * x)


def _ways(budget: GrowingBudget) -> Iterator[tuple[float, int, int]]:
    """For each number of first choices that 0 wins: what all measurements cost, later choices, and all choices."""
    direction = measured = spent = budget.direction
    for repeats in range(MOST_REPEATS):
        later = 0
        total = measured
        paid = spent
        while paid + budget.choice <= budget.rho and later < budget.steps:
            later = later + 1
            paid = paid + budget.choice
            if paid + direction + budget.choice > budget.rho or later == budget.steps:
                break
            total = total + direction
            paid = paid + direction
        if later == 0:
            return
        yield total, later, repeats + later
        step_budget = budget.growth * direction
        spent += budget.choice + step_budget
        measured = measured + step_budget
        direction = direction + step_budget


def _attained(budget: GrowingBudget, delta: float, measured: float, later: int, choices: int) -> float:
    """Largest epsilon at which delta is certainly more than what is asked for."""
    e, less = two_lengths(budget.choice)
    lost = choices * budget.candidates * tail(max(0.5 * (budget.examples - 2) * e, 0.0))
    mu, loss, odds = math.sqrt(2.0 * measured), math.log((1.0 - less) / less), math.log(less) - math.log1p(-less)
    top = later * math.log1p(-less)
    chances = [
        math.exp(top + k * odds + math.lgamma(later + 1) - math.lgamma(k + 1) - math.lgamma(later - k + 1))
        for k in range(later + 1)
    ]

    def excess(epsilon: float) -> float:
        attained = 0.0
        for k, chance in enumerate(chances):
            x = epsilon - loss * (later - 2 * k)
            over = ndtr(mu / 2.0 - x / mu)
            attained += chance * (over * (1.0 - SAFE) - math.exp(min(x, 700.0)) * ndtr(-mu / 2.0 - x / mu))
        return float(attained) * (1.0 - SAFE) - lost - delta

    high = later * loss + mu * mu / 2.0 + mu * math.sqrt(-2.0 * math.log(delta)) + 1e-9
    if excess(0.0) <= 0.0 or excess(high) >= 0.0:
        return 0.0
    from scipy.optimize import brentq  # not above, as before

    root = float(brentq(excess, 0.0, high, xtol=1e-12 * high))
    return root * (1.0 - SAFE) if excess(root * (1.0 - SAFE)) > 0.0 else 0.0
