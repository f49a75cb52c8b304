"""The loss with a memory."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.papers.tran2022.algorithms.momentum_errors import (
    LossWithMemory,
    error_at,
    printed_terms,
)


def test_the_constants_of_the_memory_hold_along_random_segments() -> None:
    problem, rng = LossWithMemory(examples=5, when=0.5), np.random.default_rng(3)
    one, other = np.zeros(7), np.zeros(7)
    for _ in range(2000):
        w, v = rng.normal(0.0, 1.0, 7), rng.normal(0.0, 1e-4, 7)
        k = float(rng.integers(5))
        problem.example_gradient(w, np.zeros(1), k, one)
        problem.example_gradient(w + v, np.zeros(1), k, other)
        assert np.linalg.norm(one) <= problem.lipschitz
        assert np.linalg.norm(one - other) <= problem.smoothness * np.linalg.norm(v) * (
            1 + 1e-3
        )


def _memory_loss(problem: LossWithMemory, w: np.ndarray, k: int) -> float:
    """Loss of one example, as NOTES_utility_lemmas.md writes it."""
    z, u, v = w[k] - w[: problem.examples].mean(), w[-2], w[-1]
    gate = (1 + np.tanh(v - problem.when)) / 2
    noise = problem.noise * np.tanh(u) * np.tanh(z) * gate
    shape = problem.hold * np.log(np.cosh(u)) - problem.growth * np.log(np.cosh(z))
    return float(noise + shape - problem.push * w[k] - problem.clock * v)


def test_the_kernel_of_the_memory_is_the_gradient_of_its_loss() -> None:
    problem, rng, out, h = (
        LossWithMemory(examples=4, when=0.5),
        np.random.default_rng(8),
        np.zeros(6),
        1e-5,
    )
    for k in range(4):
        w = rng.normal(0.0, 1.0, 6)
        problem.example_gradient(w, np.zeros(1), float(k), out)
        steps = h * np.eye(6)
        slopes = [
            (_memory_loss(problem, w + s, k) - _memory_loss(problem, w - s, k))
            / (2 * h)
            for s in steps
        ]
        assert out == pytest.approx(slopes, abs=1e-9)


def test_the_memory_gives_every_order_the_same_error() -> None:
    problem = LossWithMemory(examples=16)
    first, second = (error_at(problem, 320, 0.1, 0.01, "once", seed) for seed in (1, 2))
    assert first == pytest.approx(second, rel=1e-9)


def test_one_permutation_breaks_the_printed_terms_and_fresh_ones_do_not() -> None:
    problem, steps = LossWithMemory(), 4000 * 128
    allowed = printed_terms(problem, 0.03, 0.0005)
    assert error_at(problem, steps, 0.03, 0.0005, "once") > 1.15 * allowed
    assert error_at(problem, steps, 0.03, 0.0005, "fresh") < 0.2 * allowed
