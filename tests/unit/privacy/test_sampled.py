"""Many steps on random batches: the bound against numerical integrals, the noise it asks for, a second opinion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpverify.privacy.sampled import poisson_gaussian_epsilon, sampled_epsilon, sampled_rdp, sampled_std


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


def test_sampled_batches_need_the_noise_that_they_get() -> None:
    std = sampled_std(1000, 30, 300, 1.0, 2.0, 1e-6)
    sigma = std * 30 / 2
    assert sampled_epsilon(0.03, sigma, 300, 1e-6) <= 2.0 < sampled_epsilon(0.03, sigma * 0.999, 300, 1e-6)


def test_an_epsilon_out_of_reach_of_every_order() -> None:
    assert sampled_std(1000, 30, 300, 1.0, 1e-4, 1e-12) == math.inf


def test_many_steps_are_not_below_the_second_opinion() -> None:
    dp = pytest.importorskip("dp_accounting", reason="the extra `accounting` is not installed")
    pld = pytest.importorskip("dp_accounting.pld", reason="the extra `accounting` is not installed")
    event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)
    accountant = pld.PLDAccountant()
    accountant.compose(event)
    sharp = accountant.get_epsilon(1e-5)
    assert sharp < poisson_gaussian_epsilon(0.01, 1.0, 1000, 1e-5) < 1.35 * sharp
