"""Asymptotic claims about run times, decided along finitely many directions in N, d and epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any, ClassVar, NamedTuple

from dpverify.harness import (
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    TrueNeighbour,
)
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time import orders_bounds as orders
from dpverify.papers.tran2022.run_time.orders_bounds import Order, Vector, cone, order


def _direction(point: Point) -> Vector:
    return point["exponent_of_N"], point["exponent_of_d"], point["exponent_of_epsilon"]


COUNTED = "operations and gradients are counted along the lines of Algorithm"
MEETS = {
    "update-of-algorithm-1": Property(f"{COUNTED} 1"),
    "update-of-algorithm-2": Property(f"{COUNTED} 2"),
    "T >= 2": Property(
        "T, which is tied to N, d and epsilon, does not shrink",
        lambda point: orders.STEPS_OF_THEOREM_6.along(_direction(point)) >= 0,
    ),
}

CHECKS = PaperChecks("tran2022", __name__, MEETS)

Terms = Sequence[Order]
# planted faults: the claim is multiplied by this factor, which makes it too small
LESS_N = order("-1/100", 0, 0)
LESS_D = order(0, -2, 0)

EDGES = (
    "both sides are monomials in N, d and epsilon up to constants and logarithms, from both sides, so the edges of the "
    "cone of the statement's conditions decide (NOTES_run_time.md)"
)
MODEST: Vector = (Fraction(0), Fraction(0), Fraction(-1))  # face of epsilon <= 1


class Claimed(NamedTuple):
    """Both sides of a claim about a run time."""

    steps: Order  # T
    counted: Terms  # cost of the run, as terms of a sum
    printed: Terms  # largest cost according to the paper
    # if every direction refutes the claim: a factor that makes the claim true
    true: Order | None = None
    # cost according to the correction, which bounds it from both sides; empty if there
    # is no correction
    corrected: Terms = ()
    logs: bool = False  # whether logarithms count, as in O; O~ hides them
    epochs: bool = False  # whether the cost is known only for T >= 4N


def _faces(claimed: Claimed, statement: Statement) -> list[Vector]:
    """Return the faces of the cone of a statement's conditions, and the face of the region where the cost is known."""
    return [
        *cone(statement),
        *([orders.whole_epochs(claimed.steps)] if claimed.epochs else []),
    ]


def _directions(claimed: Claimed, statement: Statement) -> Iterable[dict[str, Any]]:
    """Yield edges of the region and sums of edges, and two simple directions: N = d, with constant or falling epsilon.

    Directions without growth of epsilon come first, so that counterexamples have epsilon <= 1 if possible.
    """
    faces = _faces(claimed, statement)
    directions = orders.directions([*faces, MODEST])
    directions += [
        (Fraction(1), Fraction(1), Fraction(0)),
        (Fraction(10), Fraction(10), Fraction(-1)),
    ]
    for n, d, epsilon in (
        u for u in [*directions, *orders.directions(faces)] if orders.within(faces, u)
    ):
        denominator = lcm(n.denominator, d.denominator, epsilon.denominator)
        yield {
            "exponent_of_N": n * denominator,
            "exponent_of_d": d * denominator,
            "exponent_of_epsilon": epsilon * denominator,
        }


def _in_words(direction: Vector) -> str:
    named = zip(("N", "d", "epsilon"), direction, strict=True)
    return ", ".join(f"{name} = {_power(value)}" for name, value in named)


def _power(exponent: Fraction) -> str:
    if exponent in {0, 1}:
        return "x" if exponent else "1"
    return (
        f"x^{exponent}"
        if exponent.denominator == 1 and exponent > 0
        else f"x^({exponent})"
    )


