"""The constants of softmax regression against all that could exceed them: a grid, large weights, exact norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems import logistic_bounds
from dpverify.problems.softmax_regression import softmax_gradient
from tests.for_each import for_each

LEVELS = (-60.0, -3.0, -1.0, -0.3, 0.0, 0.2, 0.7, 1.5, 4.0, 60.0)


@lru_cache
def compiled(
    lam: float, classes: int
) -> Callable[[Vector, Vector, float, Vector], None]:
    inner = softmax_gradient(lam, classes)

    @kernel
    def run(w: Vector, x: Vector, y: float, out: Vector) -> None:
        inner(w, x, y, out)

    return run


def at(w: Vector, x: Vector, y: int, lam: float) -> Vector:
    """Run the kernel; ``w`` has the shape (K p,)."""
    out = np.empty_like(w)
    compiled(lam, len(w) // len(x))(w, x, float(y), out)
    return out


def slopes(classes: int) -> Matrix:
    """``p - e_0`` at all scores on a grid: with features (1,) the gradient is that."""
    rows = [
        at(np.array(z), np.ones(1), 0, 0.0) for z in product(LEVELS, repeat=classes)
    ]
    return np.array(rows)


@for_each("classes", [2, 3, 4])
def test_no_gradient_on_the_grid_is_longer_and_some_reach_the_bound(
    classes: int,
) -> None:
    norms = np.linalg.norm(slopes(classes), axis=1)
    bound = logistic_bounds.softmax_lipschitz(1.0, 0.0, 1, classes)
    assert norms.max() <= bound <= math.sqrt(2) * (1 + 1e-13)
    assert norms.max() > bound * (1 - 1e-12)
    # planted: the constant of two classes in one row
    assert norms.max() > logistic_bounds.lipschitz(1.0, 0.0, 1) * 1.4


@for_each("classes", [2, 3, 4])
def test_no_hessian_on_the_grid_is_larger_and_some_reach_the_bound(
    classes: int,
) -> None:
    p = slopes(classes) + np.eye(1, classes)
    hessians = p[:, :, None] * np.eye(classes) - p[:, :, None] * p[:, None, :]
    values = np.linalg.eigvalsh(hessians)
    assert values.max() <= logistic_bounds.softmax_smoothness(1.0, 0.0) * (1 + 1e-15)
    assert values.max() > 0.5 * (1 - 1e-3)
    assert values.min() > -1e-15
    # planted: that of logistic regression
    assert values.max() > 1.9 * logistic_bounds.smoothness(1.0, 0.0)


@for_each("lam", [0.0, 0.05, 2.0])
def test_gradients_move_at_most_so_many_times_as_far_as_weights(lam: float) -> None:
    rng, largest, d = np.random.default_rng(0), 0.0, 6
    L = logistic_bounds.softmax_smoothness(0.7, lam)
    for _ in range(3000):
        x = rng.standard_normal(2)
        x *= 0.7 / np.linalg.norm(x)
        w = rng.choice([0.0, 0.3, 3.0]) * rng.standard_normal(d)
        move = (
            rng.choice([1e-4, 0.1, 3.0]) * np.outer(rng.standard_normal(3), x).ravel()
        )
        y = int(rng.integers(3))
        change = np.linalg.norm(
            at(w + move, x, y, lam) - at(w, x, y, lam)
        ) / np.linalg.norm(move)
        largest = max(largest, float(change))
    assert 0.6 * L < largest <= L * (1 + 1e-9)


def test_what_the_kernel_rounds_to_is_no_longer_exactly() -> None:
    rng = np.random.default_rng(1)
    for trial in range(300):
        classes, p = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        x = rng.standard_normal(p)
        x /= np.linalg.norm(x) * (1 + 1e-15)
        w = 200.0 * np.outer(rng.standard_normal(classes), x).ravel() * (trial % 3)
        y = int(rng.integers(classes))
        exact = sum(Fraction(float(v)) ** 2 for v in at(w, x, y, 0.0))
        radius = math.nextafter(math.sqrt(sum(float(v) ** 2 for v in x)), 2.0)
        assert (
            exact
            <= Fraction(logistic_bounds.softmax_lipschitz(radius, 0.0, p, classes)) ** 2
        )


def test_the_bound_covers_quotients_that_sum_to_more_than_1() -> None:
    """As the head of the module has it: to (1 + u)/(1 - u)^(K - 1), which 2^40 classes show."""
    bound, unit, classes = (
        Fraction(logistic_bounds.softmax_lipschitz(1.0, 0.0, 1, 1 << 40)),
        Fraction(1, 1 << 53),
        1 << 40,
    )
    # below that power, by Bernoulli's inequality
    assert bound**2 >= 2 * (1 + unit) * (1 + (classes - 1) * unit)


def test_the_regularizer_adds_its_own() -> None:
    w = np.full(12, 1 / math.sqrt(3))
    got = at(w, np.zeros(4), 0, 0.8)
    assert np.linalg.norm(got) == pytest.approx(
        logistic_bounds.softmax_lipschitz(0.0, 0.8, 4, 3), rel=1e-14
    )
    assert logistic_bounds.softmax_smoothness(0.0, 0.8) == pytest.approx(1.6, rel=1e-15)
    assert logistic_bounds.softmax_gap_at_zero(10) == pytest.approx(
        math.log(10), rel=1e-15
    )


@for_each(
    ("call", "message"),
    [
        (
            lambda: logistic_bounds.softmax_lipschitz(-1.0, 0.0, 1, 2),
            "radius must be finite and at least 0, got radius=-1.0",
        ),
        (
            lambda: logistic_bounds.softmax_smoothness(1.0, math.nan),
            "lam must be finite",
        ),
        (lambda: logistic_bounds.softmax_gap_at_zero(1), "classes must lie in"),
        (
            lambda: logistic_bounds.softmax_lipschitz(1.0, 0.0, 0, 2),
            "features must lie in",
        ),
    ],
)
def test_what_cannot_be_is_refused(call: Callable[[], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
