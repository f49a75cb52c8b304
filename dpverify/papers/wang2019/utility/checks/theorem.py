"""Check Theorems 4.4 and 5.2, printed and corrected, and the lines of their proofs.

The printed theorems are tested against their own conditions, the corrected ones with the statements that they use.
Section 4.1 and the lines of B.2 are formulas: the domain of each is searched, and proofs.toml has their proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from flint import arb

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import definitions, evaluate_statement
from dpverify.symbolic.exact.numbers import Exact, ball, working_precision

CHECKS = PaperChecks("wang2019", __name__)

MILLION = 10**6
MEETS = {
    "lipschitz": Property(
        "a slope of at most G, which the start, where it is sqrt(2 L gap), does not reach",
        lambda point: 2 * point["L"] * point["gap"] < point["G"] ** 2,
    ),
    "smooth": Property(
        "the loss is L x^2/2 up to the slope G and linear beyond, so its slope changes by at most L"
    ),
    "update-of-algorithm-1": Property("the run is that of Algorithm 1"),
    "update-of-algorithm-2": Property("the run is that of Algorithm 2"),
    "subsampled-without-replacement": Property(
        "all examples have one loss, so every sample gives the same gradients"
    ),
    "independent-noise": Property(
        "the noise of each step is drawn anew, independent of all else"
    ),
}
"""Properties of the problem in which noise drowns one slope."""

TOGETHER = (
    "theorem-4-4",
    "table-1-dp-srm-utility",
    "abstract-utility",
    "section-1-utility",
    "remark-4-5-utility",
)
BY_PARTY = ("theorem-5-2", "table-1-distributed-utility", "section-5-2-rate")
"""Theorems 4.4 and 5.2, each with the table cells and sentences that state the same rate."""

DROWNED: list[dict[str, Any]] = [
    {
        "n": 10**n,
        "d": 10**d,
        "beta": Fraction(1, 10**d),
        "G": G,
        "L": L,
        "gap": gap,
        "epsilon": epsilon,
        "delta": "1/1000",
    }
    for n, d, G, L, gap, epsilon in ((45, 56, 2, 1, 1, 1), (47, 58, 5, 3, 3, 3))
]


def _noise_dominates(
    point: Point, statement: Statement, *, times: Fraction = Fraction(1)
) -> Outcome:
    """Compare the least gradient that remains where noise drowns one slope with a million times the rate.

    All examples have the same loss of the first coordinate, L x^2/2 as far as its slope is at most G. A step moves the
    coordinate by at most zeta/L times (G + |e_1|)/|e'|, where e' is the noise of the other coordinates and e_1 that of
    the first: normal, independent, with a common deviation of at least sigma. E 1/|e'| is at most 1/(sigma
    sqrt(d - 3)).
    """
    values = {
        name: ball(value)
        for name, value in definitions(statement, point, precision=512).items()
    }
    start = (2 * ball(point["L"] * point["gap"])).sqrt()
    if not start < ball(point["G"]):
        raise ValueError(
            f"the start must lie where the loss is a parabola, got {dict(point)}."
        )
    least = values["variance"].min(values["variance_0"]).sqrt()
    distance = (
        ball(point["T"])
        * values["zeta"]
        * (ball(point["G"]) / least + 1)
        / (arb(int(point["d"]) - 3)).sqrt()
    )
    limit = MILLION * ball(times) * ball(evaluate_statement(statement, point)[1])
    return Outcome(
        not start - distance > limit,
        start - distance,
        limit,
        "right side: a million times what is printed",
    )


def _with_choices(point: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the point with the printed choices for n examples, rounded up: T = 4 L D_F/zeta^2, b and b_0."""
    with working_precision(512):
        G = ball(point["G"])
        drop = ball(point["L"] * point["gap"])
        scale = (drop * point["d"] * (1 / ball(Fraction(point["delta"]))).log()).sqrt()
        square = G * scale / (ball(n) * ball(point["epsilon"]))
        choices = {
            "T": 4 * drop / square,
            "b": G**2 / square.sqrt(),
            "b_0": G**2 / (square * drop),
        }
        return {
            **point,
            **{
                name: int(value.ceil().unique_fmpz()) for name, value in choices.items()
            },
        }


def _together(budget: Budget) -> Iterator[dict[str, Any]]:
    yield from (_with_choices(point, point["n"]) for point in DROWNED)


def _by_party(budget: Budget) -> Iterator[dict[str, Any]]:
    for point in DROWNED:
        values = {name: value for name, value in point.items() if name != "n"}
        party_point = {
            **values,
            "m": 10,
            "n_party": point["n"] // 10,
            "beta": point["beta"] / 10**34,
        }
        yield _with_choices(party_point, point["n"])


CHECKS.add(
    *(
        RuleCheck(
            claim,
            "drowned",
            points=points,
            is_satisfied=_noise_dominates,
            planted=[
                Planted(
                    "a tenth of the rate",
                    is_satisfied=partial(_noise_dominates, times=Fraction(1, 10)),
                    at_declared_size=True,
                )
            ],
            neighbours=[
                TrueNeighbour(
                    "10^30 times the rate",
                    is_satisfied=partial(_noise_dominates, times=Fraction(10**30)),
                )
            ],
            meets=MEETS,
            variants=("printed",),
            region="two problems in many dimensions, beta so small that the conditions of Theorem 4.1 or 5.1 hold",
        )
        for claim, points in (
            *((restated, _together) for restated in TOGETHER),
            *((restated, _by_party) for restated in BY_PARTY),
        )
    ),
)


def _samples(budget: Budget) -> Iterator[dict[str, Any]]:
    for n in range(2, {"smoke": 7, "standard": 10, "full": 13}[budget.name]):
        yield from (
            {"n": n, "b": b, "shape": shape} for b in range(1, n) for shape in range(3)
        )


def _sampled_mean_square(point: Point, statement: Statement) -> Exact:
    """Return the exact average over all subsets, for numbers of sum 0: equal steps, one against all, or halves."""
    del statement
    n = int(point["n"])
    b = int(point["b"])
    raw = ([*range(n)], [1] + [0] * (n - 1), [i % 2 for i in range(n)])[
        int(point["shape"])
    ]
    values = [Fraction(value) - Fraction(sum(raw), n) for value in raw]
    sums = [
        sum((values[i] for i in chosen), Fraction(0))
        for chosen in combinations(range(n), b)
    ]
    square = sum((value * value for value in values), Fraction(0)) / n
    return sum((subset_sum * subset_sum for subset_sum in sums), Fraction(0)) / (
        len(sums) * b * b * square
    )


CHECKS.add(
    *(
        SearchCheck(claim, "search")
        for claim in (
            "equation-4-1",
            "section-4-1-gradients",
            "section-4-1-step",
            "theorem-4-4-iterations",
            "theorem-4-4-batches",
            "equation-b-4-step",
            "theorem-4-4-smooth",
            "theorem-4-4-descent",
            "theorem-4-4-half-step",
            "theorem-4-4-step-square",
            "theorem-4-4-step-tangent",
            "equation-b-9",
            "equation-b-10",
            "theorem-4-4-combined",
            "equation-b-15",
            "equation-b-16",
            "equation-b-19",
            "theorem-4-1-b-0",
            "equation-b-8",
            "equation-b-19-later",
            "equation-b-18",
            "theorem-4-4-normalization",
        )
    ),
    ExhaustiveCheck("lemma-d-1", "subsets", points=_samples, lhs=_sampled_mean_square),
)