def _asymptotic(
    claimed: Claimed,
    point: Point,
    statement: Statement,
    *,
    extra_factor: Order | None = None,
) -> Outcome:
    """Test whether the claim, times ``extra_factor``, holds along a direction; both sides are exponents of x."""
    direction = _direction(point)
    claim = claimed.printed if statement.variant == "printed" else claimed.corrected
    if extra_factor:
        claim = [term.times(extra_factor) for term in claim]
    bad = orders.exceeds(claimed.counted, claim, direction, logs=claimed.logs)
    if statement.variant == "amended":
        bad = bad or orders.exceeds(
            claim, claimed.counted, direction, logs=claimed.logs
        )
    took, expected = (
        max(term.along(direction) for term in terms)
        for terms in (claimed.counted, claim)
    )
    words = f"along {_in_words(direction)} it grows as {_power(took)}, the claim as {_power(expected)}"
    return Outcome(
        not bad,
        took,
        expected,
        words + ("; a logarithm more" if bad and took == expected else ""),
    )


@dataclass(frozen=True)
class OrdersCheck(RuleCheck):
    """Compare orders of growth along the directions in which the conditions of the statement hold."""

    claimed: Claimed = field(kw_only=True)

    reads_conditions: ClassVar[bool] = True

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Run the check along directions of the cone of the statement's conditions."""
        faces = _faces(self.claimed, context.statement)
        along = list(_directions(self.claimed, context.statement))
        cone_check = replace(
            self,
            points=lambda _: along,
            interior=lambda point: orders.within(
                faces, _direction(point), strictly=True
            ),
        )
        return RuleCheck.run_block(cone_check, context, block)


def _orders(
    claim: str, claimed: Claimed, name: str = "orders", **reading: str
) -> OrdersCheck:
    variants = [
        name
        for name, terms in (
            ("printed", claimed.printed),
            ("amended", claimed.corrected),
        )
        if terms
    ]
    return OrdersCheck(
        claim,
        "-".join([name, *reading.values()]),
        claimed=claimed,
        points=lambda _: (),
        is_satisfied=partial(_asymptotic, claimed),
        where=["T >= 4*N"] if claimed.epochs else [],
        why_sufficient=EDGES,
        readings=reading,
        variants=tuple(variants),
        planted=[
            Planted(
                "1/100 off the exponent of N",
                is_satisfied=partial(_asymptotic, claimed, extra_factor=LESS_N),
                at_declared_size=True,
            ),
            Planted(
                "2 off the exponent of d",
                is_satisfied=partial(_asymptotic, claimed, extra_factor=LESS_D),
            ),
        ],
        neighbours=[]
        if claimed.true is None
        else [
            TrueNeighbour(
                "a larger order",
                is_satisfied=partial(_asymptotic, claimed, extra_factor=claimed.true),
            )
        ],
        region="all directions in which N, d and T do not shrink and the statement's conditions hold"
        + (", and T >= 4N" if claimed.epochs else ""),
        leaves_out="constants, and logarithms where the claim is written with O~",
    )


TIME = Claimed(  # Run time of section 5, in operations on numbers
    orders.STEPS_OF_THEOREM_9,
    [orders.literal_order(orders.STEPS_OF_THEOREM_9)],
    [order("11/3", "-2/3", 0)],
    corrected=[order("11/3", "-1/3", "8/3")],
    epochs=True,
)

SHORTER = TIME._replace(  # Run time of the stream, which only the correction states
    counted=[orders.stream_order(orders.STEPS_OF_THEOREM_9)],
    printed=(),
    corrected=[order("7/3", "1/3", "4/3")],
)

BY_NODE = Claimed(  # Gradient evaluations of the printed sums, T log T
    orders.STEPS_OF_THEOREM_9,
    [orders.STEPS_OF_THEOREM_9.times(orders.LOGARITHM)],
    [order("7/3", "-2/3", "4/3")],
    logs=True,
    true=orders.LOGARITHM,
)

RRSGD = Claimed(
    orders.STEPS_OF_THEOREM_6, [orders.STEPS_OF_THEOREM_6], [order(2, 1, 0)]
)
DP_SRM = RRSGD._replace(printed=[order("3/2", "-3/4", "3/2"), order(1, "-1/2", 1)])

CHECKS.add(
    _orders("section-5-run-time", TIME),
    _orders("section-5-run-time", SHORTER, "stream-orders"),
    _orders("abstract-gradient-evaluations", BY_NODE, evaluation="node-by-node"),
    _orders("section-5-first-run-time", RRSGD, previous="rrsgd"),
    _orders("section-5-first-run-time", DP_SRM, previous="dp-srm"),
)
