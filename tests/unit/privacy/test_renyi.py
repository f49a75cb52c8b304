"""Renyi curves of Gaussian families against the definition, and their composition."""

from __future__ import annotations

import math

import mpmath
import pytest

from dpverify.privacy.gaussian import compose_mu, delta_of
from dpverify.privacy.oracle import delta_by_integration, mixture, renyi_by_integration
from dpverify.privacy.renyi import (
    between_integers,
    compose_rdp,
    compose_zcdp,
    gaussian_rdp,
    mu_of_zcdp,
    zcdp_of,
)


@pytest.mark.parametrize(("order", "mu"), [(2, 1.0), (1.5, 0.25), (7, 0.5), (1.01, 3.0)])
def test_gaussian_curve_is_the_definition(order: float, mu: float) -> None:
    exact = renyi_by_integration(order, mixture([1], [mu], 1), mixture([1], [0], 1), [-30, -5, 0, 5, 10, 45])
    assert abs(float(exact) / gaussian_rdp(order, mu) - 1) < 1e-14


def test_hockey_stick_oracle_agrees_with_the_trade_off() -> None:
    mu, epsilon = 0.5, 1.0
    crossing = epsilon / mu + mu / 2
    exact = delta_by_integration(epsilon, mixture([1], [mu], 1), mixture([1], [0], 1), [crossing, crossing + 5, 40])
    assert abs(mpmath.mpf(delta_of(mu, epsilon)) / exact - 1) < 1e-13


def test_composition_adds_up_and_agrees_with_the_root_of_squares() -> None:
    mus = [0.1, 0.2, 0.3]
    together = compose_rdp([lambda order, mu=mu: gaussian_rdp(order, mu) for mu in mus])  # type: ignore[misc]  # mypy does not type a default of a lambda
    assert together(4.5) == pytest.approx(gaussian_rdp(4.5, compose_mu(mus)), rel=1e-15)
    assert compose_zcdp(map(zcdp_of, mus)) == pytest.approx(zcdp_of(compose_mu(mus)), rel=1e-15)
    assert mu_of_zcdp(zcdp_of(0.7)) == pytest.approx(0.7, rel=1e-15)


def test_between_integers_lies_above_a_curve_and_on_it_at_integers() -> None:
    for order in (1.1, 1.9, 2.5, 7.3):
        exact = gaussian_rdp(order, 1.0)
        bound = between_integers(lambda z: gaussian_rdp(z, 1.0), order)
        assert exact < bound <= exact + 0.25 / 2 / (order - 1)
    assert between_integers(lambda z: gaussian_rdp(z, 1.0), 5) == 2.5


def test_refuses_what_is_outside_the_range() -> None:
    with pytest.raises(ValueError, match="order must be above 1"):
        gaussian_rdp(1, 1)
    with pytest.raises(ValueError, match="mu must be at least 0"):
        zcdp_of(-1)
    with pytest.raises(ValueError, match="rho must be at least 0"):
        mu_of_zcdp(math.nan)
    with pytest.raises(ValueError, match="each rho"):
        compose_zcdp([1, -1])
