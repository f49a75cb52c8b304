"""Theorem 4 on published iterates: a problem so small that the law of what is published is known, with balls."""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.harness import Budget, ExhaustiveCheck, Outcome, PaperChecks, Planted, Point
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.privacy import Corner, depth_value
from dpverify.papers.tran2022.privacy.checks.sides import value_of
from dpverify.papers.tran2022.privacy.signs_bounds import sign_delta, sign_divergence, sign_law
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tran2022", __name__)


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


def _signs(tightened: int) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether the published sign alone stays within the printed guarantee."""
        T = int(point["T"])
        law = sign_law(T, int(point["N"]), point["alpha"], point["sigma"], depth_value(statement, T))
        if statement.quantity == "renyi_divergence":
            seen = sign_divergence(law, point["z"])
            allowed = value_of(statement, point, "z") / (2 * value_of(statement, point, "sigma") ** 2)
        else:
            seen, allowed = sign_delta(law, point["epsilon"]), ball(point["delta"])
        allowed = allowed / tightened
        if seen > allowed:
            return Outcome(False, seen, allowed, PROBLEM)
        return Outcome(True if seen <= allowed else None, seen, allowed)

    return holds


CHECKS.add(
    *(
        ExhaustiveCheck(
            claim,
            "published-iterates",
            points=points,
            holds=_signs(1),
            planted=[Planted("a guarantee a thousand times as strong", holds=_signs(1000))],
            region=PROBLEM,
            variants=("printed",),
        )
        for claim, points in (("theorem-4", _sign_points), ("theorem-4-dp", _sign_points_dp))
    ),
)
