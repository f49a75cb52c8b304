"""From noise to (epsilon, delta): the trade-off of one Gaussian at the smallest sigma, for many delta and epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from flint import arb

from dpverify.harness import Budget, Outcome, Point
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement
from dpverify.privacy.gaussian_balls import delta_ball
from dpverify.symbolic.exact.numbers import ball

Points = Callable[[Budget], Iterator[dict[str, int | Fraction | str]]]


def tail_points(deltas: Sequence[Fraction], shares: Sequence[Fraction]) -> Points:
    """Make the points of a check: for each delta, some epsilons.

    From a budget to the points, the same for all budgets.
    """

    def points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
        for delta in deltas:
            log = ball(1 / delta).log()
            for share in shares:
                epsilon = Fraction(int((log * 10**6 * share.numerator / share.denominator).floor().fmpz()), 10**6)
                yield {"delta": delta, "epsilon": epsilon}

    return points


def within_delta(squared: Fraction, divisor: int, stretched: Fraction) -> Rule:
    """Make the rule that a Gaussian meets delta at epsilon, its mu as large as the theorem's sigma lets it be."""

    def holds(point: Point, statement: Statement) -> Outcome:
        delta = ball(point["delta"])
        log, epsilon = (1 / delta).log(), ball(point["epsilon"] * stretched)
        factor = arb(squared.numerator) / squared.denominator
        exact = delta_ball(factor.sqrt() * epsilon / (divisor * log.sqrt()), epsilon)
        return Outcome(True if exact <= delta else False if exact > delta else None, exact, delta)

    return holds
