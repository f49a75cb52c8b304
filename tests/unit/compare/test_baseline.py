"""Plain private descent: its noise, its bound against numerical integrals, its steps; and the split."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpverify.compare.baseline import Descent, descend, full_batch_std, looks, step_length
from dpverify.compare.split import split
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.sampled import sampled_epsilon, sampled_rdp, sampled_std
from dpverify.problems.data import Dataset
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.rows import scale_rows


def problem(n: int = 40, d: int = 3) -> LogisticRegression:
    rng = np.random.default_rng(0)
    x = scale_rows(rng.standard_normal((n, d)))
    return LogisticRegression(x, (x[:, 0] > 0).astype(float), radius=1.0)


def divergence(order: int, q: float, sigma: float, to: float) -> float:
    """Renyi divergence of (1-q) N(0, s^2) + q N(1/2, s^2) from (1-q) N(0, s^2) + q N(to, s^2), by quadrature."""

    def log_density(t: float, mean: float) -> float:
        return float(
            np.logaddexp(math.log1p(-q) - t * t / (2 * sigma**2), math.log(q) - (t - mean) ** 2 / (2 * sigma**2))
        )

    norm = math.log(sigma * math.sqrt(2 * math.pi))

    def integrand(t: float) -> float:
        return math.exp(order * log_density(t, 0.5) - (order - 1) * log_density(t, to) - norm)

    span = sigma * (12 + order)
    value, _ = quad(integrand, -span, span + order, limit=500, points=[0.0])
    return math.log(value) / (order - 1)


@pytest.mark.parametrize("order", [2, 5, 16])
@pytest.mark.parametrize(("q", "sigma"), [(0.01, 0.6), (0.1, 1.0), (0.1, 4.0), (0.5, 1.5), (0.9, 3.0)])
def test_the_bound_on_sampled_batches_holds_for_pairs_that_occur(order: int, q: float, sigma: float) -> None:
    bound = sampled_rdp(order, q, sigma)
    for to in (-0.5, 0.0, 0.4):  # one example moves the mean to 1/2, its replacement to ``to``
        assert 0 < divergence(order, q, sigma, to) <= bound * (1 + 1e-6)


def test_the_bound_is_of_the_right_size_and_never_worse_than_no_sampling() -> None:
    assert sampled_rdp(8, 1.0, 2.0) == 8 / (2 * 2.0**2)
    small = sampled_rdp(4, 1e-3, 5.0)
    assert small == pytest.approx(1e-6 * 4 * math.expm1(1 / 25), rel=0.05)  # z q^2 (exp(1/s^2) - 1)


def test_full_batches_have_exactly_the_privacy_asked_for() -> None:
    std = full_batch_std(100, 7, 1.5, 2.0, 1e-6)
    assert delta_of(math.sqrt(7) * 2 * 1.5 / (100 * std), 2.0) == pytest.approx(1e-6, rel=1e-9)


def test_sampled_batches_need_the_noise_that_they_get() -> None:
    std = sampled_std(1000, 30, 300, 1.0, 2.0, 1e-6)
    sigma = std * 30 / 2
    assert sampled_epsilon(0.03, sigma, 300, 1e-6) <= 2.0 < sampled_epsilon(0.03, sigma * 0.999, 300, 1e-6)


def test_an_epsilon_out_of_reach_of_every_order() -> None:
    assert sampled_std(1000, 30, 300, 1.0, 1e-4, 1e-12) == math.inf


def test_full_batches_without_noise_are_gradient_descent() -> None:
    p, w = problem(), np.zeros(3)
    for _ in range(4):
        w = w - 0.7 * p.gradient(w)
    assert descend(p, Descent(40, 4, 0.0, 0.7), seed=0).last == pytest.approx(w, rel=1e-12)


def test_the_noise_has_its_deviation() -> None:
    p = problem(d=2000)
    w = descend(p, Descent(40, 1, 0.5, 1.0), seed=3).last + p.gradient(np.zeros(2000))
    assert np.std(w) == pytest.approx(0.5, rel=0.08)  # five deviations


def test_batches_are_unbiased() -> None:
    p = problem()
    mean = np.mean([descend(p, Descent(8, 1, 0.0, 1.0), seed=seed).last for seed in range(400)], axis=0)
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
    parts = split(Dataset("x", x, np.zeros(50), ("a", "b"), True), 0.2, rng, "clip")
    assert (len(parts.x), len(parts.x_test)) == (40, 10)
    assert np.isfinite(parts.x).all()
    assert (parts.x[:, 2] == 0).all()
    plain = split(Dataset("x", x, np.zeros(50), ("a", "b"), False), 0.2, np.random.default_rng(5), "unit")
    assert len(plain.x) == 40


def test_a_run_is_looked_at_where_it_says() -> None:
    p, run = problem(), Descent(40, 120, 0.0, 0.3)
    assert looks(120)[:3] == [0, 2, 4]
    assert looks(3) == [0, 1, 2]
    assert looks(1) == [0]
    assert len(looks(10**6)) == 50
    w, iterates = np.zeros(3), [np.zeros(3)]
    for _ in range(120):
        w = w - 0.3 * p.gradient(w)
        iterates.append(w)
    found = descend(p, run, seed=0)
    assert found.some == [pytest.approx(iterates[step], rel=1e-12) for step in looks(120)]
    assert found.last == pytest.approx(iterates[120], rel=1e-12)
