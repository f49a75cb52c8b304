"""Asymptotic claims about run times, decided along finitely many directions in N, d and epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any, NamedTuple

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time import orders_bounds as orders
from dpverify.papers.tran2022.run_time.orders_bounds import Order, Vector3, order

CHECKS = PaperChecks("tran2022", __name__)

Terms = Sequence[Order]
LESS_N, LESS_D = order("-1/100", 0, 0), order(0, -2, 0)  # Planted faults: what is claimed is smaller by this factor

EDGES = (
    "both sides are monomials in N, d and epsilon up to constants and logarithms, from both sides and for all T >= 4N, "
    "so the edges of the region decide (NOTES_run_time.md)"
)


class Claimed(NamedTuple):
    """What a claim about a run time compares."""

    steps: Order  # T, which bounds the region: T >= N
    counted: Terms  # what the run takes, the terms of a sum
    printed: Terms  # what the paper says that it takes at most
    corrected: Terms = ()  # what it takes, up to a constant from both sides; empty where nothing is corrected
    logs: bool = False  # whether a logarithm counts: O against O~
    bounded_epsilon: bool = False  # whether epsilon is of order 1 at most


def _directions(budget: Budget, claimed: Claimed) -> Iterable[dict[str, Any]]:
    """Edges of the region, sums of them, and two plain directions: N = d, and the same with a falling epsilon."""
    found = orders.directions(claimed.steps, bounded_epsilon=True)
    found += [(Fraction(1), Fraction(1), Fraction(0)), (Fraction(10), Fraction(10), Fraction(-1))]
    if not claimed.bounded_epsilon:
        found += orders.directions(claimed.steps, bounded_epsilon=False)
    for n, d, epsilon in found:
        whole = lcm(n.denominator, d.denominator, epsilon.denominator)
        yield {"exponent_of_N": n * whole, "exponent_of_d": d * whole, "exponent_of_epsilon": epsilon * whole}


def _direction(point: Point) -> Vector3:
    return point["exponent_of_N"], point["exponent_of_d"], point["exponent_of_epsilon"]


def _in_words(direction: Vector3) -> str:
    named = zip(("N", "d", "epsilon"), direction, strict=True)
    return ", ".join(f"{name} = {_power(value)}" for name, value in named)


def _power(exponent: Fraction) -> str:
    if exponent in {0, 1}:
        return "x" if exponent else "1"
    return f"x^{exponent}" if exponent.denominator == 1 and exponent > 0 else f"x^({exponent})"


def _asymptotic(claimed: Claimed, point: Point, statement: Statement, *, off: Order | None = None) -> Outcome:
    """Whether the claim, times ``off``, holds along a direction; both sides are exponents of x."""
    direction = _direction(point)
    said = claimed.printed if statement.variant == "printed" else claimed.corrected
    if off:
        said = [term.times(off) for term in said]
    bad = orders.exceeds(claimed.counted, said, direction, logs=claimed.logs)
    if statement.variant == "amended":
        bad = bad or orders.exceeds(said, claimed.counted, direction, logs=claimed.logs)
    took, wanted = (max(term.along(direction) for term in terms) for terms in (claimed.counted, said))
    words = f"along {_in_words(direction)} it grows as {_power(took)}, the claim as {_power(wanted)}"
    return Outcome(not bad, took, wanted, words + ("; a logarithm more" if bad and took == wanted else ""))


def _inside(claimed: Claimed, point: Point) -> bool:
    faces = orders.regime(claimed.steps, bounded_epsilon=claimed.bounded_epsilon)
    return all(sum(f * v for f, v in zip(face, _direction(point), strict=True)) > 0 for face in faces)


def _orders(claim: str, claimed: Claimed, name: str = "orders", **reading: str) -> RuleCheck:
    variants = [name for name, terms in (("printed", claimed.printed), ("amended", claimed.corrected)) if terms]
    return RuleCheck(
        claim,
        "-".join([name, *reading.values()]),
        points=partial(_directions, claimed=claimed),
        holds=partial(_asymptotic, claimed),
        why_sufficient=EDGES,
        readings=reading,
        variants=tuple(variants),
        planted=[
            Planted(
                "1/100 off the exponent of N", holds=partial(_asymptotic, claimed, off=LESS_N), at_declared_size=True
            ),
            Planted("2 off the exponent of d", holds=partial(_asymptotic, claimed, off=LESS_D)),
        ],
        interior=partial(_inside, claimed),
        region="T >= 4N, that is sqrt(d) <= epsilon N up to a constant"
        + (", epsilon <= 1" if claimed.bounded_epsilon else ""),
        leaves_out="constants, and logarithms where the claim is written with O~",
    )


TIME = Claimed(  # The run time of section 5, in operations on numbers
    orders.STEPS_OF_THEOREM_9,
    [orders.literal_order(orders.STEPS_OF_THEOREM_9)],
    [order("11/3", "-2/3", 0)],
    corrected=[order("11/3", "-1/3", "8/3")],
)

SHORTER = TIME._replace(  # What the correction says of the stream
    counted=[orders.stream_order(orders.STEPS_OF_THEOREM_9)], printed=(), corrected=[order("7/3", "1/3", "4/3")]
)

ONE_PASS = Claimed(orders.STEPS_OF_THEOREM_9, [orders.STEPS_OF_THEOREM_9], [order("7/3", "-2/3", "4/3")], logs=True)
"""Gradient evaluations, at most 3T."""

BY_NODE = ONE_PASS._replace(  # Gradient evaluations of the printed sums, T log T
    counted=[orders.STEPS_OF_THEOREM_9.times(orders.LOGARITHM)], corrected=[order("7/3", "-2/3", "4/3", 1)]
)

RRSGD = Claimed(orders.STEPS_OF_THEOREM_6, [orders.STEPS_OF_THEOREM_6], [order(2, 1, 0)], bounded_epsilon=True)
DP_SRM = RRSGD._replace(printed=[order("3/2", "-3/4", "3/2"), order(1, "-1/2", 1)], corrected=[order(2, "-1/2", 1)])

CHECKS.add(
    _orders("section-5-run-time", TIME),
    _orders("section-5-run-time", SHORTER, "stream-orders"),
    _orders("abstract-gradient-evaluations", ONE_PASS, evaluation="one-pass"),
    _orders("abstract-gradient-evaluations", BY_NODE, evaluation="node-by-node"),
    _orders("section-5-gradient-evaluations", ONE_PASS._replace(logs=False), evaluation="one-pass"),
    _orders("section-5-gradient-evaluations", BY_NODE._replace(logs=False, corrected=()), evaluation="node-by-node"),
    _orders("section-5-first-run-time", RRSGD, previous="rrsgd"),
    _orders("section-5-first-run-time", DP_SRM, previous="dp-srm"),
)
