"""Softmax regression: the kernel, the whole gradient and the batches against the definition, at 50 digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import mpmath
import numpy as np
import pytest

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import ExampleGradient, Matrix, Vector
from dpverify.problems.base import Problem
from dpverify.problems.logistic import LogisticRegression, RecursiveGradient, psi_slope
from dpverify.problems.regression import (
    predicted,
    recursive_gradient,
    regression_problem,
)
from dpverify.problems.rows import scale_rows
from dpverify.problems.softmax_regression import SoftmaxRegression
from tests.for_each import for_each

N, P, K = 30, 4, 3


def make(lam: float = 0.1, seed: int = 0) -> SoftmaxRegression:
    rng = np.random.default_rng(seed)
    x = scale_rows(rng.normal(size=(N, P)), "unit")
    return SoftmaxRegression(
        x, rng.integers(K, size=N).astype(float), K, lam=lam, radius=1.0
    )


def by_definition(problem: SoftmaxRegression, w: Vector) -> mpmath.mpf:
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(v) for v in row] for row in w.reshape(K, P).tolist()]
        total = mpmath.mpf(0)
        for x, y in zip(problem.x.tolist(), problem.y.tolist(), strict=True):
            z = [mpmath.fdot(row, map(mpmath.mpf, x)) for row in rows]
            total += mpmath.log(mpmath.fsum(map(mpmath.exp, z))) - z[int(y)]
        penalty = mpmath.fsum(
            mpmath.mpf(t) ** 2 / (1 + mpmath.mpf(t) ** 2) for t in w.tolist()
        )
        return total / N + problem.lam * penalty


@lru_cache
def compiled(
    inner: ExampleGradient,
) -> Callable[[Vector, Matrix, Vector, Matrix], None]:
    @kernel
    def run(w: Vector, x: Matrix, y: Vector, out: Matrix) -> None:
        for i in range(len(y)):
            inner(w, x[i], y[i], out[i])

    return run


def rows(problem: SoftmaxRegression, w: Vector) -> Matrix:
    """The kernel's gradient of each example."""
    out = np.empty((N, K * P))
    compiled(problem.example_gradient)(w, problem.x, problem.y, out)
    return out


def test_loss_and_gradient_are_those_of_the_definition() -> None:
    problem: SoftmaxRegression = make()
    assert isinstance(problem.start, np.ndarray)
    general: Problem = problem
    for scale in (0.0, 0.5, 20.0):
        w = scale * np.random.default_rng(1).normal(size=K * P)
        assert general.loss(w) == pytest.approx(
            float(by_definition(problem, w)), rel=1e-13
        )
        got = general.gradient(w)
        for j, step in enumerate(np.eye(K * P) * 1e-10):
            upper, lower = (by_definition(problem, w + s * step) for s in (1, -1))
            assert got[j] == pytest.approx(
                float((upper - lower) / ((w[j] + step[j]) - (w[j] - step[j]))), abs=1e-9
            )
        np.testing.assert_allclose(
            rows(problem, w).mean(axis=0), got, rtol=1e-11, atol=1e-15
        )
    with mpmath.workdps(50):
        assert (
            by_definition(problem, problem.start)
            <= problem.gap
            <= mpmath.log(K) * (1 + 2.0**-52)
        )


def test_an_example_whose_scores_are_all_far_below_anothers_has_its_own_gradient() -> (
    None
):
    """Two features of opposite examples: scores near 2000 for one, near -2000 for the other."""
    problem = SoftmaxRegression(
        np.array([[1.0], [-1.0]]), np.array([0.0, 2.0]), 3, lam=0.0
    )
    w = np.array([2000.0, 1999.0, 1998.0])
    few = np.exp([-2.0, -1.0, 0.0]) / np.exp([-2.0, -1.0, 0.0]).sum()
    np.testing.assert_allclose(
        problem.slopes(w, np.array([0, 1])),
        [few[::-1] - [1, 0, 0], few - [0, 0, 1]],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        problem.gradient(w), (few[::-1] - [1, 0, 0] - few + [0, 0, 1]) / 2, rtol=1e-12
    )


