"""Check the rates of Theorems 6 and 9 and the statements about them in the abstract and section 1.

The checks are comparisons of orders (``exponents_check``), a walk uphill, and the privacy that the abstract states.
The privacy check uses the noise of the box and only the r nodes, at Theorem 9's parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    TrueNeighbour,
)
from dpverify.harness.admissible import LineLoss, Witness, witness_properties
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.sides import second_step_delta
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import squared_decay_sum
from dpverify.papers.tran2022.utility import theorem_bounds
from dpverify.papers.tran2022.utility.checks.exponents_check import exponents
from dpverify.symbolic.exact.evaluate import definitions, evaluate_statement
from dpverify.symbolic.exact.numbers import ball, to_ball, to_value

CHECKS = PaperChecks("tran2022", __name__)


def _walk(point: Point) -> Witness:
    """Return the walk's three losses: linear down to 1 below the start, then flattening as fast as L = 1 allows."""
    unit = Fraction(1)
    big, small = (
        LineLoss(((-unit - abs(slope), 0 * slope), (-unit, slope)))
        for slope in (theorem_bounds.BIG, theorem_bounds.SMALL)
    )
    return Witness({big: 1, small: theorem_bounds.EXAMPLES - 1})


UPHILL = {
    **witness_properties(
        _walk, "losses of a walk uphill, which flatten below the start"
    ),
    "neighbour-replace-one": Property(
        "the rate is one of a single data set, to which no neighbour is compared"
    ),
    "update-of-algorithm-1": Property(
        "the signs of the momentum are those of Algorithm 1 in every order"
    ),
    "update-of-algorithm-2": Property(
        "the signs of the momentum are those of Algorithm 2 in the one order"
    ),
}


def _far(budget: Budget) -> Iterable[dict[str, int | Fraction]]:
    """Yield N = n, d = n^2 and epsilon = 1/sqrt(n) or 1, so that T is n^(1/3) or n in Theorem 9."""
    fixed = {"delta": Fraction(1, 10**6), "G": 1, "L": 1, "R": 1}
    for k in (10, 20, 40, 80, 160, 320, 640):
        n = 2 ** (6 * k)
        yield from (
            {"N": n, "d": n**2, "epsilon": epsilon, **fixed}
            for epsilon in (Fraction(1, 2 ** (3 * k)), 1)
        )


