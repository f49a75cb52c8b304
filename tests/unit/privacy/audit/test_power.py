"""The power that an audit declares, against the noncentral F distribution of scipy and against games."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dpverify.privacy.audit.audit import (
    TARGET_POWER,
    THRESHOLD_ERROR,
    power_of_any,
    power_of_gaussian,
)
from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.gaussian import mu_of
from tests.for_each import for_each


@for_each(
    ("epsilon", "delta", "n"), [(1.0, 1e-5, 100_000), (1.0, 0.1, 47), (8.0, 1e-6, 3000)]
)
@for_each("rank", [1, 8])
@for_each("alpha", [0.05, 1e-6])
def test_the_smallest_shortfall_is_seen_with_the_chance_that_is_said(
    epsilon: float, delta: float, n: int, rank: int, alpha: float
) -> None:
    shortfall = power_of_gaussian(epsilon, delta, n, rank, alpha).shortfall
    assert shortfall is not None
    claimed, second = mu_of(epsilon, delta), 2 * n - 1 - rank
    critical = stats.ncf.ppf(1.0 - alpha, rank, second, 0.5 * n * claimed**2)
    real = claimed / (1.0 - shortfall)
    assert stats.ncf.sf(critical, rank, second, 0.5 * n * real**2) == pytest.approx(
        TARGET_POWER, abs=1e-5
    )


def test_the_power_goes_on_beyond_the_reach_of_the_series() -> None:
    """The normal approximation takes over at n = 17 925."""
    exact, approximate = (
        power_of_gaussian(100.0, 1e-5, n, 1, 0.05).shortfall for n in (15_000, 20_000)
    )
    assert exact is not None
    assert approximate is not None
    assert approximate == pytest.approx(exact * (15_000 / 20_000) ** 0.5, rel=0.03)


def test_nothing_is_seen_of_a_claim_of_delta_0_or_without_noise() -> None:
    assert power_of_gaussian(1.0, 0.0, 1000, 1, 0.05).shortfall is None
    assert power_of_gaussian(1.0, 1e-5, 1, 3, 0.05).shortfall is None


@for_each(("epsilon", "delta", "trials"), [(1.0, 1e-5, 20_000), (0.5, 1e-3, 5000)])
def test_with_nothing_assumed_about_so_many_games_are_won(
    epsilon: float, delta: float, trials: int
) -> None:
    """Of two Gaussians, by the best threshold, when it is off by as much as is declared."""
    power, rng = power_of_any(epsilon, delta, trials, 0.05), np.random.default_rng(1)
    assert power.shortfall is not None
    mu = mu_of(epsilon, delta) / (1.0 - power.shortfall)

    def won(threshold: float) -> float:
        chances = (special.ndtr(side - threshold) for side in (mu / 2.0, -mu / 2.0))
        right, wrong = (
            rng.binomial(trials, chance, 500).astype(np.float64) for chance in chances
        )
        return float(
            (lower_epsilon(right, wrong, trials, delta, 0.05) > epsilon).mean()
        )

    best = max(
        min(won(place - THRESHOLD_ERROR), won(place + THRESHOLD_ERROR))
        for place in np.arange(1.0, 3.5, 0.1)
    )
    assert TARGET_POWER - 0.04 < best < TARGET_POWER + 0.06


def test_without_a_round_nothing_is_seen() -> None:
    power = power_of_any(1.0, 1e-5, 0, 0.05)
    assert (power.shortfall, power.largest_epsilon) == (None, 0.0)