def test_two_classes_are_logistic_regression() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(N, P)), rng.integers(2, size=N).astype(float)
    w = rng.normal(size=P)
    two, one = SoftmaxRegression(x, y, 2, lam=0.0), LogisticRegression(x, y, lam=0.0)
    both = np.concatenate([np.zeros(P), w])
    assert two.loss(both) == pytest.approx(one.loss(w), rel=1e-13)
    np.testing.assert_allclose(two.gradient(both)[P:], one.gradient(w), rtol=1e-11)
    np.testing.assert_array_equal(predicted(two, both, x), predicted(one, w, x))


def test_a_batch_has_the_mean_of_clipped_gradients_and_the_whole_regularizer() -> None:
    problem, rng = make(lam=0.3), np.random.default_rng(3)
    new, old, batch = (
        rng.normal(size=K * P),
        rng.normal(size=K * P),
        np.array([3, 5, 17]),
    )
    parts = [rows(problem, w)[batch] - problem.penalty_gradient(w) for w in (new, old)]

    def cut(g: Matrix, length: float) -> Vector:
        short: Vector = (
            g * np.minimum(1, length / np.linalg.norm(g, axis=1, keepdims=True))
        ).mean(axis=0)
        return short

    penalties = [0.3 * np.array([psi_slope(v) for v in w]) for w in (new, old)]
    out = np.empty(K * P)
    recursive_gradient(problem, 0.5)(new, batch, out)
    np.testing.assert_allclose(
        out, cut(parts[0], 0.5) + penalties[0], rtol=1e-10, atol=1e-15
    )
    recursive_gradient(problem, 0.5, 0.1).change(new, old, batch, 0.25, out)
    want = 0.25 * cut(parts[0], 0.5) + 0.75 * cut(parts[0] - parts[1], 0.1)
    np.testing.assert_allclose(
        out, want + penalties[0] - 0.75 * penalties[1], rtol=1e-10, atol=1e-15
    )
    recursive_gradient(problem)(new, np.arange(N), out)
    np.testing.assert_allclose(out, problem.gradient(new), rtol=1e-10, atol=1e-15)


def test_the_number_of_classes_chooses_the_problem() -> None:
    x, y = np.eye(3), np.array([0.0, 1.0, 1.0])
    assert isinstance(
        regression_problem(x, y, 2, lam=0.1, radius=1.0), LogisticRegression
    )
    assert isinstance(
        recursive_gradient(regression_problem(x, y, 2, lam=0.1)), RecursiveGradient
    )
    three = regression_problem(x, y, 3, lam=0.1, radius=1.0)
    assert isinstance(three, SoftmaxRegression)
    assert three.start.shape == (9,)
    np.testing.assert_array_equal(predicted(three, np.eye(3).ravel(), x), [0, 1, 2])


@for_each(
    ("changed", "message"),
    [
        (
            {"y": np.array([0.0, 3.0])},
            r"labels must be whole numbers in 0..2, got \[0.0, 3.0\]",
        ),
        ({"y": np.array([0.0, 0.5])}, "whole numbers"),
        ({"y": np.zeros(3)}, "y must have shape"),
        ({"x": np.array([[1.0], [np.nan]])}, "x must be finite"),
        ({"x": np.zeros((2, 0))}, "at least one row and column"),
        ({"radius": 0.5}, "rows must have norm at most radius=0.5"),
    ],
)
def test_what_cannot_be_is_refused(changed: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"x": np.ones((2, 1)), "y": np.zeros(2), "classes": 3}
    with pytest.raises(ValueError, match=message):
        SoftmaxRegression(**{**given, **changed})  # type: ignore[arg-type]  # each value has its argument's type