def _sequence(
    point: Point, statement: Statement, slower: Fraction = Fraction(0)
) -> Outcome:
    """Compare Theorem 9's bound as printed, at G = L = R = 1, with its rate."""
    steps = definitions(statement, point, precision=1024)["T"]
    if not isinstance(steps, Fraction) or steps.denominator != 1:
        raise ValueError(f"T must be whole at {dict(point)}, got {steps}.")
    bound, rate = evaluate_statement(statement, point)
    if bound is None:
        raise ValueError(f"{statement.key} must have a formula on its left.")
    at = {"T": steps, "delta": point["delta"]}
    return _at_most_rate(
        ball(bound), _largest_rate(at, ball(rate), slower), "Theorem 9's bound"
    )


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Return N = 3 and growing T, and thereby growing epsilon."""
    return (
        {"N": 3, "T": 2**k, "delta": Fraction(1, 10**6)}
        for k in (20, 40, 80, 160, 320, 640, 1280)
    )


def _largest_rate(point: Point, rate: arb, slower: Fraction) -> arb:
    """Return the largest O~(rate): 10^6 and the tenth power of every logarithm; ``slower`` plants a power of T."""
    steps = arb(int(point["T"]))
    delta = to_ball(to_value(point["delta"]))
    return (
        10**6
        * (steps.log() * (1 / delta).log()) ** 10
        * rate
        * steps ** to_ball(to_value(slower))
    )


def _uphill_1(
    point: Point, statement: Statement, slower: Fraction = Fraction(0)
) -> Outcome:
    """Test Algorithm 1 with fresh permutations against d^(1/4)/sqrt(epsilon N)."""
    steps = int(point["T"])
    left = theorem_bounds.uphill_bound(
        "fresh", steps, theorem_bounds.noise_variance_1(steps)
    )
    log_steps = arb(steps).log() / arb(2).log()
    log_delta = (1 / to_ball(to_value(point["delta"]))).log()
    rate = (arb(3) / steps).sqrt() / (log_steps.sqrt() * log_delta.sqrt().sqrt())
    return _at_most_rate(left, _largest_rate(point, rate, slower))


def _uphill_2(
    point: Point, statement: Statement, slower: Fraction = Fraction(0)
) -> Outcome:
    """Test Algorithm 2 with one permutation against d^(1/3)/(epsilon N)^(2/3)."""
    steps = int(point["T"])
    left = theorem_bounds.uphill_bound(
        "once",
        steps,
        theorem_bounds.noise_variance_2(steps, Fraction(1), point["delta"]),
    )
    return _at_most_rate(left, _largest_rate(point, (arb(3) / steps).sqrt(), slower))


def _at_most_rate(
    left: arb, right: arb, what: str = "gradient that is left at least"
) -> Outcome:
    note = f"{what}; right side: the rate times 10^6 and the tenth power of every logarithm"
    return Outcome(not left > right, left, right, note=note)


def _noise(point: Point, statement: Statement, excess: int = 1) -> Outcome:
    """Test the standard deviation of a coordinate of Algorithm 1's noise, G = 1, against sqrt(T)/(epsilon sqrt(N))."""
    n = int(point["N"])
    steps = int(point["T"])
    alpha = Fraction(1, n)
    depth = steps.bit_length()
    low = n.bit_length() - 1
    v = (min(depth, low) + 1) * Fraction(steps, n) + sum(
        steps >> j for j in range(low + 1, depth + 1)
    )
    worst = max(
        to_ball(to_value(squared_decay_sum(t, alpha)))
        for t in (steps, 2 ** (depth - 1), 2**depth // 2 - 1 or 1)
    )
    # In units of G sqrt(log(1/delta))/epsilon, per coordinate. alpha = 1 is the largest
    # possible weight.
    left = excess * 8 * (to_ball(to_value(v)) * worst).sqrt()
    right = 16 * (arb(2 * steps).log() / arb(2).log()) * (arb(steps) / n).sqrt()
    return Outcome(
        bool(left <= right),
        left,
        right,
        note="without the factor alpha, in every coordinate",
    )


def _sizes(budget: Budget) -> Iterable[dict[str, int]]:
    top = {"smoke": 6, "standard": 9, "full": 12}[budget.name]
    return (
        {"N": n, "T": steps}
        for n in (1, *(3 * 4**k - 1 for k in range(top)))
        for steps in (1, 3, n, 4 * n - 1, 16 * n + 1, 2**14 - 1)
    )


CHECKS.add(
    exponents("theorem-6-rate"),
    exponents("theorem-9-rate"),
    exponents("abstract-improvement"),
    RuleCheck(
        "theorem-9-rate",
        "sequence",
        points=_far,
        is_satisfied=_sequence,
        planted=[
            Planted(
                "a rate faster by sqrt(T)",
                is_satisfied=partial(_sequence, slower=Fraction(-1, 2)),
                at_declared_size=True,
            )
        ],
        region="N = n, d = n^2, epsilon = 1/sqrt(n) and 1, up to n = 2^3840; those that meet the conditions",
        leaves_out="other delta than 10^-6, and G, L, R other than 1",
    ),
    *(
        RuleCheck(
            claim,
            "uphill",
            points=_runs,
            is_satisfied=is_satisfied,
            meets=UPHILL,
            planted=[
                Planted(
                    "a rate slower by T^(1/4)",
                    is_satisfied=partial(is_satisfied, slower=Fraction(1, 4)),
                    at_declared_size=True,
                )
            ],
            variants=("printed",),
            readings=readings,
            region=f"N = 3, d = 1, {region}",
        )
        for claim, is_satisfied, region, readings in (
            ("section-1-rate", _uphill_1, "epsilon growing with T", {}),
            (
                "abstract-rate",
                _uphill_2,
                "one permutation, epsilon growing with T",
                {"ordering": "once"},
            ),
        )
    ),
    RuleCheck(
        "section-1-noise",
        "exact-laws",
        points=_sizes,
        is_satisfied=_noise,
        planted=[
            Planted(
                "noise 20 times larger",
                is_satisfied=lambda p, st: _noise(p, st, 20),
                at_declared_size=True,
            )
        ],
        region="N and T from 1 on, T below, at and above N; alpha = 1/N in the decay, and no factor alpha in front",
        leaves_out="sizes in between; the norm, which has a factor sqrt(d)",
    ),
)


# epsilon is T^(3/4) sqrt(d)/N^(7/4) and eta is 1/sqrt(N T), as Theorem 9 ties them to T
RUNS: tuple[Mapping[str, int | Fraction | str], ...] = (
    {
        "N": 2,
        "T": 2,
        "d": 1,
        "L": 1400,
        "epsilon": Fraction(1, 2),
        "delta": Fraction(1, 10**5),
    },
    {
        "N": 1000,
        "T": 1000,
        "d": 10**6,
        "L": 5 * 10**5,
        "epsilon": 1,
        "delta": Fraction(1, 10**6),
    },
)
G = Fraction(10**6)
R = Fraction(10**3)


def _eta(point: Point) -> Fraction:
    """Return Theorem 9's step length where N T is a square."""
    return Fraction(1, math.isqrt(int(point["N"] * point["T"])))


def _bent(point: Point) -> Witness:
    return witnesses.bent(point, _eta(point))


MEETS = {
    **witness_properties(
        _bent, "losses of which one bends up or down with L as far as one step goes"
    ),
    "update-of-algorithm-2": witnesses.WHATEVER_THE_NOISE,
}


def _private(point: Point, statement: Statement, scale: int = 1) -> Outcome:
    """Test the exact delta of one node, valid for every path that the noise causes; ``scale`` divides L."""
    box = statement.siblings["theorem-8-dp"].statement(statement.reading)
    root = (1 / ball(point["delta"])).log().sqrt()
    sigma = Fraction(float((4 * root / ball(point["epsilon"])).upper()))
    parameters = {"alpha": 1 / point["N"], "G": G, "eta": _eta(point), "sigma": sigma}
    exact = second_step_delta({**point, **parameters, "L": point["L"] / scale}, box)
    return Outcome(
        bool(ball(exact) <= ball(point["delta"])),
        exact,
        point["delta"],
        "exact delta, and the delta asked for",
    )


CHECKS.add(
    RuleCheck(
        "abstract-rate",
        "privacy",
        points=lambda _: [{**run, "G": G, "R": R} for run in RUNS],
        is_satisfied=_private,
        meets=MEETS,
        planted=[
            Planted(
                "L divided by 10",
                is_satisfied=partial(_private, scale=10),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour(
                "L divided by a million", is_satisfied=partial(_private, scale=10**6)
            )
        ],
        variants=("printed",),
        region="two runs with the parameters of Theorem 9 and the sigma of Theorem 8",
        leaves_out="other runs; epsilon as an outcome of all three families of nodes together",
        seconds=1.0,
    )
)
