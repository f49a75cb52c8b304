"""Logistic regression: the kernels against the definition, the constants against all that could exceed them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems import logistic_bounds as bounds
from dpverify.problems.base import Problem, replace_one
from dpverify.problems.logistic import (
    LogisticRegression,
    example_gradient,
    log1pexp,
    psi,
    psi_slope,
    sigmoid,
)
from dpverify.problems.rows import scale_rows
from tests.for_each import for_each

# a few roundings of functions whose condition numbers are at most about 2
RELATIVE = 4e-15


def make(
    n: int = 40, d: int = 5, lam: float = 0.1, seed: int = 0
) -> LogisticRegression:
    rng = np.random.default_rng(seed)
    x = scale_rows(rng.normal(size=(n, d)), "unit")
    return LogisticRegression(
        x, (rng.random(n) < 0.5).astype(float), lam=lam, radius=1.0
    )


def loss_by_definition(w: Vector, x: Matrix, y: Vector, lam: float) -> mpmath.mpf:
    """F as section 6.1 defines it, with the sign of a minimisation, at 60 digits."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for row, label in zip(x, y, strict=True):
            phi = 1 / (
                1 + mpmath.exp(-mpmath.fdot(map(mpmath.mpf, row), map(mpmath.mpf, w)))
            )
            total -= mpmath.log(phi) if label else mpmath.log(1 - phi)
        return total / len(x) + lam * sum(
            mpmath.mpf(t) ** 2 / (1 + mpmath.mpf(t) ** 2) for t in w
        )


def test_loss_is_the_definition_and_its_sign_is_that_of_a_minimisation() -> None:
    problem = make()
    for scale in (0.0, 0.3, 3.0, 30.0):
        w = np.random.default_rng(1).normal(size=5) * scale
        want = loss_by_definition(w, problem.x, problem.y, problem.lam)
        assert problem.loss(w) == pytest.approx(float(want), rel=1e-13)
    assert problem.loss(problem.start) == pytest.approx(math.log(2), rel=1e-15)
    # A perfect fit has a small loss: with the
    # sign as printed it would be very negative.
    fit = LogisticRegression(np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), lam=0.0)
    assert 0 < fit.loss(np.array([20.0])) < 1e-8


def test_gradient_is_the_derivative_of_the_loss() -> None:
    problem = make()
    w = np.random.default_rng(2).normal(size=5)
    got = problem.gradient(w)
    for j, step in enumerate(np.eye(5) * 1e-10):
        upper, lower = (
            loss_by_definition(w + s * step, problem.x, problem.y, problem.lam)
            for s in (1, -1)
        )
        moved = (w[j] + step[j]) - (w[j] - step[j])
        assert got[j] == pytest.approx(float((upper - lower) / moved), rel=1e-8)


def test_example_gradients_average_to_the_gradient() -> None:
    problem = make()
    w = np.random.default_rng(3).normal(size=5)
    out = np.empty((40, 5))
    for row, label, result in zip(problem.x, problem.y, out, strict=True):
        problem.example_gradient(w, row, label, result)
    np.testing.assert_allclose(
        out.mean(axis=0), problem.gradient(w), rtol=1e-12, atol=1e-16
    )
    assert example_gradient(0.1) is problem.example_gradient


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e300, 1e300) | st.floats(-50, 50))
def test_scalar_functions_are_accurate_everywhere(t: float) -> None:
    with mpmath.workdps(50):
        big = mpmath.mpf(t)
        u = big * big
        if abs(t) < 700:
            assert sigmoid(t) == pytest.approx(
                float(1 / (1 + mpmath.exp(-big))), rel=RELATIVE
            )
            assert log1pexp(t) == pytest.approx(
                float(mpmath.log(1 + mpmath.exp(big))), rel=RELATIVE
            )
        assert 0 <= sigmoid(t) <= 1
        assert log1pexp(t) >= max(t, 0)
        assert psi(t) == pytest.approx(float(u / (1 + u)), rel=RELATIVE, abs=1e-307)
        assert psi_slope(t) == pytest.approx(
            float(2 * big / (1 + u) ** 2), rel=RELATIVE, abs=1e-307
        )


