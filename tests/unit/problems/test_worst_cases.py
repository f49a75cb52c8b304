"""Worst cases: their constants are exact, attained, and each problem does what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.kernels.typing import Vector
from dpverify.problems.base import Problem
from dpverify.problems.worst_cases import ClippedQuadratic, antipodal, identical


def example_gradients(problem: Problem, w: Vector) -> Vector:
    out = np.empty_like(problem.x)
    for row, label, result in zip(problem.x, problem.y, out, strict=True):
        problem.example_gradient(w, row, label, result)
    return out


def test_gradient_is_that_of_the_loss_inside_and_outside_the_clip() -> None:
    rng = np.random.default_rng(0)
    problem = ClippedQuadratic(rng.normal(size=(20, 3)) * 3, G=2.0, L=1.5, gap=100.0)
    for _ in range(20):
        w = rng.normal(size=3)
        got = problem.gradient(w)
        np.testing.assert_allclose(
            example_gradients(problem, w).mean(axis=0), got, rtol=1e-12
        )
        for j, step in enumerate(np.eye(3) * 1e-6):
            slope = (problem.loss(w + step) - problem.loss(w - step)) / 2e-6
            assert slope == pytest.approx(got[j], abs=1e-8)


def test_both_constants_hold_and_are_attained() -> None:
    rng = np.random.default_rng(1)
    problem = identical(1, 3, G=2.0, L=0.5, distance=6.0)
    norms, ratios = [], []
    for _ in range(2000):
        v, w = rng.normal(size=(2, 3)) * 5
        a, b = example_gradients(problem, v)[0], example_gradients(problem, w)[0]
        norms.append(np.linalg.norm(a))
        ratios.append(np.linalg.norm(a - b) / np.linalg.norm(v - w))
    assert 2.0 * (1 - 1e-9) < max(norms) <= 2.0 * (1 + 1e-15)
    assert 0.5 * (1 - 1e-9) < max(ratios) <= 0.5 * (1 + 1e-12)


def test_far_identical_examples_have_a_constant_gradient() -> None:
    problem = identical(4, 2, G=1.0, L=2.0, distance=10.0)
    for way in (0.0, 3.0, 9.4):
        np.testing.assert_allclose(problem.gradient(np.array([way, 0])), [-1, 0])
    assert problem.gap == 10 - 0.25
    assert problem.loss(problem.start) == pytest.approx(problem.gap, rel=1e-15)


def test_near_identical_examples_are_a_ramp() -> None:
    problem = identical(4, 2, G=1.0, L=2.0, distance=0.5)
    ways = np.linspace(0, 0.5, 6)
    slopes = [problem.gradient(np.array([way, 0]))[0] for way in ways]
    np.testing.assert_allclose(np.diff(slopes), 2.0 * np.diff(ways))
    assert slopes[0] == -1
    assert problem.gap == 0.25


def test_antipodal_gradients_cancel_at_the_start_and_are_as_long_as_allowed() -> None:
    problem = antipodal(6, 3, G=3.0, L=0.7)
    gradients = example_gradients(problem, problem.start)
    np.testing.assert_allclose(np.linalg.norm(gradients, axis=1), 3.0, rtol=1e-14)
    assert (problem.gradient(problem.start) == 0).all()
    assert problem.gap == 0
    assert problem.loss(problem.start) <= min(
        problem.loss(w) for w in np.random.default_rng(2).normal(size=(100, 3))
    )


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="n must be even and at least 2, got n=3"):
        antipodal(3, 1, 1.0, 1.0)
    with pytest.raises(ValueError, match="G must be finite and above 0, got G=0"):
        identical(1, 1, 0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="L must be finite and above 0, got L=inf"):
        antipodal(2, 1, 1.0, float("inf"))
