"""The amount of work that a run may do, and its distribution among checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

BudgetName: TypeAlias = Literal["smoke", "standard", "full"]


@dataclass(frozen=True)
class Budget:
    """The amount of work of one run."""

    name: str  # "smoke", "standard" or "full"
    seconds: float  # core seconds for all checks of a run together
    examples: int  # largest number of points that a counterexample search draws
    points: int  # points at which a derivation step is evaluated
    # constants of a derivation that are changed by 1%, one at a time, as controls
    perturbed: int

    def reaches(self, least: BudgetName) -> bool:
        """Return whether this budget is at least as large as another."""
        names = list(BUDGETS)
        return names.index(self.name) >= names.index(least)


BUDGETS = {
    # The seconds are the sum of the declared costs. Most checks need less: on 2 cores,
    # smoke takes two to three minutes and standard about 20.
    "smoke": Budget("smoke", seconds=366.0, examples=200, points=32, perturbed=1),
    "standard": Budget(
        "standard", seconds=3_220.0, examples=3_000, points=300, perturbed=6
    ),
    "full": Budget(
        "full", seconds=46_000.0, examples=30_000, points=1_000, perturbed=40
    ),
}


def budget_named(name: str) -> Budget:
    """Return the budget with a name."""
    if name not in BUDGETS:
        raise ValueError(
            f"budget must be one of {', '.join(BUDGETS)}, got budget={name!r}."
        )
    return BUDGETS[name]


@dataclass(frozen=True)
class Shares:
    """The largest cost of one check, in core seconds, for both kinds of checks."""

    divisible: float  # for a check that can do part of its work, such as a search
    # for a check that does all of its work or none, such as a Monte Carlo plan
    whole: float


def shares(
    divisible: Sequence[float], indivisible: Sequence[float], total: float
) -> Shares:
    """Share a budget among checks. Indivisible checks come first, but a tenth is reserved for the divisible checks."""
    needed = sum(indivisible)
    of_divisible = fair_share(divisible, max(total / 10, total - needed))
    left = total - sum(min(cost, of_divisible) for cost in divisible)
    if needed <= left * (1 + 1e-9):  # all fit; rounding must not exclude the last check
        return Shares(of_divisible, float("inf"))
    return Shares(of_divisible, fair_share(indivisible, left))


def fair_share(costs: Sequence[float], total: float) -> float:
    """Return the largest share s with ``sum(min(cost, s)) <= total``, or infinity if everything fits."""
    left = total
    ordered = sorted(costs)
    for place, cost in enumerate(ordered):
        level = left / (len(ordered) - place)
        if cost > level:
            return level
        left -= cost
    return float("inf")
