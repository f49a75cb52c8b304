"""Exact limits for a mean, and the number of runs that a plan needs."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.harness.simulation import runs_check as limits
from dpverify.harness.statistics.effects import smallest_sample
from tests.for_each import for_each


@for_each("mean", [0.2, 0.6])
def test_the_capital_of_a_coin_is_fair_on_average(mean: float) -> None:
    expected = 0.0
    for number in range(2**8):
        tosses = [number >> k & 1 for k in range(8)]
        chance = np.prod([mean if toss else 1 - mean for toss in tosses])
        expected += chance * np.exp(limits.log_capital(tosses, mean))
    assert expected == pytest.approx(1.0, rel=1e-12)


def test_the_limit_is_seldom_above_the_mean() -> None:
    rng = np.random.default_rng(0)
    above = sum(
        limits.lower_limit(list(rng.random(20) < 0.1), 0.05) > 0.1 for _ in range(2000)
    )
    assert 0 < above <= 100


def test_the_limit_of_values_that_do_not_vary_is_close_to_them() -> None:
    assert 0.1 < limits.lower_limit([0.15] * 60, 1e-6) < 0.15
    assert limits.lower_limit([0.0] * 60, 1e-6) == 0.0
    with pytest.raises(ValueError, match="at least 0"):
        limits.log_capital([-0.1], 0.5)


@for_each("bound", [0.3, 0.75])
def test_the_planned_number_of_runs_sees_the_declared_excess(bound: float) -> None:
    n, mean = (
        smallest_sample(limits.Excess(bound), 1e-3, 0.99),
        limits.Excess(bound).mean,
    )
    rng = np.random.default_rng(1)
    seen = sum(
        limits.lower_limit(list(rng.random(n) < mean), 1e-3) > bound for _ in range(400)
    )
    assert seen >= 390
    assert (
        limits.Excess(bound).power(n, 1e-3)
        >= 0.99
        > limits.Excess(bound).power(n - 1, 1e-3)
    )


@for_each("bound", [0.1, 0.5])
def test_the_power_is_that_of_the_first_stake_with_its_share_of_the_capital(
    bound: float,
) -> None:
    n, alpha, mean = 30, 1e-3, bound + 0.9 * (1.0 - bound)
    powers = np.geomspace(0.01, 30.0, 20_001)
    shrunk = (
        mean * (1.0 + 0.9 * (1.0 / bound - 1.0)) ** -powers
        + (1.0 - mean) * 0.1**-powers
    )
    missed = float(np.exp((n * np.log(shrunk) - powers * np.log(0.8 * alpha)).min()))
    assert missed < 0.5
    assert 1.0 - limits.Excess(bound).power(n, alpha) == pytest.approx(missed, rel=5e-3)
