"""The noncentral F law, solved: against scipy's own distribution, and the two directions against each other."""

from __future__ import annotations

import math

import pytest
from scipy import special, stats

from dpverify.privacy import noncentral_f
from dpverify.privacy.noncentral_f import (
    cdf,
    lower_noncentrality,
    quantile,
    root_of_decreasing,
)
from tests.for_each import for_each

LAWS = [
    (1, 19998, 2500.0),
    (1, 199_998, 3.0),
    (3, 5, 40.0),
    (8, 1991, 0.5),
    (50, 4000, 90_000.0),
]


@for_each(("first", "second", "noncentrality"), LAWS)
@for_each("chance", [0.05, 0.9, 0.95, 1.0 - 1e-6])
def test_the_quantile_is_that_of_scipy(
    first: int, second: int, noncentrality: float, chance: float
) -> None:
    expected = float(stats.ncf.ppf(chance, first, second, noncentrality))
    assert quantile(first, second, noncentrality, chance) == pytest.approx(
        expected, rel=1e-8
    )


@for_each(("first", "second", "noncentrality"), LAWS)
@for_each("alpha", [0.05, 0.5, 1e-6])
def test_the_bound_is_the_noncentrality_whose_quantile_was_seen(
    first: int, second: int, noncentrality: float, alpha: float
) -> None:
    seen = quantile(first, second, noncentrality, 1.0 - alpha)
    assert lower_noncentrality(seen, first, second, alpha) == pytest.approx(
        noncentrality, rel=1e-6, abs=1e-6
    )


@for_each("alpha", [0.05, 1e-4])
def test_the_bound_never_passes_the_level(alpha: float) -> None:
    """The chance of the statistic, or less, under the bound is at least 1 - alpha as computed."""
    for first, second, noncentrality in LAWS:
        statistic = 1.3 * (noncentrality / first + 1.0)
        bound = lower_noncentrality(statistic, first, second, alpha)
        if bound > 0.0:
            assert cdf(first, second, bound, statistic) >= 1.0 - alpha
            assert cdf(first, second, bound * (1.0 + 1e-6), statistic) < 1.0 - alpha


@for_each("alpha", [0.05, 1e-4])
def test_beyond_the_series_numerator_and_denominator_have_half_of_the_level_each(
    alpha: float,
) -> None:
    """The denominator is below ``least``, and the numerator's part of chance above ``most``, with alpha/2 each."""
    first, second, statistic = 3, 40, 1e9
    root = math.sqrt(lower_noncentrality(statistic, first, second, alpha))
    least = float(stats.chi2.ppf(alpha / 2, second)) / second
    most = math.sqrt(first * statistic * least) - root
    assert stats.chi2.sf(most**2, first) == pytest.approx(alpha / 2, rel=1e-4)


def test_a_statistic_that_chance_explains_gives_no_bound() -> None:
    assert lower_noncentrality(1.0, 1, 1998, 0.05) == 0.0
    assert (
        lower_noncentrality(float(stats.f.ppf(0.95, 1, 1998)) * 1.01, 1, 1998, 0.05)
        > 0.0
    )


def test_the_bound_goes_on_beyond_the_series() -> None:
    """The bound that takes over excludes nothing more, and loses little."""
    below, above = 0.999 * noncentral_f.MAX_TOTAL, 1.001 * noncentral_f.MAX_TOTAL
    before, after = (
        lower_noncentrality(value, 1, 199_998, 0.05) for value in (below, above)
    )
    assert 0.99 * before < after < before * above / below


def test_few_values_of_the_distribution_function_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are what an audit of few outputs takes: some thirty in all, not hundreds."""
    asked = []

    def counted(first: int, second: int, noncentrality: float, value: float) -> float:
        asked.append(noncentrality)
        return float(special.ncfdtr(first, second, noncentrality, value))

    monkeypatch.setattr(noncentral_f, "cdf", counted)
    for first, second, noncentrality in LAWS:
        lower_noncentrality(
            1.1 * (noncentrality / first + 1.0) + 10.0, first, second, 0.05
        )
    assert len(LAWS) < len(asked) <= 12 * len(LAWS)


def test_a_function_of_steps_is_halved_to_its_jump() -> None:
    """Near probability 1 a distribution function is a staircase: false position alone would creep along a step."""
    steps = []

    def stairs(x: float) -> float:
        steps.append(x)
        return 0.0 if x < 4.25 else -1.0

    assert root_of_decreasing(stairs, 4.0, 0.5, least=0.0) == pytest.approx(
        4.25, rel=1e-8
    )
    assert len(steps) < 60


def test_no_root_above_the_least_is_the_least() -> None:
    assert root_of_decreasing(lambda x: -1.0 - x, 3.0, 1.0, least=0.5) == 0.5
    assert math.isclose(
        root_of_decreasing(lambda x: 2.0 - x, 900.0, 1.0, least=0.0), 2.0, rel_tol=1e-9
    )


def test_where_the_denominator_may_be_nearly_0_there_is_no_bound_beyond_the_series() -> (
    None
):
    """With one degree of freedom it makes so large a statistic of a numerator that is all chance."""
    statistic, alpha = 1e9, 1e-6
    assert stats.f.sf(statistic, 3, 1) > alpha / 2
    assert lower_noncentrality(statistic, 3, 1, alpha) == 0.0
