"""Conversions to (epsilon, delta): their order, the worst two-point laws, the exact trade-off, a second opinion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.privacy.conversions import (
    classic_epsilon,
    improved_epsilon,
    tight_epsilon,
    zcdp_epsilon,
)
from dpverify.privacy.gaussian import epsilon_of
from tests.for_each import for_each

MISSING = "the extra `accounting` is not installed"
CASES = [
    (2, 0.1, 1e-5),
    (10, 1, 1e-5),
    (1.5, 0.3, 0.2),
    (20, 0.01, 1e-300),
    (100, 3, 0.5),
    (3, 0.001, 0.001),
    (2, 50, 1e-3),
]


@for_each(("order", "rdp", "delta"), CASES)
def test_each_form_improves_on_the_one_before(
    order: float, rdp: float, delta: float
) -> None:
    classic, improved, tight = (
        f(order, rdp, delta) for f in (classic_epsilon, improved_epsilon, tight_epsilon)
    )
    assert tight <= improved * (1 + 1e-12) < classic
    assert tight >= 0


@for_each(("order", "rdp", "delta"), CASES)
def test_the_improved_form_is_the_tight_one_without_the_second_term(
    order: float, rdp: float, delta: float
) -> None:
    """The least of z log p + (1 - z) log q, over q with p = delta + exp(epsilon) q, is (z - 1) rdp."""
    epsilon = improved_epsilon(order, rdp, delta)
    # log q, around the least
    s = (
        np.linspace(-60.0, 60.0, 12_001)
        + math.log(delta)
        - epsilon
        + math.log(order - 1)
    )
    first = order * np.logaddexp(math.log(delta), epsilon + s) + (1 - order) * s
    assert epsilon == 0 or float(first.min()) == pytest.approx(
        (order - 1) * rdp, rel=1e-3, abs=1e-6
    )


def worst_delta(order: float, rdp: float, epsilon: float) -> float:
    """Largest p - exp(epsilon) q over two-point laws whose Renyi divergence is at most rdp, on a grid."""
    q = np.geomspace(1e-14, 1 - 1e-9, 4001)[:, None]
    p = np.geomspace(1e-9, 1 - 1e-9, 4001)[None, :]
    with np.errstate(over="ignore"):
        moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return float(
        np.max(
            np.where(
                moment <= math.exp((order - 1) * rdp), p - math.exp(epsilon) * q, 0
            )
        )
    )


@for_each(
    ("order", "rdp", "delta"),
    [(2, 0.1, 1e-3), (1.5, 0.3, 0.2), (10, 1, 1e-4), (4, 0.5, 0.05)],
)
def test_tight_conversion_is_the_worst_pair_of_two_point_laws(
    order: float, rdp: float, delta: float
) -> None:
    epsilon = tight_epsilon(order, rdp, delta)
    assert 0.97 * delta < worst_delta(order, rdp, epsilon) <= delta * (1 + 1e-9)


@for_each(
    ("rho", "delta"), [(0.5, 1e-5), (1e-6, 1e-300), (50, 1e-5), (1e-4, 0.5), (5, 0.9)]
)
def test_zcdp_is_above_the_exact_trade_off(rho: float, delta: float) -> None:
    exact = epsilon_of(math.sqrt(2 * rho), delta)
    assert exact <= zcdp_epsilon(rho, delta)
    assert zcdp_epsilon(rho, delta) == pytest.approx(
        classic_epsilon(
            1 + math.sqrt(-math.log(delta) / rho),
            rho * (1 + math.sqrt(-math.log(delta) / rho)),
            delta,
        )
    )


def test_nothing_lost_nothing_asked() -> None:
    assert zcdp_epsilon(0, 1e-5) == 0
    assert tight_epsilon(2, 0, 1e-5) == 0


@for_each(
    "arguments", [(1, 1, 0.1), (2, -1, 0.1), (2, 1, 0), (2, 1, 1), (math.nan, 1, 0.1)]
)
def test_refuses_what_is_outside_the_range(
    arguments: tuple[float, float, float],
) -> None:
    for convert in (classic_epsilon, improved_epsilon, tight_epsilon):
        with pytest.raises(ValueError, match="must be"):
            convert(*arguments)


def test_second_opinion() -> None:
    accountant = pytest.importorskip(
        "dp_accounting.rdp.rdp_privacy_accountant", reason=MISSING
    )
    for order, rdp, delta in [(10, 1, 1e-5), (3, 0.5, 1e-2), (50, 0.01, 1e-12)]:
        epsilon, _ = accountant.compute_epsilon([order], [rdp], delta)
        assert improved_epsilon(order, rdp, delta) == pytest.approx(epsilon, rel=1e-12)
    common = pytest.importorskip("dp_accounting", reason=MISSING)
    for sigma, delta in [(1.0, 1e-5), (0.3, 1e-10), (20.0, 1e-3)]:
        assert epsilon_of(1 / sigma, delta) == pytest.approx(
            common.get_epsilon_gaussian(sigma, delta), rel=1e-9
        )
