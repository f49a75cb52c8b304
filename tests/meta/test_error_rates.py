"""Error rates agree with their plans: how often a true law is refuted, and a fault of the declared size is missed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from dpverify.harness import (
    Context,
    MeanEffect,
    MeanLaw,
    Plan,
    ProportionEffect,
    SubGaussian,
    TrajectoryEffect,
)
from dpverify.harness.statistics.effects import Effect, proportion_limits
from dpverify.harness.statistics.exact_tests import (
    distribution_test,
    normal_test,
    opposite_signs_test,
    pair_scores,
    scale_test,
)
from dpverify.harness.statistics.trajectory_effects import SHARE
from dpverify.harness.statistics.trajectory_law import TrajectoryLaw, trajectory_tests
from dpverify.harness.statistics.trajectory_sums import (
    Pairs,
    TrajectoryStatistics,
    collect,
    whitening,
)
from tests.for_each import for_each

Floats = NDArray[np.float64]
SEEDS = 1000
ALPHA = 0.05
CERTAIN = 1e-4
"""Chance that a test in this file fails though the rate is right."""
T, D, N = 4, 2, 30
COVARIANCE: Floats = np.minimum.outer(np.arange(1.0, T + 1), np.arange(1.0, T + 1))


def trajectories(rng: np.random.Generator, n: int = N) -> Floats:
    sample: Floats = np.cumsum(rng.standard_normal((n, T, D)), axis=1)
    return sample


def statistics_of(sample: Floats, pairs: Pairs = "products") -> TrajectoryStatistics:
    return collect(whitening(COVARIANCE), sample, pairs=pairs)


def assert_rate(hits: int, trials: int, at_most: float, at_least: float = 0.0) -> None:
    """Assert that a count agrees with a rate, up to the uncertainty of the binomial law."""
    low = stats.binom.ppf(CERTAIN, trials, at_least) if at_least else 0
    high = stats.binom.isf(CERTAIN, trials, at_most)
    assert low <= hits <= high, (
        f"{hits} of {trials}, wanted a rate from {at_least} to {at_most}"
    )


@for_each("pairs", ["products", "signs"])
def test_all_trajectory_tests_together_refute_a_true_law_at_most_alpha_often(
    pairs: Pairs,
) -> None:
    hits = 0
    by_test: dict[str, int] = {}
    for seed in range(SEEDS):
        outcomes = trajectory_tests(
            statistics_of(trajectories(np.random.default_rng(seed)), pairs), ALPHA
        )
        hits += any(outcome.refuted for outcome in outcomes)
        for outcome in outcomes:
            by_test[outcome.name] = by_test.get(outcome.name, 0) + outcome.refuted
    assert len(by_test) == 7
    assert_rate(hits, SEEDS, at_most=ALPHA, at_least=ALPHA / 3)
    for name, count in by_test.items():
        assert_rate(count, SEEDS, at_most=ALPHA * SHARE)
        assert count > 0 or name == "marginal law", f"{name} never refuted anything"


def test_each_exact_test_has_exactly_its_level_where_it_makes_one_comparison() -> None:
    hits = {"scale": 0, "normal": 0, "pair": 0}
    signs = 0
    for seed in range(SEEDS):
        # only 3 numbers: an asymptotic test would fail
        rows = np.random.default_rng([1, seed]).standard_normal((2, 3))
        hits["scale"] += scale_test("", np.array([rows[0] @ rows[0]]), 3, ALPHA).refuted
        hits["normal"] += normal_test(
            "", np.array([rows[0].sum() / 3**0.5]), ALPHA
        ).refuted
        hits["pair"] += normal_test("", pair_scores(rows @ rows.T)[0], ALPHA).refuted
        more = np.random.default_rng([6, seed]).standard_normal((2, 17))
        opposite = np.array([((more[0] < 0.0) != (more[1] < 0.0)).sum()])
        signs += opposite_signs_test("", opposite, 17, ALPHA).refuted
    for count in hits.values():
        assert_rate(count, SEEDS, at_most=ALPHA, at_least=ALPHA)
    # the largest level up to alpha, because counts are integers
    level = 2 * stats.binom.cdf(4, 17, 0.5)
    assert 0.04 < level <= ALPHA
    assert_rate(signs, SEEDS, at_most=level, at_least=level)


def test_the_distribution_band_keeps_its_level_on_a_grid() -> None:
    grid = np.linspace(-2.0, 2.0, 41)
    hits = 0
    for seed in range(SEEDS):
        values = np.random.default_rng([2, seed]).standard_normal(200)
        counts = np.bincount(
            np.searchsorted(grid, values), minlength=grid.size + 1
        ).astype(np.int64)
        hits += distribution_test("", counts, special.ndtr(grid), ALPHA).refuted
    assert_rate(hits, SEEDS, at_most=ALPHA)
    assert hits > 0


POWER = 0.99
LAW = TrajectoryLaw(lambda _: COVARIANCE)


@for_each(
    "effect",
    [
        TrajectoryEffect(T, D, scale=1.2),
        TrajectoryEffect(T, D, scale=0.8),
        TrajectoryEffect(T, D, row_scale=1.4),
        TrajectoryEffect(T, D, correlation=0.7),
        TrajectoryEffect(T, D, correlation=0.7, pairs="signs"),
        TrajectoryEffect(T, D, correlation=-0.5, pairs="signs"),
    ],
    ids=lambda effect: effect.text,
)
def test_trajectory_faults_of_the_declared_size_are_refuted_with_the_declared_power(
    context: Context, effect: TrajectoryEffect
) -> None:
    plan = Plan(effect, alpha=1e-3, power=POWER)
    (fault,) = replace(LAW, pairs=effect.pairs).planted(context, effect)
    seen = 0
    for seed in range(400):
        rng = np.random.default_rng([3, seed])
        sample = fault.change(context, trajectories(rng, plan.n), rng)
        seen += any(
            outcome.refuted
            for outcome in trajectory_tests(
                statistics_of(sample, effect.pairs), plan.alpha
            )
        )
    assert_rate(400 - seen, 400, at_most=1.0 - POWER)


def test_a_plan_is_not_wasteful() -> None:
    """With a third of the planned sample, the declared fault is often missed, so n is not larger than necessary."""
    effect = TrajectoryEffect(T, D, scale=1.2)
    assert effect.power(Plan(effect, alpha=1e-3, power=POWER).n // 3, 1e-3) < 0.7


def test_means_off_by_the_declared_shift_are_refuted_with_the_declared_power(
    context: Context,
) -> None:
    effect = MeanEffect(0.5, SubGaussian(1.0))
    plan = Plan(effect, alpha=1e-3, power=POWER)
    judge = MeanLaw(lambda _: 0.0, SubGaussian(1.0))
    missed = sum(
        judge.decide(
            context,
            judge.collect(
                context,
                np.random.default_rng([4, seed]).normal(effect.shift, 1.0, plan.n),
            ),
            plan.alpha,
        ).outcome
        == "agrees"
        for seed in range(400)
    )
    assert_rate(missed, 400, at_most=1.0 - POWER)


@for_each(
    "effect",
    [ProportionEffect(0.1, 0.1), ProportionEffect(0.0, 0.02)],
    ids=lambda e: e.text,
)
def test_probabilities_are_planned_exactly(effect: ProportionEffect) -> None:
    plan = Plan(effect, alpha=1e-3, power=POWER)
    counts = range(plan.n + 1)
    refuted = [
        proportion_limits(k, plan.n, plan.alpha)[0] > effect.null for k in counts
    ]
    null = sum(
        stats.binom.pmf(k, plan.n, effect.null)
        for k, hit in zip(counts, refuted, strict=True)
        if hit
    )
    fault = sum(
        stats.binom.pmf(k, plan.n, effect.null + effect.shift)
        for k, hit in zip(counts, refuted, strict=True)
        if hit
    )
    assert null <= plan.alpha
    assert fault >= POWER
    assert fault == pytest.approx(effect.power(plan.n, plan.alpha), abs=1e-9)


@for_each(
    "effect", [TrajectoryEffect(T, D, correlation=0.3)], ids=lambda effect: effect.text
)
def test_the_stated_power_is_a_lower_bound(effect: Effect) -> None:
    n = 25
    stated = effect.power(n, 0.5)
    assert isinstance(effect, TrajectoryEffect)
    seen = 0
    for seed in range(SEEDS):
        rows = np.random.default_rng([5, seed]).standard_normal((2, n * D))
        rows[1] = 0.3 * rows[0] + (1 - 0.3**2) ** 0.5 * rows[1]
        seen += normal_test("", pair_scores(rows @ rows.T)[0], 0.5 * SHARE / 6).refuted
    assert_rate(SEEDS - seen, SEEDS, at_most=1.0 - stated)
