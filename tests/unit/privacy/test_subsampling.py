"""Subsampled Gaussians against the definition, against each other, and against a second opinion."""

from __future__ import annotations

import math

import pytest

from dpverify.privacy.gaussian import compose_mu
from dpverify.privacy.subsampling import (
    gaussian_rdp,
    log_chi_moments,
    poisson_gaussian_rdp,
    without_replacement_gaussian_sharp,
    without_replacement_rdp,
)
from tests.for_each import for_each
from tests.unit.privacy.oracle import mixture, renyi_by_integration

MISSING = "the extra `accounting` is not installed"
ENDS = [-60, -20, -8, -2, 0, 2, 5, 8, 12, 20, 60]


def without_replacement_gaussian_rdp(order: int, rate: float, sigma: float) -> float:
    return without_replacement_rdp(
        order, rate, [gaussian_rdp(j, 1 / sigma) for j in range(2, order + 1)]
    )


@for_each(("order", "mu"), [(2, 1.0), (1.5, 0.25), (7, 0.5), (1.01, 3.0)])
def test_gaussian_curve_is_the_definition(order: float, mu: float) -> None:
    exact = renyi_by_integration(
        order, mixture([1], [mu], 1), mixture([1], [0], 1), [-30, -5, 0, 5, 10, 45]
    )
    assert abs(float(exact) / gaussian_rdp(order, mu) - 1) < 1e-14


def test_composition_agrees_with_the_root_of_squares() -> None:
    mus = [0.1, 0.2, 0.3]
    together = sum(gaussian_rdp(4.5, mu) for mu in mus)
    assert together == pytest.approx(gaussian_rdp(4.5, compose_mu(mus)), rel=1e-15)


@for_each(
    ("order", "rate", "sigma"),
    [(2, 0.01, 1.0), (5, 0.5, 0.8), (12, 1e-3, 2.0), (3, 1e-5, 1.0)],
)
def test_poisson_is_the_definition(order: int, rate: float, sigma: float) -> None:
    mixed, alone = mixture([1 - rate, rate], [0, 1], sigma), mixture([1], [0], sigma)
    exact = renyi_by_integration(order, mixed, alone, ENDS)
    # The weights 1 - rate and rate are rounded, and miss 1 by up to 1e-16.
    assert (
        abs(float(exact) - poisson_gaussian_rdp(order, rate, sigma))
        < 1e-12 * float(exact) + 3e-16
    )
    reverse = renyi_by_integration(order, alone, mixed, ENDS)
    assert reverse <= exact


def test_poisson_keeps_its_digits_at_tiny_rates() -> None:
    assert poisson_gaussian_rdp(2, 1e-100, 1.0) == pytest.approx(
        1e-200 * (math.e - 1), rel=1e-13
    )
    assert poisson_gaussian_rdp(2, 1e-9, 1.0) == pytest.approx(
        math.log1p(1e-18 * (math.e - 1)), rel=1e-13
    )


def test_ends_of_the_range() -> None:
    assert poisson_gaussian_rdp(4, 0, 1) == 0
    assert poisson_gaussian_rdp(4, 1, 0.5) == gaussian_rdp(4, 2.0)
    assert without_replacement_gaussian_rdp(4, 0, 1) == 0
    assert without_replacement_gaussian_rdp(4, 1, 0.5) == gaussian_rdp(4, 2.0)
    assert poisson_gaussian_rdp(2000, 0.01, 0.1) == pytest.approx(
        gaussian_rdp(2000, 10), rel=1e-3
    )


def test_refuses_what_is_outside_the_range() -> None:
    with pytest.raises(ValueError, match="order must be above 1"):
        gaussian_rdp(1, 1)
    with pytest.raises(ValueError, match="mu must be at least 0"):
        gaussian_rdp(2, -1)
    with pytest.raises(ValueError, match="whole number"):
        poisson_gaussian_rdp(1, 0.1, 1)
    with pytest.raises(ValueError, match="rate must be"):
        poisson_gaussian_rdp(2, 1.1, 1)
    with pytest.raises(ValueError, match="sigma must be"):
        poisson_gaussian_rdp(2, 0.1, 0)
    with pytest.raises(ValueError, match=r"orders 2 \.\. 4, 3 numbers, got 1"):
        without_replacement_rdp(4, 0.1, [1])
    with pytest.raises(ValueError, match="Renyi bound must be"):
        without_replacement_rdp(2, 0.1, [-1])


