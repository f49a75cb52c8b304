"""The abstract's algorithm is to be private with the noise of its box: the r nodes alone, at Theorem 9's parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from dpverify.harness import Outcome, PaperChecks, Planted, Point, TrueNeighbour
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.harness.witnesses import Witness, shown_by
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.sr_sides import second_step_delta
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tran2022", __name__)

# epsilon is T^(3/4) sqrt(d)/N^(7/4) and eta is 1/sqrt(N T), as Theorem 9 ties them to T
RUNS: tuple[Mapping[str, int | Fraction | str], ...] = (
    {"N": 2, "T": 2, "d": 1, "L": 1400, "epsilon": Fraction(1, 2), "delta": Fraction(1, 10**5)},
    {"N": 1000, "T": 1000, "d": 10**6, "L": 5 * 10**5, "epsilon": 1, "delta": Fraction(1, 10**6)},
)
G = Fraction(10**6)
R = Fraction(10**3)


def _eta(point: Point) -> Fraction:
    """Theorem 9's step length at N T = k^2."""
    return Fraction(1, math.isqrt(int(point["N"] * point["T"])))


def _bent(point: Point) -> Witness:
    return witnesses.bent(point, _eta(point))


MEETS = {
    **shown_by(_bent, "losses of which one bends up or down with L as far as one step goes"),
    "update-of-algorithm-2": witnesses.WHATEVER_THE_NOISE,
}


def _private(point: Point, statement: Statement, scale: int = 1) -> Outcome:
    """The exact delta of one node, whatever the noise does to the path, against delta; ``scale`` divides L."""
    box = statement.siblings["theorem-8-dp"].statement(statement.reading)
    root = (1 / ball(point["delta"])).log().sqrt()
    sigma = Fraction(float((4 * root / ball(point["epsilon"])).upper()))
    parameters = {"alpha": 1 / point["N"], "G": G, "eta": _eta(point), "sigma": sigma}
    exact = second_step_delta({**point, **parameters, "L": point["L"] / scale}, box)
    return Outcome(
        bool(ball(exact) <= ball(point["delta"])), exact, point["delta"], "exact delta, and the delta asked for"
    )


CHECKS.add(
    RuleCheck(
        "abstract-rate",
        "privacy",
        points=lambda _: [{**run, "G": G, "R": R} for run in RUNS],
        holds=_private,
        meets=MEETS,
        planted=[Planted("L divided by 10", holds=partial(_private, scale=10), at_declared_size=True)],
        neighbours=[TrueNeighbour("L divided by a million", holds=partial(_private, scale=10**6))],
        variants=("printed",),
        region="two runs with the parameters of Theorem 9 and the sigma of Theorem 8",
        leaves_out="other runs; epsilon as an outcome of all three families of nodes together",
        seconds=1.0,
    )
)
