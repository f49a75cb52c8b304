"""Many steps on random batches: the bound against numerical integrals, the noise it asks for, a second opinion."""

from __future__ import annotations

import math

import mpmath
import pytest

from dpverify.privacy.subsampling import (
    poisson_gaussian_epsilon,
    sampled_epsilon,
    sampled_rdp,
    sampled_std,
)
from tests.for_each import for_each


def test_the_bound_is_of_the_right_size_and_never_worse_than_no_sampling() -> None:
    assert sampled_rdp(8, 1.0, 2.0) == 8 / (2 * 2.0**2)
    small = sampled_rdp(4, 1e-3, 5.0)
    # z q^2 (exp(1/s^2) - 1)
    assert small == pytest.approx(1e-6 * 4 * math.expm1(1 / 25), rel=0.05)


def test_sampled_batches_need_the_noise_that_they_get() -> None:
    std = sampled_std(1000, 30, 300, 1.0, 2.0, 1e-6)
    sigma = std * 30 / 2
    assert (
        sampled_epsilon(0.03, sigma, 300, 1e-6)
        <= 2.0
        < sampled_epsilon(0.03, sigma * 0.999, 300, 1e-6)
    )


def test_an_epsilon_out_of_reach_of_every_order() -> None:
    assert sampled_std(1000, 30, 300, 1.0, 1e-4, 1e-12) == math.inf


def test_many_steps_are_not_below_the_second_opinion() -> None:
    dp = pytest.importorskip(
        "dp_accounting", reason="the extra `accounting` is not installed"
    )
    pld = pytest.importorskip(
        "dp_accounting.pld", reason="the extra `accounting` is not installed"
    )
    event = dp.SelfComposedDpEvent(
        dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000
    )
    accountant = pld.PLDAccountant()
    accountant.compose(event)
    sharp = accountant.get_epsilon(1e-5)
    assert sharp < poisson_gaussian_epsilon(0.01, 1.0, 1000, 1e-5) < 1.35 * sharp


@for_each(
    ("order", "rate", "sigma"),
    [(64, 0.5, 0.5), (16, 0.9, 0.4), (40, 0.25, 0.3), (512, 0.01, 1.0), (5, 0.1, 2.0)],
)
def test_the_bound_is_twice_the_moment_of_poisson_sampling_less_one(
    order: int, rate: float, sigma: float
) -> None:
    """In exact arithmetic, also where the moment is far beyond the floats."""
    with mpmath.workdps(60):
        q, s = mpmath.mpf(rate), mpmath.mpf(sigma)
        moment = mpmath.fsum(
            mpmath.binomial(order, k)
            * (1 - q) ** (order - k)
            * q**k
            * mpmath.exp(k * (k - 1) / (2 * s**2))
            for k in range(order + 1)
        )
        exact = float(mpmath.log(2 * moment - 1) / (order - 1))
    assert exact < order / (2.0 * sigma**2)
    assert sampled_rdp(order, rate, sigma) == pytest.approx(exact, rel=1e-12)
