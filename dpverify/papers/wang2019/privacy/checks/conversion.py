"""From Renyi to (epsilon, delta), and composition: Lemmas 3.9 and B.1."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpverify.harness import Budget, ExhaustiveCheck, Outcome, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.subsampling_bounds import composed_moment
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.two_point import near_worst_laws, two_point_delta
from dpverify.symbolic.exact.numbers import Exact, ball
from dpverify.symbolic.exact.statements import definitions

CHECKS = PaperChecks("wang2019", __name__)

LAWS = tuple(Fraction(text) for text in ("1/100", "1/5", "1/2", "9/10"))


def _gaussian_delta(point: Point, statement: Statement) -> Exact:
    """Exact delta of the Gaussian mechanism whose divergence of order alpha is rho."""
    if point["rho"] == 0:
        return Fraction(0)
    mu = (2 * ball(point["rho"]) / ball(point["alpha"])).sqrt()
    return delta_ball(mu, ball(definitions(statement, point)["epsilon"]))


def _laws(budget: Budget) -> Iterator[dict[str, Fraction]]:
    for order, rho, delta, p, q in near_worst_laws():
        yield {"alpha": order, "rho": rho, "delta": delta, "p": p, "q": q}


def _law_delta(point: Point, statement: Statement) -> Exact:
    epsilon = ball(definitions(statement, point)["epsilon"])
    return two_point_delta(point["p"], point["q"], epsilon)


def _compositions(budget: Budget) -> Iterator[dict[str, Fraction]]:
    orders = (2, 5) if budget.name == "smoke" else (2, 3, 5, 20)
    pairs = [(p, q) for p in LAWS for q in LAWS]
    for order in orders:
        for p, q in pairs:
            for p1, q1 in pairs[::3]:
                for p2, q2 in pairs[::5]:
                    yield {"order": Fraction(order), "p": p, "q": q, "p1": p1, "q1": q1, "p2": p2, "q2": q2}


def _composed(*, worst: bool) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        second = [(point["p1"], point["q1"]), (point["p2"], point["q2"])]
        joint, (first_moment, *conditional_moments) = composed_moment(
            int(point["order"]), (point["p"], point["q"]), second
        )
        bound = first_moment * (max(conditional_moments) if worst else min(conditional_moments))
        return Outcome(joint <= bound, joint, bound, "moments: exp((alpha - 1) times the divergence)")

    return holds


CHECKS.add(
    SearchCheck("lemma-3-9", "search", lhs=_gaussian_delta, leaves_out="Gaussian mechanisms only"),
    ExhaustiveCheck(
        "lemma-3-9", "two-point-laws", points=_laws, lhs=_law_delta, region="two-point laws near the worst ones"
    ),
    ExhaustiveCheck(
        "lemma-b-1",
        "two-outcomes",
        points=_compositions,
        holds=_composed(worst=True),
        planted=[Planted("the milder of the two second steps", holds=_composed(worst=False))],
        region="two adaptive steps with two outcomes each, exact",
    ),
)
