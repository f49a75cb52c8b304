from __future__ import annotations

import math

import pytest
from scipy import stats

from dpverify.harness import Bounded, SubGaussian
from dpverify.harness.statistics.effects import proportion_limits
from tests.for_each import for_each


def test_sub_gaussian_radius_is_the_formula() -> None:
    assert SubGaussian(2.0).radius(100, 0.0, 1e-6) == pytest.approx(
        2 * math.sqrt(2 * math.log(1e6) / 100)
    )


def test_empirical_bernstein_is_maurer_and_pontil() -> None:
    want = math.sqrt(2 * 0.04 * math.log(2e6) / 1000) + 7 * 3.0 * math.log(2e6) / (
        3 * 999
    )
    assert Bounded(-1.0, 2.0).radius(1000, 0.04, 1e-6) == pytest.approx(want)
    assert Bounded(0.0, 1.0).radius(1, 0.0, 0.1) == math.inf


def test_worst_radius_covers_every_variance_there_can_be() -> None:
    tail = Bounded(0.0, 4.0)
    half_and_half = 4.0 * 10 / 9  # sample variance of five zeros and five fours
    assert tail.worst_radius(10, 0.01) == pytest.approx(
        tail.radius(10, half_and_half, 0.01)
    )


@for_each("beta", [0.2, 1e-2, 1e-4])
@for_each("n", [10, 400])
def test_the_mean_of_coin_tosses_strays_beyond_the_deviation_at_most_as_often_as_it_says(
    n: int, beta: float
) -> None:
    least = 3.0 * 0.5 + Bounded(0.0, 3.0).deviation(n, beta)  # of values 0 and 3
    assert (
        0.0 < stats.binom.sf(math.ceil(n * least / 3.0) - 1, n, 0.5) <= beta
        or n * least / 3.0 > n
    )


@for_each(("successes", "n"), [(0, 10), (3, 10), (10, 10), (999, 1000)])
def test_clopper_pearson_agrees_with_scipy_stats(successes: int, n: int) -> None:
    lower, upper = proportion_limits(successes, n, 0.01)
    interval = stats.binomtest(successes, n).proportion_ci(
        confidence_level=0.98, method="exact"
    )
    assert lower == pytest.approx(interval.low)
    assert upper == pytest.approx(interval.high)


@for_each(
    "call",
    [
        lambda: SubGaussian(0.0),
        lambda: SubGaussian(math.nan),
        lambda: Bounded(1.0, 1.0),
    ],
)
def test_tails_that_are_none_are_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match="must be finite"):
        call()


def test_counts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="successes=11, n=10"):
        proportion_limits(11, 10, 0.01)