def test_kernels_work_inside_another_kernel() -> None:
    gradient = example_gradient(0.25)

    @kernel
    def twice(w: Vector, x_row: Vector, out: Vector) -> None:
        gradient(w, x_row, 1.0, out)
        out *= 2.0

    out = np.empty(2)
    twice(np.zeros(2), np.array([1.0, 0.5]), out)
    np.testing.assert_array_equal(out, [-1.0, -0.5])


def exact_norm_at_most(vector: Vector, bound: float) -> bool:
    return (
        sum((Fraction(float(v)) ** 2 for v in vector), Fraction(0))
        <= Fraction(bound) ** 2
    )


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda d: st.tuples(
            *[st.lists(st.floats(-1e3, 1e3) | st.floats(-2, 2), min_size=d, max_size=d)]
            * 2
        )
    ),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 0.001, 0.1, 3.0]),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_no_gradient_is_longer_than_lipschitz_in_exact_arithmetic(
    pair: tuple[list[float], list[float]], label: float, lam: float, radius: float
) -> None:
    w, x = np.array(pair[0]), scale_rows(np.array([pair[1]]), "unit", radius)[0]
    out = np.empty(len(w))
    example_gradient(lam)(w, x, label, out)
    assert exact_norm_at_most(out, bounds.lipschitz(radius, lam, len(w)))


def test_lipschitz_is_not_exceeded_over_balls_of_iterates_and_is_nearly_attained() -> (
    None
):
    rng = np.random.default_rng(4)
    for d, lam in ((1, 0.001), (3, 0.5), (30, 0.001)):
        G, largest, out = bounds.lipschitz(1.0, lam, d), 0.0, np.empty(d)
        for size in np.repeat([0.1, 0.5, 1.0, 3.0, 20.0, 500.0], 500):
            w, x = rng.normal(size=(2, d))
            example_gradient(lam)(
                size * w / np.linalg.norm(w),
                x / np.linalg.norm(x),
                float(rng.integers(2)),
                out,
            )
            largest = max(largest, float(np.linalg.norm(out)))
        assert largest <= G
        assert largest > 0.6 * G
    # The worst case of the derivation: equal entries,
    # every w_j at 1/sqrt(3), many dimensions.
    for lam in (0.001, 1.0):
        d = 900
        x = scale_rows(np.ones((1, d)), "unit")[0]
        out = np.empty(d)
        example_gradient(lam)(np.full(d, 1 / math.sqrt(3)), x, 0.0, out)
        G = bounds.lipschitz(1.0, lam, d)
        assert np.linalg.norm(out) > (1 - 1e-7) * G
        assert exact_norm_at_most(out, G)


def hessian(w: Vector, x: Vector, lam: float) -> Matrix:
    """By hand, from the docstring of the bounds."""
    s = sigmoid(float(x @ w))
    curvature: Matrix = s * (1 - s) * np.outer(x, x) + lam * np.diag(
        2 * (1 - 3 * w**2) / (1 + w**2) ** 3
    )
    return curvature


def test_smoothness_is_not_exceeded_by_gradient_differences_and_is_attained_at_zero() -> (
    None
):
    rng = np.random.default_rng(5)
    for d, lam, radius in ((1, 0.001, 1.0), (4, 0.5, 2.0), (30, 0.1, 1.0)):
        L, ratio, a, b = bounds.smoothness(radius, lam), 0.0, np.empty(d), np.empty(d)
        for size in np.repeat([0.0, 0.3, 1.0, 10.0], 400):
            x, w, step = rng.normal(size=(3, d))
            x *= radius / np.linalg.norm(x)
            w *= size
            v = w + step * 10.0 ** rng.uniform(-3, 1)
            for point, result in ((w, a), (v, b)):
                example_gradient(lam)(point, x, 1.0, result)
            ratio = max(ratio, float(np.linalg.norm(a - b) / np.linalg.norm(w - v)))
            assert np.abs(np.linalg.eigvalsh(hessian(w, x, lam))).max() <= L * (
                1 + 1e-12
            )
        assert ratio <= L * (1 + 1e-9)
        e1 = np.eye(d)[0] * radius
        assert np.linalg.eigvalsh(hessian(np.zeros(d), e1, lam)).max() == pytest.approx(
            L, rel=1e-12
        )


