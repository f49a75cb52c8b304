"""Section 4's sizes of the noise, for the first two epochs and for the others: what one step's release needs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.trees.aggregation_bounds import gaussian_delta
from dpverify.symbolic.exact.numbers import ball, to_exact

CHECKS = PaperChecks("tran2022", __name__)

HIDDEN = 10**6  # What O~ may hide in the printed noise; O(epsilon) and O(delta) hide the factor LOOSER
LOOSER = 100
ENOUGH = 4  # The factor that is enough for one release in the corrected statement, times sqrt(2 log(1.25/delta))


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """A third epoch's last step, t = 3N; gamma = eta N first, then smaller and smaller."""
    for n in (2, 3, 64):
        for rate in (Fraction(1, 4), Fraction(1, 1000)):
            for k in (0, 3, 6, 9, 12):
                gamma = Fraction(rate, 10**k)
                base = {"N": n, "T": 4 * n, "t": 3 * n, "eta": Fraction(rate, n), "gamma": gamma}
                yield {**base, "alpha": Fraction(1, n), "epsilon": Fraction(1, 2), "delta": Fraction(1, 10**6)}


def _one_release(point: Point, statement: Statement) -> Outcome:
    """Whether m-hat_{3N} alone may be released; everything before it, and the nodes that it shares, is given."""
    return _decided(point, statement, ENOUGH)


def _decided(point: Point, statement: Statement, enough: Fraction | int) -> Outcome:
    """G = L = 1. A point drawn at step 3N moves Delta by 2 eta N, and m-hat by alpha (1-gamma) times that, or more."""
    ratio = (ball(point["T"] / point["N"])).sqrt() / ball(point["epsilon"])
    eta_n, gamma, alpha = point["eta"] * point["N"], point["gamma"], point["alpha"]
    epsilon, delta = ball(point["epsilon"]), ball(point["delta"])
    if statement.variant == "printed":
        noise = HIDDEN * ball(gamma) * ratio
        shift, epsilon, delta = ball(2 * alpha * (1 - gamma) * eta_n), LOOSER * epsilon, LOOSER * delta
    else:
        hidden = ball(Fraction(enough)) * (2 * (ball(Fraction(5, 4)) / delta).log()).sqrt()
        noise = hidden * ball(alpha * (gamma + eta_n)) * ratio
        shift = ball(2 * alpha * ((1 - gamma) * eta_n + gamma + eta_n))
    found = gaussian_delta(shift / noise, epsilon)
    note = "delta that one release needs, and the delta that there is"
    return Outcome(bool(found <= delta), to_exact(found), to_exact(delta), note=note)


CHECKS.add(
    RuleCheck(
        "section-4-noise-two-cases",
        "one-release",
        points=_runs,
        holds=_one_release,
        interior=lambda point: point["N"] == 64 and point["eta"] == Fraction(1, 256),
        planted=[
            Planted(
                "noise 1000 times smaller",
                holds=lambda point, statement: _decided(point, statement, Fraction(1, 250)),
                at_declared_size=True,
            )
        ],
        region="t = 3N, T = 4N, N = 2, 3, 64, alpha = 1/N, gamma from eta N down to 10^-12 eta N; G = L = 1",
        leaves_out="all other steps, and their composition: that is Theorem 8",
    )
)
