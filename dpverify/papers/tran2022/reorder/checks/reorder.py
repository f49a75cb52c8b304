"""Check the effect of fresh permutations on Algorithm 4's momentum: exact sizes, kernels, and runs without noise.

The simulations and the runs are in ``reorder_runs``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any, cast

from dpverify.harness import (
    Budget,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    TrueNeighbour,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.reorder import reorder_bias_bounds as bias
from dpverify.papers.tran2022.reorder.checks.reorder_runs import (
    FRESH_ORDERS,
    GAMMA_OFF,
    ONE_ORDER,
    law,
    whole_runs,
)
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.evaluate import decide, to_number
from dpverify.symbolic.exact.numbers import to_ball, to_value

CHECKS = PaperChecks("tran2022", __name__)


def _sizes(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield N, T, alpha and gamma, with alpha >= 1/N and T >= 2N - 1."""
    large = {"smoke": (33,), "standard": (33, 100), "full": (33, 100, 256)}[budget.name]
    for n in (2, 3, 8, *large):
        for alpha in (Fraction(1, n), Fraction(min(3, n), n), Fraction(1)):
            for gamma in (Fraction(1, 2), Fraction(1, 16), Fraction(1, 400)):
                for steps in (2 * n - 1, 2 * n, 3 * n + n // 2, 40 * n + 1):
                    yield {"N": n, "T": steps, "alpha": alpha, "gamma": gamma}


def _is_exact(
    point: Point, statement: Statement, size: Fraction = Fraction(0)
) -> Outcome:
    """Test Lemma 17 for gradients +-1: the mean square of alpha times the difference of its sides should be 0."""
    n = int(point["N"])
    t = int(point["T"])
    square = bias.mean_square(
        "difference",
        t,
        n,
        point["alpha"],
        point["gamma"],
        bias.constant_spread(Fraction(1)),
    )
    exact = decide(square, "=", size)
    note = (
        "mean square over all orders of alpha times the difference of the two sides, "
        "gradients of mean 0 and length 1"
    )
    return Outcome(exact, square, size, note)


def _within(
    point: Point, statement: Statement, part: Fraction = Fraction(1)
) -> Outcome:
    """Test exact mean squares of both sums against the corrected lemma, for gradients that stay and that flip."""
    n = int(point["N"])
    t = int(point["T"])
    alpha = point["alpha"]
    gamma = point["gamma"]
    sums: tuple[bias.Sum, ...] = ("difference", "estimate")
    for quantity in sums:
        for spreads, change in (
            (bias.constant_spread(Fraction(1)), Fraction(0)),
            (bias.alternating_spread(Fraction(2)), Fraction(2)),
        ):
            square = bias.mean_square(quantity, t, n, alpha, gamma, spreads)
            bound = to_ball(to_value(part)) * bias.simple_bound(
                quantity, alpha, gamma, Fraction(1), change
            )
            if decide(square, "<=", bound**2) is not True:
                return Outcome(
                    False, square, bound**2, note=f"the {quantity}, change {change}"
                )
    return Outcome(True)


def _figure(_: Context) -> dict[str, dict[str, list[float]]]:
    """Return the root mean square of m_hat_t - m_t over gamma, for three alpha, in a run of 400 epochs and a third."""
    n = 64
    epochs = 400
    gammas = [Fraction(1, round(1.5**k)) for k in range(1, 12)]
    rows = [(Fraction(c, n), gamma) for c in (1, 4, 16) for gamma in gammas]
    t = epochs * n + n // 3

    def root(
        quantity: bias.Sum, alpha: Fraction, gamma: Fraction, change: int
    ) -> float:
        spreads = (
            bias.alternating_spread(Fraction(change))
            if change
            else bias.constant_spread(Fraction(1))
        )
        return math.sqrt(
            float(
                to_number(bias.mean_square(quantity, t, n, alpha, gamma, spreads)).float
            )
        )

    return {
        "identity-error": {
            "x": [float(gamma) for _, gamma in rows],
            "alpha": [float(alpha) for alpha, _ in rows],
            "fixed": [root("difference", alpha, gamma, 0) for alpha, gamma in rows],
            "moving": [root("difference", alpha, gamma, 2) for alpha, gamma in rows],
            "estimate": [root("estimate", alpha, gamma, 0) for alpha, gamma in rows],
            "at:N": [float(n)],
            "at:t": [float(t)],
        }
    }


def _pairs(_: Budget) -> Iterable[dict[str, int]]:
    """Return steps i < j of different epochs."""
    pairs = (
        (n, i, j)
        for n in (2, 3, 5)
        for j in range(n + 1, 3 * n + 1)
        for i in range(1, j)
    )
    return (
        {"N": n, "i": i, "j": j} for n, i, j in pairs if (i - 1) // n < (j - 1) // n
    )


def _uncorrelated(
    point: Point, statement: Statement, ordering: Ordering | None = None
) -> Outcome:
    """Test whether sampling errors of two steps are uncorrelated, for gradients of length 1 that do not depend on w."""
    under = ordering or cast(Ordering, statement.reading["ordering"])
    term = bias.cross_term(
        int(point["i"]), int(point["j"]), int(point["N"]), under, Fraction(1)
    )
    return Outcome(
        term == 0, term, Fraction(0), "gradients that do not depend on w, mean square 1"
    )


CHECKS.add(
    RuleCheck(
        "lemma-11-cross-epochs",
        "linear-losses",
        points=_pairs,
        is_satisfied=_uncorrelated,
        meets={
            "update-of-algorithm-1": Property(
                "linear losses, whose gradients are the same at all iterates"
            )
        },
        planted=[
            Planted(
                "one permutation",
                is_satisfied=partial(_uncorrelated, ordering="once"),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour(
                "fresh permutations",
                is_satisfied=partial(_uncorrelated, ordering="fresh"),
            )
        ],
        region="losses whose gradients do not depend on w",
        interior=lambda p: p["N"] >= 3 and p["i"] >= 2,
    ),
    RuleCheck(
        "lemma-17",
        "size",
        points=_sizes,
        is_satisfied=_is_exact,
        readings={"ordering": "fresh"},
        variants=("printed",),
        planted=[
            Planted(
                "the size taken for 1",
                is_satisfied=partial(_is_exact, size=Fraction(1)),
                at_declared_size=True,
            )
        ],
        interior=lambda p: p["N"] >= 3 and p["T"] % p["N"] != 0 and p["alpha"] < 1,
        figures=_figure,
        seconds=1.5,
    ),
    RuleCheck(
        "algorithm-4-output",
        "corrected-lemma",
        points=_sizes,
        is_satisfied=_within,
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[
            Planted(
                "the bound times 2/5",
                is_satisfied=lambda p, s: _within(p, s, Fraction(2, 5)),
                at_declared_size=True,
            )
        ],
        region="E|.|^2 of both sums against the squares of the bounds; gradients that stay and that go back and forth",
    ),
    law("difference-law", "difference"),
    law("estimate-law", "estimate"),
)

CHECKS.add(
    whole_runs("once", ("amended",), FRESH_ORDERS),
    whole_runs("fresh", ("amended",), GAMMA_OFF, ONE_ORDER),
)
