"""Plain private descent: its noise, its steps; and the split."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.compare.methods import (
    Descent,
    descend,
    full_batch_std,
    measured_steps,
    step_length,
)
from dpverify.compare.run import split
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.gaussian_safe import safe_mu
from dpverify.problems.data import Dataset
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.rows import scale_rows
from tests.for_each import for_each


def problem(n: int = 40, d: int = 3) -> LogisticRegression:
    rng = np.random.default_rng(0)
    x = scale_rows(rng.standard_normal((n, d)))
    return LogisticRegression(x, (x[:, 0] > 0).astype(float), radius=1.0)


def test_full_batches_have_exactly_the_privacy_asked_for() -> None:
    std = full_batch_std(100, 7, 1.5, 2.0, 1e-6)
    assert delta_of(math.sqrt(7) * 2 * 1.5 / (100 * std), 2.0) == pytest.approx(
        1e-6, rel=1e-9
    )


@for_each("steps", [1, 7, 1000])
def test_the_noise_of_full_batches_is_rounded_up(steps: int) -> None:
    """Exactly: sqrt(T) 2G/(N std) is at most the mu that is certified."""
    std, mu = full_batch_std(97, steps, 1.3, 0.8, 1e-6), safe_mu(0.8, 1e-6)
    reached = steps * (2 * Fraction(1.3) / (97 * Fraction(std))) ** 2
    assert Fraction(mu) ** 2 * (1 - Fraction(1, 10**11)) < reached <= Fraction(mu) ** 2


def test_full_batches_without_noise_are_gradient_descent() -> None:
    p, w = problem(), np.zeros(3)
    for _ in range(4):
        w = w - 0.7 * p.gradient(w)
    assert descend(p, Descent(40, 4, 0.0, 0.7), seed=0).last == pytest.approx(
        w, rel=1e-12
    )


def test_the_noise_has_its_deviation() -> None:
    p = problem(d=2000)
    w = descend(p, Descent(40, 1, 0.5, 1.0), seed=3).last + p.gradient(np.zeros(2000))
    assert np.std(w) == pytest.approx(0.5, rel=0.08)  # five deviations


def test_batches_are_unbiased() -> None:
    p = problem()
    mean = np.mean(
        [descend(p, Descent(8, 1, 0.0, 1.0), seed=seed).last for seed in range(400)],
        axis=0,
    )
    assert mean == pytest.approx(-p.gradient(np.zeros(3)), abs=5 / math.sqrt(8 * 400))


def test_the_step_length_is_the_minimizer_of_the_bound() -> None:
    p, T, std = problem(), 50, 2.0
    eta, variance = step_length(p, 40, T, std), 3 * std**2

    def bound(step: float) -> float:
        return 2 * p.gap / (step * T) + p.smoothness * step * variance

    assert bound(eta) < min(bound(eta * 1.01), bound(eta / 1.01))
    assert step_length(p, 40, T, 0.0) == 1 / p.smoothness


def test_a_split_holds_out_and_standardises_by_the_training_part() -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([np.arange(50.0), rng.standard_normal(50) * 1e200, np.ones(50)])
    parts = split(
        Dataset("x", x, np.zeros(50), ("a", "b"), True), 0.2, rng, "clip", 0.001
    )
    assert (len(parts.problem.x), len(parts.x_test)) == (40, 10)
    assert isinstance(parts.problem.x, np.ndarray)
    assert np.isfinite(parts.problem.x).all()
    assert (parts.problem.x[:, 2] == 0).all()
    plain = split(
        Dataset("x", x, np.zeros(50), ("a", "b"), False),
        0.2,
        np.random.default_rng(5),
        "unit",
        0.001,
    )
    assert len(plain.problem.x) == 40


def test_a_run_is_looked_at_where_it_says() -> None:
    p, run = problem(), Descent(40, 120, 0.0, 0.3)
    assert measured_steps(120)[:3] == [0, 2, 4]
    assert measured_steps(3) == [0, 1, 2]
    assert measured_steps(1) == [0]
    assert len(measured_steps(10**6)) == 50
    w, iterates = np.zeros(3), [np.zeros(3)]
    for _ in range(120):
        w = w - 0.3 * p.gradient(w)
        iterates.append(w)
    found = descend(p, run, seed=0)
    assert found.selected == [
        pytest.approx(iterates[step], rel=1e-12) for step in measured_steps(120)
    ]
    assert found.last == pytest.approx(iterates[120], rel=1e-12)


@for_each("batch", [1, 8, 39])
@for_each("std", [0.0, 0.1])
def test_the_step_length_of_sampled_batches_counts_what_sampling_adds(
    batch: int, std: float
) -> None:
    """2R/(eta T) + L eta V is least at sqrt(2R/(L T V)), V being d std^2 + G^2/B."""
    p, T = problem(), 10**6
    least = math.sqrt(
        2 * p.gap / (p.smoothness * T * (3 * std**2 + p.lipschitz**2 / batch))
    )
    assert least < 1 / p.smoothness
    assert step_length(p, batch, T, std) == pytest.approx(least, rel=1e-12)


def test_the_test_part_is_standardised_by_means_and_deviations_of_the_training_part() -> (
    None
):
    x = np.random.default_rng(2).standard_normal((30, 2)) * [1e3, 1e-3] + [5e3, 0.0]
    data = Dataset("x", x, np.arange(30.0) % 2, ("a", "b"), True)
    found = split(data, 0.3, np.random.default_rng(7), "unit", 0.001)
    held_out = np.zeros(30, dtype=bool)
    held_out[np.random.default_rng(7).permutation(30)[:9]] = True
    train = x[~held_out]
    for part, got in ((train, found.problem.x), (x[held_out], found.x_test)):
        expected = (part - train.mean(axis=0)) / train.std(axis=0)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(got, expected, rtol=1e-9)  # type: ignore[arg-type]  # dense
    assert found.y_test.tolist() == data.y[held_out].tolist()
