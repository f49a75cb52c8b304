"""The sharp bound without replacement: moments by hand, between a pair and theorem 9, and a second opinion."""

from __future__ import annotations

import math

import pytest

from dpverify.privacy.subsampling import poisson_gaussian_rdp, without_replacement_gaussian_rdp
from dpverify.privacy.subsampling_sharp import log_chi_moments, without_replacement_gaussian_sharp


def test_second_moment_is_the_chi_square() -> None:
    for sigma in (0.7, 3.0, 1e4):
        assert math.exp(log_chi_moments(sigma, 2)[0]) == pytest.approx(math.expm1(1 / sigma**2), rel=1e-12)


def test_moments_tend_to_those_of_a_normal_law() -> None:
    """P/Q - 1 is nearly normal with variance 1/sigma^2: its 8th moment is 105/sigma^8."""
    assert math.exp(log_chi_moments(1e3, 8)[3]) * 1e24 == pytest.approx(105, rel=1e-4)


@pytest.mark.parametrize("order", [2, 3, 9, 40, 101])
@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.3, 30.0), (1e-3, 0.7), (1.0, 2.0)])
def test_between_a_pair_and_theorem_9(order: int, rate: float, sigma: float) -> None:
    sharp = without_replacement_gaussian_sharp(order, rate, sigma)
    assert poisson_gaussian_rdp(order, rate, sigma) <= sharp * (1 + 1e-12)
    assert sharp <= without_replacement_gaussian_rdp(order, rate, sigma) * (1 + 1e-12)


def test_large_noise_gains_what_theorem_9_loses() -> None:
    assert without_replacement_gaussian_sharp(20, 0.05, 200.0) < 0.02 * without_replacement_gaussian_rdp(
        20, 0.05, 200.0
    )


def test_ends_of_the_range() -> None:
    assert without_replacement_gaussian_sharp(5, 0, 1) == 0
    assert without_replacement_gaussian_sharp(256, 1e-3, 1e6) > 0
    with pytest.raises(ValueError, match="whole number from 2 to 256"):
        without_replacement_gaussian_sharp(257, 0.1, 1)
    with pytest.raises(ValueError, match="rate must be"):
        without_replacement_gaussian_sharp(2, -0.1, 1)
    with pytest.raises(ValueError, match="sigma must be"):
        without_replacement_gaussian_sharp(2, 0.1, 0)


def test_second_opinion() -> None:
    name = "dp_accounting.rdp.rdp_privacy_accountant"
    accountant = pytest.importorskip(name, reason="the extra `accounting` is not installed")
    for rate, sigma in [(0.01, 1.0), (0.1, 5.0), (1e-3, 0.7)]:
        for order in (2, 3, 10, 33):
            theirs = accountant._compute_rdp_sample_wor_gaussian(rate, sigma, [order])[0]
            whole = order / (2 * sigma**2)
            assert without_replacement_gaussian_sharp(order, rate, sigma) == pytest.approx(min(theirs, whole), rel=1e-9)
