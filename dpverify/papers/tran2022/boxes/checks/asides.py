"""Checks of minor claims: the noise scales of the boxes, the nodes of a partial sum, two sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
    SearchCheck,
    of_variant,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.scales import printed_v
from dpverify.papers.tran2022.momentum.permutation_bounds import (
    attained_fresh,
    attained_once,
    largest_once,
)
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import count_nodes

CHECKS = PaperChecks("tran2022", __name__)

Rule = Callable[[Point, Statement], Outcome]

G = Fraction(1)
# Constant of an O(.); a claim that fails with it
# fails with every other, for small enough eta
CONSTANT = 1000


def _scales(budget: Budget) -> Iterable[dict[str, Any]]:
    size_limit = {"smoke": 8, "standard": 24, "full": 60}[budget.name]
    for n in range(1, size_limit):
        for steps in (1, n, 2 * n + 1, 7 * n):
            for depth in {steps.bit_length(), steps.bit_length() - 1}:
                yield {
                    "N": n,
                    "T": steps,
                    "depth": depth,
                    "alpha": Fraction(1, n),
                    "G": 3,
                    "sigma": Fraction(2, 7),
                }


def _box_variance(point: Point, statement: Statement) -> Fraction:
    """Return the square of 4 alpha G sigma sqrt(V): the sensitivity of the proof of Theorem 4 times sigma sqrt(V)."""
    v = printed_v(int(point["N"]), int(point["T"]), int(point["depth"]))
    return (4 * point["alpha"] * point["G"] * point["sigma"]) ** 2 * v


def _ratios(_: Budget) -> Iterable[dict[str, Any]]:
    values = (Fraction(1, 100), Fraction(1), Fraction(17, 3))
    return (
        {"query_sensitivity": distance, "rho": rho}
        for distance in values
        for rho in values
    )


def _variance_for_divergence(point: Point, statement: Statement) -> Fraction:
    """Return the variance v for which a Gaussian's divergence of order z = 2, z moved^2/(2 v), is z rho^2/2."""
    return 2 * point["query_sensitivity"] ** 2 / (2 * (2 * point["rho"] ** 2 / 2))


def _full_batches(budget: Budget) -> Iterable[dict[str, Any]]:
    size_limit = {"smoke": 40, "standard": 400, "full": 2000}[budget.name]
    etas = (Fraction(1), Fraction(1, 1024))
    return (
        {"N": n, "eta": eta, "L": smooth}
        for smooth in (5, 0)
        for n in range(1, size_limit)
        for eta in etas
    )


def _full_batch(constant: int) -> Rule:
    """Return a rule that compares 2 L eta/N with ``constant`` times L eta/N.

    2 L eta is the largest change, between neighbours, of one example's gradient difference over a step.
    """

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        distance = 2 * point["L"] * point["eta"] / point["N"]
        allowed = constant * point["L"] * point["eta"] / point["N"]
        return Outcome(distance <= allowed, distance, allowed)

    return is_satisfied


def _differences(budget: Budget) -> Iterable[dict[str, Any]]:
    epochs = {"smoke": 3, "standard": 9, "full": 17}[budget.name]
    for smooth in (1, 0):
        for n in range(1, 9):
            for t in range(n + 1, epochs * n + 1):
                for eta in (Fraction(1, 4), Fraction(1, 2**30)):
                    yield {
                        "N": n,
                        "t": t,
                        "q": t // n,
                        "alpha": Fraction(1, n),
                        "eta": eta,
                        "L": smooth,
                        "G": G,
                    }
    yield {
        "N": 1000,
        "t": 2000,
        "q": 2,
        "alpha": Fraction(1, 1000),
        "eta": Fraction(1, 2**30),
        "L": 1,
        "G": G,
    }


def _scales_with_distance(point: Point, statement: Statement) -> Outcome:
    """Compare a sensitivity that is attained for every eta with the printed alpha eta N L times CONSTANT."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    if statement.reading["ordering"] == "once":
        distance = attained_once(t, n, alpha, point["G"])
    else:
        distance = (
            attained_fresh(t, n, alpha, point["G"]) if t % n == 0 else Fraction(0)
        )
    allowed = CONSTANT * alpha * point["eta"] * n * point["L"]
    return Outcome(distance <= allowed, distance, allowed)


def _corrected_once(point: Point, *, first: int) -> Outcome:
    """Test the bound 2 alpha eta N L/(1 - (1-alpha)^N) + 2 alpha G (1-alpha)^(t-N); ``first`` 0 omits the last term."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    drift = 2 * point["L"] * point["eta"] * n
    distance = largest_once(t, n, alpha, point["G"], drift)
    allowed = alpha * (
        drift / (1 - (1 - alpha) ** n) + first * 2 * point["G"] * (1 - alpha) ** (t - n)
    )
    return Outcome(distance <= allowed, distance, allowed)


def _corrected_fresh(point: Point, *, late: int) -> Outcome:
    """Test the lower bound 2 alpha G (1 - (1-alpha)^(N-1)) at the ends of epochs; ``late`` adds steps of decay."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    distance = attained_fresh(t, n, alpha, point["G"])
    lower_bound = 2 * alpha * point["G"] * (1 - (1 - alpha) ** (n - 1 + late))
    return Outcome(distance >= lower_bound, distance, lower_bound)


def _corrected(
    point: Point, statement: Statement, *, first: int = 1, late: int = 0
) -> Outcome:
    """Test the correction for the reading's order; faults: ``first`` 0 omits the first visit, ``late`` adds steps."""
    once = statement.reading["ordering"] == "once"
    return (
        _corrected_once(point, first=first)
        if once
        else _corrected_fresh(point, late=late)
    )


FAULTY = partial(_corrected, first=0, late=1)

CHECKS.add(
    ExhaustiveCheck(
        "algorithm-1-noise-std",
        "square",
        points=_scales,
        lhs=_box_variance,
    ),
    ExhaustiveCheck(
        "algorithm-5-noise-std",
        "divergence",
        points=_ratios,
        lhs=_variance_for_divergence,
    ),
    SearchCheck(
        "section-2-nodes",
        "search",
        lhs=count_nodes("b", "a"),
        corners=[{"a": 2, "b": 2**k - 1, "t": 2**k - 1} for k in range(2, 21)],
    ),
    ExhaustiveCheck(
        "section-4-full-batch-sensitivity",
        "one-step",
        points=_full_batches,
        is_satisfied=_full_batch(2),
        planted=[
            Planted(
                "half of the constant",
                is_satisfied=_full_batch(1),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "section-4-momentum-difference",
        "visits",
        points=_differences,
        is_satisfied=of_variant(_scales_with_distance, _corrected),
        meets={**witnesses.OPPOSED, **witnesses.UPDATE_1},
        planted=[
            Planted(
                "first visit, or a step of decay",
                is_satisfied=FAULTY,
                at_declared_size=True,
            )
        ],
        region="N up to 8, alpha = 1/N, up to 3 epochs (smoke), 9, 17; N = 1000, 2 epochs; O(.): the constant 1000",
        interior=lambda p: p["N"] >= 3 and p["t"] >= 2 * p["N"],
        seconds=0.5,
    ),
)
