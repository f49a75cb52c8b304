r"""Epsilon of Gaussian measurements and noisy choices that share a budget of zero-concentrated DP.

A step spends ``direction`` on the measurement of a vector, the direction, and then
``choice`` on a choice among step lengths. If the length 0 is chosen, the step measures
again, for ``growth`` times the budget spent on this direction so far, and chooses
again. The next direction starts with the final budget of the last one. Nothing is done
that the remaining budget cannot pay. A measurement with budget rho has mu = sqrt(2
rho). A choice with budget rho selects the smallest of losses in [0, C'] with Laplace
noise of scale 2 C'/(n e), e = sqrt(2 rho), where replacing one example changes each
mean loss by at most C'/n. So the choice is e-DP, hence e^2/2-zCDP.

**Upper bound.** Adaptive spending that never exceeds the budget costs no more than the
budget (Feldman and Zrnic 2021, theorem 3.1, for each order). It is rho-zCDP, converted
at the best of many orders.

**Lower bound.** Let one example have a gradient of length C in a direction, and let all other examples and the
replacement have the opposite gradient. In the first r choices all losses but that at 0 have their largest value, so
that 0 is chosen. In each later choice two lengths differ, and only for the one example: its losses there are 0 and C',
or C' and 0 for the neighbour. The lengths are then chosen with probabilities 1 - S and S, where
S = exp(-e/2) (1/2 + e/8) is a tail of the difference of two Laplace variables. So the pair consists of a Gaussian pair
and many independent two-point pairs, unless another length is chosen. That has probability at most
K exp(-x) (1/2 + x/4) per choice, where x = (n-2) e/2 corresponds to a gap of C' (n-2)/n, and it is subtracted from
delta. The bound is the largest one over r.
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
MARGIN: Final = 1e-9  # relative margin of each number for rounding errors
MOST_REPEATS: Final = 2000


@dataclass(frozen=True)
class GrowingBudget:
    """A budget and how it is spent.

    Attributes
    ----------
    rho, direction, choice : float
        The total budget, the budget of a first direction, and the budget of a choice;
        all above 0.
    growth : float
        Relative growth of the budget of a direction, above 0.
    candidates : int
        Number K of lengths besides 0, at least 1.
    examples : int
        n, at least 1.
    steps : int
        Largest number of steps, at least 1.

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
    """Bound the smallest epsilon of all measurements and choices, for replace-one neighbours.

    Parameters
    ----------
    budget : GrowingBudget
        The budget, and how it is spent.
    delta : float
        Privacy parameter in (0, 1).

    Returns
    -------
    Bounds
        ``upper`` holds for all data. ``lower`` is attained by the data set in the
        docstring of this module, or is 0.

    Raises
    ------
    ValueError
        If delta is out of its range.
    """
    upper = budget_epsilon(budget.rho, delta)
    measured_budgets = _measured_budgets(budget) if budget.candidates > 1 else ()
    lower = max(
        (_attained_epsilon(budget, delta, *amounts) for amounts in measured_budgets),
        default=0.0,
    )
    return Bounds(min(lower, upper), upper, exact=False)


def budget_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon that rho-zCDP implies."""
    return min(
        zcdp_epsilon(rho, delta),
        *(improved_epsilon(order, order * rho, delta) for order in ORDERS),
    )


def classic_budget(epsilon: float, delta: float) -> float:
    """Return the rho for which rho + 2 sqrt(rho log(1/delta)) is epsilon."""
    root = math.sqrt(math.log(1.0 / delta))
    return (math.sqrt(root * root + epsilon) - root) ** 2


def largest_budget(epsilon: float, delta: float) -> float:
    """Return the largest rho, to nine digits, that certainly implies (epsilon, delta)-DP by one of the orders."""
    low = classic_budget(epsilon, delta)
    from scipy.optimize import brentq  # imported here because it takes half a second

    return float(
        brentq(
            lambda rho: budget_epsilon(rho, delta) - epsilon,
            low,
            64.0 * low,
            xtol=1e-12,
        )
    ) * (1.0 - MARGIN)


def choice_parameters(choice: float) -> tuple[float, float]:
    """Return e of a choice, and the probability of the length that the one example opposes."""
    e = math.sqrt(2.0 * choice)
    return e, tail(0.5 * e)


def tail(x: float) -> float:
    """Return the probability that the difference of two Laplace variables of scale 1 exceeds x >= 0."""
    return math.exp(-x) * (0.5 + 0.25 * x)


def _measured_budgets(budget: GrowingBudget) -> Iterator[tuple[float, int, int]]:
    """Yield, for each r, the budget of all measurements, the number of later choices, and the number of all choices."""
    direction = measured = spent = budget.direction
    for repeats in range(MOST_REPEATS):
        later_choices = 0
        total = measured
        total_spent = spent
        while (
            total_spent + budget.choice <= budget.rho and later_choices < budget.steps
        ):
            later_choices = later_choices + 1
            total_spent = total_spent + budget.choice
            if (
                total_spent + direction + budget.choice > budget.rho
                or later_choices == budget.steps
            ):
                break
            total = total + direction
            total_spent = total_spent + direction
        if later_choices == 0:
            return
        yield total, later_choices, repeats + later_choices
        step_budget = budget.growth * direction
        spent += budget.choice + step_budget
        measured = measured + step_budget
        direction = direction + step_budget


def _attained_epsilon(
    budget: GrowingBudget, delta: float, measured: float, later: int, choices: int
) -> float:
    """Return the largest epsilon at which the true delta certainly exceeds ``delta``; 0 if there is none."""
    e, opposed = choice_parameters(budget.choice)
    failure_chance = (
        choices * budget.candidates * tail(max(0.5 * (budget.examples - 2) * e, 0.0))
    )
    mu = math.sqrt(2.0 * measured)
    loss = math.log((1.0 - opposed) / opposed)
    odds = math.log(opposed) - math.log1p(-opposed)
    top = later * math.log1p(-opposed)
    chances = [
        math.exp(
            top
            + k * odds
            + math.lgamma(later + 1)
            - math.lgamma(k + 1)
            - math.lgamma(later - k + 1)
        )
        for k in range(later + 1)
    ]

    def excess(epsilon: float) -> float:
        attained = 0.0
        for k, chance in enumerate(chances):
            x = epsilon - loss * (later - 2 * k)
            tail_chance = ndtr(mu / 2.0 - x / mu)
            attained += chance * (
                tail_chance * (1.0 - MARGIN)
                - math.exp(min(x, 700.0)) * ndtr(-mu / 2.0 - x / mu)
            )
        return float(attained) * (1.0 - MARGIN) - failure_chance - delta

    high = later * loss + mu * mu / 2.0 + mu * math.sqrt(-2.0 * math.log(delta)) + 1e-9
    if excess(0.0) <= 0.0 or excess(high) >= 0.0:
        return 0.0
    from scipy.optimize import brentq  # imported here because it takes half a second

    root = float(brentq(excess, 0.0, high, xtol=1e-12 * high))
    return root * (1.0 - MARGIN) if excess(root * (1.0 - MARGIN)) > 0.0 else 0.0
