"""Rules for the sampling error of the momentum: its cross terms, its size on ridges, and its size on a flat loss.

The cross terms are those of two steps of one epoch. ``permutation_bounds`` defines the ridges.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import permutations
from typing import Any

from dpverify.harness import Budget, Outcome, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.permutation_bounds import (
    ridge_gradients,
    ridge_sampling,
)
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    momentum_once,
    spread_of,
    weights_once,
)


def steps_of_one_epoch(_: Budget) -> Iterable[dict[str, Any]]:
    """Return pairs of steps, with the mean square of the centred gradients (0 for identical examples)."""
    return (
        {"N": n, "i": i, "j": j, "t": n, "alpha": alpha, "own": mean_square}
        for mean_square in (Fraction(0), Fraction(1))
        for n in (2, 3, 4)
        for alpha in (Fraction(1, 2), Fraction(2, 7), Fraction(1))
        for j in range(2, n + 1)
        for i in range(1, j)
    )


def cross_fresh(point: Point, strict: bool, factor: Fraction = Fraction(1)) -> Outcome:
    """Test the mean of c_i c_j <A_i, A_j> over all orders of N centred gradients on a line with mean square ``own``."""
    n, i, j, t = (int(point[name]) for name in ("N", "i", "j", "t"))
    plain = [Fraction(2 * k - (n - 1)) for k in range(n)]
    square = sum((a * a for a in plain), Fraction(0)) / n
    orders = list(permutations(plain))
    mean = (
        sum((order[i - 1] * order[j - 1] for order in orders), Fraction(0))
        / len(orders)
        * point["own"]
        / square
    )
    weight = (1 - point["alpha"]) ** (2 * t - i - j)
    if strict:
        return Outcome(
            weight * mean < 0, weight * mean, Fraction(0), "centred gradients on a line"
        )
    expected = -factor * weight * point["own"] / (n - 1)
    return Outcome(weight * mean == expected <= 0, weight * mean, expected)


def ridge_steps(_: Budget) -> Iterable[dict[str, Any]]:
    """Return the last two steps of the second epoch, whose examples have not crossed the threshold."""
    sizes = ((3, 2), (4, 2), (6, 3))
    return (
        {
            "N": n,
            "i": 2 * n - 1,
            "j": 2 * n,
            "t": 2 * n,
            "alpha": Fraction(1, 2),
            "late": late,
        }
        for n, late in sizes
    )


def cross_once(point: Point, statement: Statement, times: float = 1.0) -> Outcome:
    """Test whether the cross term of two steps of a later epoch is negative, on ridges."""
    n = int(point["N"])
    late = int(point["late"])
    alpha = float(point["alpha"])
    drawn = ridge_gradients(n, alpha, late)
    i, j, t = (int(point[name]) for name in ("i", "j", "t"))
    term = (
        times
        * (1 - alpha) ** (2 * t - i - j)
        * float(drawn[i - n - 1] @ drawn[j - n - 1])
    )
    return Outcome(
        term < -1e-9,
        Fraction(term),
        Fraction(0),
        "ridges, G = 1; the same for every order",
    )


def runs_on_ridges(_: Budget) -> Iterable[dict[str, Any]]:
    """Return sizes and momentum weights, with the thresholds at which the aligned gradients have the largest weight."""
    rows = (
        (8, "1/2", 3),
        (16, "2/5", 4),
        (20, "7/20", 5),
        (24, "3/10", 6),
        (32, "1/5", 9),
        (64, "1/10", 18),
    )
    return (
        {"N": n, "t": 2 * n, "alpha": Fraction(alpha), "late": late}
        for n, alpha, late in rows
    )


def sampling_once(
    point: Point, statement: Statement, part: Fraction = Fraction(1)
) -> Outcome:
    """Compare the sampling error on ridges with its bound 4 alpha."""
    square = ridge_sampling(int(point["N"]), float(point["alpha"]), int(point["late"]))
    allowed = part * 4 * point["alpha"]
    return Outcome(
        square < allowed,
        Fraction(square),
        allowed,
        "ridges, G = 1; the same for every order",
    )


def line(budget: Budget) -> Iterable[dict[str, Any]]:
    """Return runs of losses whose gradients do not depend on w."""
    size_limit = {"smoke": 8, "standard": 16, "full": 32}[budget.name]
    return (
        {"N": n, "t": t, "alpha": alpha}
        for n in range(1, size_limit)
        for alpha in {Fraction(1, n), Fraction(1, 3 * n), Fraction(2, 3), Fraction(1)}
        for t in (1, n - 1, n, n + 1, 2 * n, 5 * n + 2)
        if t >= 1
    )


def flat_sampling(point: Point, part: Fraction = Fraction(1)) -> Outcome:
    """Test the bound on the mean square at t, G = 1, and the last step of the induction that proves it."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    square = momentum_once(t, n, alpha, Fraction(1))
    allowed = part * alpha * n / (max(1, n - 1) * (2 - alpha))
    before = weights_once(t - 1, n, alpha)
    after = weights_once(t, n, alpha)
    beta = 1 - alpha
    oldest = before[-1]
    total = sum(before, Fraction(0))
    if oldest > min(before) or after != [
        beta * oldest + alpha,
        *(beta * w for w in before[:-1]),
    ]:
        return Outcome(False, note="the weights do not grow as the induction says")
    grown = (
        beta**2 * (spread_of(before) + total**2 / n)
        + 2 * alpha * beta * oldest
        + alpha**2
    )
    if spread_of(after) != grown - (beta * total + alpha) ** 2 / n:
        return Outcome(False, note="the spread does not grow as the induction says")
    return Outcome(square <= allowed, square, allowed)
