"""Theorem 4's (epsilon, delta) form by exact trade-offs, and both forms on published iterates of a tiny problem."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness.planted import Rule
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.privacy import RUNS, Corner, at_depth, depth_value
from dpverify.papers.tran2022.privacy.checks.sides import momentum_delta, value_of
from dpverify.papers.tran2022.privacy.signs_bounds import sign_delta, sign_divergence, sign_law
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.sensitivity.checks.nodes import depth_of
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tran2022", __name__, {**witnesses.OPPOSED, **witnesses.UPDATE_1})

NOT_PRIVATE: list[Corner] = [  # One condition broken: epsilon far above log(1/delta) (twice), alpha < 1/N, T < N/4
    {"T": 1, "N": 1, "alpha": 1, "epsilon": 49, "delta": "1/2", "sigma": "1/29"},
    {"T": 64, "N": 8, "alpha": "1/8", "epsilon": 300, "delta": "1/10", "sigma": "0.0102"},
    {"T": 64, "N": 1, "alpha": "1/1000", "epsilon": 5, "delta": "1/100", "sigma": "0.86"},
    {"T": 1, "N": 100, "alpha": 1, "epsilon": 5, "delta": "1/100", "sigma": "0.86"},
    {"T": 10000, "N": 100, "alpha": "1/1000000", "epsilon": 8, "delta": "1/1000", "sigma": "0.66"},
    {"T": 300_000, "N": 1000, "alpha": "1/1000000", "epsilon": 8, "delta": "1/1000", "sigma": "0.66"},
]


def _sign_points(budget: Budget) -> Iterator[Corner]:
    yield {"T": 129, "N": 1, "alpha": "1/1000", "sigma": "1/10", "z": 2}
    yield {"T": 2, "N": 400, "alpha": "1/400", "sigma": "1/10", "z": 2}


def _sign_points_dp(budget: Budget) -> Iterator[Corner]:
    """At the sigma of the theorem, rounded up, and for delta >= exp(-epsilon)."""
    yield {"T": 257, "N": 1, "alpha": "1/1000000", "sigma": "0.566", "epsilon": 12, "delta": "1/100000"}
    yield {"T": 2, "N": 10**4, "alpha": "1/10000", "sigma": "0.566", "epsilon": 12, "delta": "1/100000"}
    yield {"T": 2, "N": 1, "alpha": 1, "sigma": "0.00556", "epsilon": 300, "delta": "1/2"}


PROBLEM = (
    "published iterates of d = 1, f(w, x) = x w, x = G for one example and -G for the neighbour and all others: the "
    "sign of w_T - w_{T-1} alone, the order of the examples hidden"
)


def _signs(tightened: Fraction) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether the published sign alone stays within the printed guarantee."""
        T = int(point["T"])
        law = sign_law(T, int(point["N"]), point["alpha"], point["sigma"], depth_value(statement, T))
        if statement.quantity == "renyi_divergence":
            exact = sign_divergence(law, point["z"])
            allowed = value_of(statement, point, "z") / (2 * value_of(statement, point, "sigma") ** 2)
        else:
            exact = sign_delta(law, point["epsilon"])
            allowed = ball(point["delta"])
        allowed = allowed / ball(tightened)
        if exact > allowed:
            return Outcome(False, exact, allowed, PROBLEM)
        return Outcome(True if exact <= allowed else None, exact, allowed)

    return holds


def _with_noise(times: int) -> LeftSide:
    """The exact delta with the printed noise times a number."""
    return lambda point, statement: momentum_delta({**point, "sigma": times * point["sigma"]}, statement)


CHECKS.add(
    SearchCheck(
        "theorem-4-dp",
        "search",
        lhs=momentum_delta,
        where=depth_of,
        region={**RUNS, "epsilon": ("1/100", 400), "delta": ("1/1000000000000", "99/100")},
        corners=[
            {"T": 1023, "N": 64, "alpha": "1/64", "epsilon": 1, "delta": "1/100000", "sigma": "6.79"},
            {"T": 1281, "N": 1025, "alpha": "1/1025", "epsilon": 1, "delta": "1/100000", "sigma": "6.79"},
        ],
        variants=("amended",),
        seconds_each=0.02,
    ),
    *(
        ExhaustiveCheck(
            "theorem-4-dp",
            f"one-condition-{depth}",
            readings={"depth": depth},
            points=at_depth(NOT_PRIVATE, depth, {}),
            lhs=momentum_delta,
            neighbours=[TrueNeighbour("sixteen times the noise", lhs=_with_noise(16))],
            region="one of the conditions of the corrected statement is broken at a time",
            variants=("printed",),
        )
        for depth in ("levels", "height")
    ),
    *(
        ExhaustiveCheck(
            claim,
            "published-iterates",
            points=points,
            holds=_signs(Fraction(1)),
            planted=[Planted("a guarantee a thousand times as strong", holds=_signs(Fraction(1000)))],
            neighbours=[TrueNeighbour("a guarantee a million times as weak", holds=_signs(Fraction(1, 10**6)))],
            region=PROBLEM,
            variants=("printed",),
        )
        for claim, points in (("theorem-4", _sign_points), ("theorem-4-dp", _sign_points_dp))
    ),
)
