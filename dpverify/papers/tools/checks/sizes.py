"""Check clipped gradients and the certified constants of a problem, in exact arithmetic, on random and worst points."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ldexp, sqrt

import numpy as np
from flint import arb

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.kernels.clipping import clipped_sum, pad_rows
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.problems import logistic, logistic_bounds
from dpverify.problems.rows import scale_rows

CHECKS = PaperChecks("tools", __name__)

BATCH = 20


def _square(vector: Iterable[float]) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in vector), Fraction(0))


def _data(point: Point) -> tuple[Matrix, Vector, Vector]:
    """Return random rows, labels and an iterate; the lengths of rows vary over many powers of two."""
    d = int(point["d"])
    rng = np.random.default_rng([int(point["draw"]), int(point["d"])])
    x = rng.standard_normal((BATCH, d)) * 2.0 ** rng.integers(-30, 30, (BATCH, 1))
    return (
        x,
        rng.integers(0, 2, BATCH).astype(float),
        rng.standard_normal(d) * 2.0 ** rng.integers(-8, 8),
    )


def _summed(x: Matrix, y: Vector, w: Vector, batch: Indices, clip: float) -> Vector:
    rows = pad_rows(x, y)
    at = np.zeros(rows.shape[1])
    out = np.empty(rows.shape[1])
    at[: len(w)] = w
    clipped_sum(logistic.slope)(rows, batch, at, clip, out)
    return out


def _clipped(factor: float) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Fraction:
        (x, y, w), clip = _data(point), float(point["C"])
        largest_square = max(
            _square(_summed(x, y, w, np.array([i]), clip * factor))
            for i in range(BATCH)
        )
        return largest_square / Fraction(clip) ** 2

    return lhs


def _clipped_sum_change(factor: float) -> LeftSide:
    """Return the left side: the change of the clipped sum if one example is replaced by its opposite."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        (x, y, w), clip, everything = _data(point), float(point["C"]), np.arange(BATCH)
        original_sum = _summed(x, y, w, everything, clip * factor)
        changes = []
        for i in range(0, BATCH, 4):
            replaced_x = x.copy()
            replaced_y = y.copy()
            replaced_x[i], replaced_y[i] = -x[i], y[i]
            for turned in (w, -w):
                replaced_x[i] = np.sign((1 - 2 * y[i]) * (x[i] @ turned)) * -x[i]
                changes.append(
                    _square(
                        original_sum
                        - _summed(replaced_x, replaced_y, w, everything, clip * factor)
                    )
                )
        return max(changes) / (2 * Fraction(clip)) ** 2

    return lhs


def _clips(budget: Budget) -> Iterator[PointLike]:
    draws = {"smoke": 1, "standard": 20}.get(budget.name, 100)
    for d, clip, draw in itertools.product(
        (1, 2, 5, 31, 123), ("1/1000000", "1/10", "1", "1000"), range(draws)
    ):
        yield {"d": d, "C": clip, "draw": draw}


def _vectors(point: Point) -> tuple[Vector, Vector, Vector]:
    """Return a row of norm at most B and two iterates; draw 0: equal entries, |w_j| = 1/sqrt(3); draw 1: near w = 0."""
    d = int(point["d"])
    draw = int(point["draw"])
    rng = np.random.default_rng([draw, d])
    x, w, step = rng.standard_normal((3, d))
    if draw == 0:
        x = np.ones(d)
        w = np.full(d, -1.0 / sqrt(3.0)) / (1.0 if d > 1 else 1e-6)
    w = (
        np.zeros(d)
        if draw == 1
        else w * (2.0 ** rng.integers(-6, 8) if draw > 1 else 1.0)
    )
    step = x * 2.0**-12 if draw == 1 else step * 2.0 ** rng.integers(-12, 3)
    return scale_rows(x[None, :], "unit", float(point["B"]))[0], w, w + step


def _gradient(factor: float) -> LeftSide:
    """Return the left side: the square of the kernel's gradient over G, with rounding, for the worse label."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        (x, w, _), lam, out = (
            _vectors(point),
            float(point["lam"]),
            np.empty(int(point["d"])),
        )
        G = logistic_bounds.lipschitz(float(point["B"]), lam, len(w))
        squares = []
        for label in (0.0, 1.0):
            logistic.example_gradient(lam)(w, x, label, out)
            squares.append(_square(out))
        return max(squares) / Fraction(G * factor) ** 2

    return lhs


def _exact_gradient(x: Vector, w: Vector, lam: float) -> list[arb]:
    """Return the gradient of an example with label 0, in balls."""
    z = sum(
        (arb(a) * arb(b) for a, b in zip(x.tolist(), w.tolist(), strict=True)), arb(0)
    )
    steep = 1 / (1 + (-z).exp())
    return [
        steep * a + arb(lam) * 2 * arb(b) / (1 + arb(b) ** 2) ** 2
        for a, b in zip(x.tolist(), w.tolist(), strict=True)
    ]


def _change(factor: float) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> arb:
        (x, w, v), lam = _vectors(point), float(point["lam"])
        pairs = zip(_exact_gradient(x, w, lam), _exact_gradient(x, v, lam), strict=True)
        change = sum(((a - b) ** 2 for a, b in pairs), arb(0))
        distance = sum(
            (
                (arb(a) - arb(b)) ** 2
                for a, b in zip(w.tolist(), v.tolist(), strict=True)
            ),
            arb(0),
        )
        return (
            change
            / distance
            / arb(logistic_bounds.smoothness(float(point["B"]), lam) * factor) ** 2
        )

    return lhs


def _problems(budget: Budget) -> Iterator[PointLike]:
    draws = {"smoke": 6, "standard": 60}.get(budget.name, 300)
    sizes = [
        (1, "1", "0"),
        (1, "8", "1/1000"),
        (6, "1/4", "3"),
        (30, "1", "1/1000"),
        (400, "1", "1"),
    ]
    for (d, radius, lam), draw in itertools.product(sizes, range(draws)):
        yield {"d": d, "B": radius, "lam": lam, "draw": draw}


def _planted(lhs: LeftSide, name: str) -> list[Planted]:
    return [Planted(name, lhs=lhs, at_declared_size=True)]


REGION = f"drawn rows and iterates, batches of {BATCH}"
CHECKS.add(
    RuleCheck(
        "clipping-norm",
        "exact",
        points=_clips,
        lhs=_clipped(1.0),
        region=REGION,
        seconds=0.35,
        planted=_planted(_clipped(1.0 + ldexp(1.0, -40)), "2^-40 beyond the limit"),
    ),
    RuleCheck(
        "clipping-neighbours",
        "exact",
        points=_clips,
        lhs=_clipped_sum_change(1.0),
        region=REGION,
        seconds=0.35,
        planted=_planted(_clipped_sum_change(1.01), "1% beyond the limit"),
    ),
    RuleCheck(
        "problem-lipschitz",
        "exact",
        points=_problems,
        lhs=_gradient(1.0),
        seconds=0.12,
        planted=_planted(_gradient(1.0 - 1e-6), "1e-6 less"),
    ),
    RuleCheck(
        "problem-smoothness",
        "balls",
        points=_problems,
        lhs=_change(1.0),
        seconds=0.12,
        planted=_planted(_change(0.999), "0.1% less"),
    ),
)
