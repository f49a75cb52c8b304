"""Check of a rate by exponents: the bound outgrows the stated rate along no direction in N, d and epsilon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpverify.harness import Context, Outcome, Planted, Point, Property
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time import orders_bounds as orders

# The planted fault: a rate whose exponent of N is smaller by this.
FASTER = Fraction(1, 100)


@dataclass(frozen=True)
class ExponentsCheck(RuleCheck):
    """Search for a direction of growth along which the left side of an order outgrows the right side."""

    # Both sides, and the directions in which the conditions hold, come from the record.

    reads_conditions: ClassVar[bool] = True

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Run the check along the rays of the statement's own cone."""
        statement = context.statement
        terms = (
            *sorted(orders.left_terms(statement)),
            *sorted(orders.right_terms(statement)),
        )
        decisive = orders.rays(terms, orders.cone(statement))
        along = [
            {
                f"log_{name}": power
                for name, power in zip(orders.LETTERS, u, strict=True)
            }
            for u in decisive
        ]
        return RuleCheck.run_block(
            replace(self, points=lambda _: along), context, block
        )


def _outgrown(
    point: Point, statement: Statement, faster: Fraction = Fraction(0)
) -> Outcome:
    """Compare the exponents of both sides along a direction, without logarithms and other factors that O~ hides."""
    direction = (point["log_N"], point["log_d"], point["log_epsilon"])
    left = orders.exponent(orders.left_terms(statement), direction)
    right = max(
        orders.dot((n - faster, d, epsilon), direction)
        for n, d, epsilon in orders.right_terms(statement)
    )
    note = "exponents of the bound and of the rate along (N, d, epsilon) = n^(log_N, log_d, log_epsilon)"
    return Outcome(left <= right, left, right, note=note)


def _grows(point: Point, steps: orders.Order) -> bool:
    """Test whether neither T nor N shrinks along a direction. Then epsilon is at most what the theorems allow."""
    direction = (point["log_N"], point["log_d"], point["log_epsilon"])
    return steps.along(direction) >= 0 and point["log_N"] >= 0


def _as_theorem_6(point: Point) -> bool:
    return _grows(point, orders.STEPS_OF_THEOREM_6)


def _as_theorem_9(point: Point) -> bool:
    return _grows(point, orders.STEPS_OF_THEOREM_9)


GROWS = {
    "T >= 2": Property(
        "T, which is tied to N, d and epsilon, does not shrink", _as_theorem_6
    ),
    "epsilon <= T*log2(T)*sqrt(d*log(1/delta))/N": Property(
        "with the T of Theorem 6 it says N >= 1", _as_theorem_6
    ),
    "epsilon <= T**(3/4)*sqrt(d)/N**(3/4)": Property(
        "with the T of Theorem 9 it says N >= 1", _as_theorem_9
    ),
}


def exponents(claim: str) -> ExponentsCheck:
    """Return the check of a rate by the exponents of its terms."""
    return ExponentsCheck(
        claim,
        "exponents",
        points=lambda _: (),
        is_satisfied=_outgrown,
        planted=[
            Planted(
                "a faster rate",
                is_satisfied=partial(_outgrown, faster=FASTER),
                at_declared_size=True,
            )
        ],
        variants=("printed",),
        meets=GROWS,
        interior=lambda point: all(value != 0 for value in point.values()),
        region="all directions in which N, d and T do not shrink and the statement's conditions hold",
        leaves_out="logarithms, G, L, R and delta, which O~ hides",
    )