def test_a_smaller_constant_would_be_caught() -> None:
    # Each of these is what a slip in the derivation would give; the worst cases above
    # must exceed it.
    d, lam = 900, 1.0
    out = np.empty(d)
    example_gradient(lam)(np.full(d, 1 / math.sqrt(3)), np.full(d, 1 / 30), 0.0, out)
    for slip in (
        1 + 0.64 * math.sqrt(d) * lam,
        math.sqrt(d) * lam * 3 * math.sqrt(3) / 8,
        1 + math.sqrt(d) * lam / 2,
    ):
        assert np.linalg.norm(out) > slip


def test_constants_are_rounded_up_and_close() -> None:
    with ctx.workprec(200):
        for radius, lam, d in ((1.0, 0.001, 30), (0.1, 0.3, 7), (3.7, 0.0, 1)):
            G = arb(radius) + arb(lam) * arb(d).sqrt() * 3 * arb(3).sqrt() / 8
            L = arb(radius) ** 2 / 4 + 2 * arb(lam)
            margin = 1 + arb(2) ** -49  # nine roundings of the kernel
            assert G * margin <= arb(bounds.lipschitz(radius, lam, d))
            for exact, got in (
                (G, bounds.lipschitz(radius, lam, d)),
                (L, bounds.smoothness(radius, lam)),
            ):
                assert exact <= arb(got) <= exact * (1 + arb(2) ** -47)
        assert (
            arb(2).log()
            <= arb(bounds.gap_at_zero())
            <= arb(2).log() * (1 + arb(2) ** -52)
        )


def test_gap_bounds_what_descent_finds() -> None:
    problem = make(lam=0.001)
    w = problem.start
    for _ in range(300):
        w = w - problem.gradient(w) / problem.smoothness
    decrease = problem.loss(problem.start) - problem.loss(w)
    assert 0 < decrease <= problem.gap
    assert problem.gap == bounds.gap_at_zero()


def test_constants_do_not_depend_on_the_data_when_the_radius_is_given() -> None:
    problem: Problem = make()
    assert isinstance(problem, LogisticRegression)
    x, y = replace_one(problem.x, problem.y, 7, np.array([0, 1.0, 0, 0, 0]), 1.0)
    neighbour = LogisticRegression(x, y, lam=problem.lam, radius=1.0)
    assert (neighbour.lipschitz, neighbour.smoothness, neighbour.gap) == (
        problem.lipschitz,
        problem.smoothness,
        problem.gap,
    )
    assert (x != problem.x).any(axis=1).sum() == 1
    short = LogisticRegression(problem.x / 2, problem.y, lam=problem.lam)
    assert short.radius == pytest.approx(0.5, rel=1e-13)


def test_replace_one_names_what_is_wrong() -> None:
    x, y = np.zeros((3, 2)), np.zeros(3)
    with pytest.raises(ValueError, match=r"index must lie in \[0, 2\], got index=3"):
        replace_one(x, y, 3, np.zeros(2), 1.0)
    with pytest.raises(ValueError, match=r"index must lie in \[0, 2\], got index=-1"):
        replace_one(x, y, -1, np.zeros(2), 1.0)
    with pytest.raises(
        ValueError, match=r"row must have shape \(2,\), got shape \(3,\)"
    ):
        replace_one(x, y, 0, np.zeros(3), 1.0)


@for_each(
    ("change", "message"),
    [
        ({"x": np.zeros((0, 2))}, "at least one row"),
        ({"x": np.zeros(3)}, "x must be a matrix"),
        ({"y": np.zeros(2)}, r"y must have shape \(3,\)"),
        ({"x": np.full((3, 2), np.nan)}, "x must be finite"),
        ({"y": np.array([0.0, 1.0, 2.0])}, "labels must be 0 or 1"),
        ({"radius": 0.5}, "rows must have norm at most radius=0.5"),
        ({"lam": -1.0}, "lam must be finite and at least 0, got lam=-1.0"),
        ({"lam": math.nan}, "lam must be finite"),
        ({"x": np.full((3, 2), 1.7e308)}, "radius must be finite"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"x": np.ones((3, 2)), "y": np.zeros(3), "lam": 0.1}
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**{**good, **change})  # type: ignore[arg-type]  # wrong types are what is tested