def test_second_opinion() -> None:
    accountant = pytest.importorskip(
        "dp_accounting.rdp.rdp_privacy_accountant", reason=MISSING
    )
    orders = [2, 3, 10, 100]
    for rate, sigma in [(0.01, 1.0), (0.3, 2.0), (1e-3, 0.7)]:
        theirs = accountant._compute_rdp_poisson_subsampled_gaussian(
            rate, sigma, orders
        )
        assert [poisson_gaussian_rdp(z, rate, sigma) for z in orders] == pytest.approx(
            list(theirs), rel=1e-6
        )
        theirs = accountant._compute_rdp_sample_wor_gaussian(rate, sigma, orders)
        ours = [without_replacement_gaussian_rdp(z, rate, sigma) for z in orders]
        # Theirs uses the sharper version of the theorem (forward differences) where it
        # can, never a weaker one.
        assert all(a <= b * (1 + 1e-6) for a, b in zip(theirs, ours, strict=True))
        assert ours == pytest.approx(list(theirs), rel=1.5)


def test_second_moment_is_the_chi_square() -> None:
    for sigma in (0.7, 3.0, 1e4):
        assert math.exp(log_chi_moments(sigma, 2)[0]) == pytest.approx(
            math.expm1(1 / sigma**2), rel=1e-12
        )


def test_moments_tend_to_those_of_a_normal_law() -> None:
    """P/Q - 1 is nearly normal with variance 1/sigma^2: its 8th moment is 105/sigma^8."""
    assert math.exp(log_chi_moments(1e3, 8)[3]) * 1e24 == pytest.approx(105, rel=1e-4)


@for_each("order", [2, 3, 9, 40, 101])
@for_each(("rate", "sigma"), [(0.01, 1.0), (0.3, 30.0), (1e-3, 0.7), (1.0, 2.0)])
def test_between_a_pair_and_theorem_9(order: int, rate: float, sigma: float) -> None:
    sharp = without_replacement_gaussian_sharp(order, rate, sigma)
    assert poisson_gaussian_rdp(order, rate, sigma) <= sharp * (1 + 1e-12)
    assert sharp <= without_replacement_gaussian_rdp(order, rate, sigma) * (1 + 1e-12)


def test_large_noise_gains_what_theorem_9_loses() -> None:
    assert without_replacement_gaussian_sharp(
        20, 0.05, 200.0
    ) < 0.02 * without_replacement_gaussian_rdp(20, 0.05, 200.0)


def test_ends_of_the_range_of_the_sharp_bound() -> None:
    assert without_replacement_gaussian_sharp(5, 0, 1) == 0
    assert without_replacement_gaussian_sharp(256, 1e-3, 1e6) > 0
    with pytest.raises(ValueError, match="whole number from 2 to 256"):
        without_replacement_gaussian_sharp(257, 0.1, 1)
    with pytest.raises(ValueError, match="rate must be"):
        without_replacement_gaussian_sharp(2, -0.1, 1)
    with pytest.raises(ValueError, match="sigma must be"):
        without_replacement_gaussian_sharp(2, 0.1, 0)


def test_second_opinion_on_the_sharp_bound() -> None:
    name = "dp_accounting.rdp.rdp_privacy_accountant"
    accountant = pytest.importorskip(name, reason=MISSING)
    for rate, sigma in [(0.01, 1.0), (0.1, 5.0), (1e-3, 0.7)]:
        for order in (2, 3, 10, 33):
            theirs = accountant._compute_rdp_sample_wor_gaussian(rate, sigma, [order])[
                0
            ]
            whole = order / (2 * sigma**2)
            assert without_replacement_gaussian_sharp(
                order, rate, sigma
            ) == pytest.approx(min(theirs, whole), rel=1e-9)
