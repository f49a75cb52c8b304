"""Bias of gradients if Section 3's epochs (steps counted from 0) are combined with Algorithm 1's steps (from 1)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    of_variant,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement

MEETS = {
    "update-of-algorithm-1": Property(
        "the iterates of Algorithm 1 without noise, step by step"
    ),
    "fresh-permutation": Property(
        "the mean is over every pair of orders of the two epochs"
    ),
}

CHECKS = PaperChecks("tran2022", __name__, MEETS)

EPOCHS = 2


def _runs(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    for n in (2, 3) if budget.name == "smoke" else (2, 3, 4):
        for alpha, i in product(
            (Fraction(1, 2), Fraction(2, 5), Fraction(3, 4)), range(1, EPOCHS * n + 1)
        ):
            yield {"N": n, "alpha": alpha, "eta": Fraction(1, 8), "i": i}


def _gradient(example: int, w: Fraction) -> Fraction:
    """Return the gradient of an example at w: 3 + w/2 for the first example, -1 for all others."""
    return 3 + w / 2 if example == 0 else Fraction(-1)


def _bias(point: Point, anchor: int) -> Fraction:
    """Return the mean over all orders of two epochs: the gradient drawn at step i minus the full one at w_anchor."""
    n = int(point["N"])
    i = int(point["i"])
    alpha = point["alpha"]
    orders = [*product(permutations(range(n)), repeat=EPOCHS)]
    total = Fraction(0)
    for epochs in orders:
        drawn = [example for epoch in epochs for example in epoch]
        w = Fraction(0)
        momentum = Fraction(0)
        for example in drawn[: anchor - 1]:
            momentum = (1 - alpha) * momentum + alpha * _gradient(example, w)
            w += point["eta"] * ((momentum < 0) - (momentum > 0))
        total += (
            _gradient(drawn[i - 1], w)
            - sum((_gradient(k, w) for k in range(n)), Fraction(0)) / n
        )
    return total / len(orders)


def _mixed(point: Point, statement: Statement) -> Outcome:
    """Test the bias at the anchor w_{qN}, q = floor(i/N), or w_1 for q = 0: steps count from 1, epochs from 0."""
    bias = _bias(point, max(1, int(point["i"]) // int(point["N"]) * int(point["N"])))
    return Outcome(
        bias == 0,
        bias,
        Fraction(0),
        "mean of grad f - grad F at the anchor; gradients 3 + w/2 and -1",
    )


def _own(point: Point, statement: Statement) -> Outcome:
    """Test the bias at the anchor w_{qN+1}, q = floor((i-1)/N), and also at the mixed anchor if N does not divide i."""
    n = int(point["N"])
    i = int(point["i"])
    bias = _bias(point, (i - 1) // n * n + 1)
    return (
        Outcome(bias == 0, bias, Fraction(0))
        if i % n == 0 or bias != 0
        else _mixed(point, statement)
    )


CHECKS.add(
    RuleCheck(
        "section-3-epoch-counting",
        "all-orders",
        points=_runs,
        is_satisfied=of_variant(_mixed, _own),
        planted=[
            Planted(
                "the anchor of the mix at every step",
                is_satisfied=_mixed,
                at_declared_size=True,
            )
        ],
        interior=lambda point: point["N"] >= 3,
        region="two epochs of two and three examples, of four beyond a smoke run, every order of both, exactly",
        seconds=0.3,
    )
)
