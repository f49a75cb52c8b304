from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from scipy import special, stats

from dpverify.harness import (
    Bounded,
    MeanEffect,
    Plan,
    ProportionEffect,
    SubGaussian,
    TrajectoryEffect,
)
from dpverify.harness.statistics.effects import (
    Effect,
    correlation_power,
    smallest_sample,
)
from dpverify.harness.statistics.trajectory_sums import Pairs
from tests.for_each import for_each

EFFECTS: list[Effect] = [
    MeanEffect(0.1, SubGaussian(1.0)),
    MeanEffect(0.1, Bounded(0.0, 1.0)),
    ProportionEffect(0.0, 0.01),
    ProportionEffect(0.2, 0.05),
    TrajectoryEffect(4, 3, scale=1.05),
    TrajectoryEffect(4, 3, scale=0.95),
    TrajectoryEffect(4, 3, row_scale=1.1),
    TrajectoryEffect(4, 3, correlation=0.1),
    TrajectoryEffect(4, 3, correlation=0.3, pairs="signs"),
    TrajectoryEffect(4, 3, correlation=-0.3, pairs="signs"),
]


@for_each("effect", EFFECTS, ids=lambda effect: effect.text)
def test_n_is_the_smallest_sample_with_the_power(effect: Effect) -> None:
    plan = Plan(effect)
    assert effect.power(plan.n, plan.alpha) >= plan.power
    assert (
        plan.n == 1
        or effect.power(plan.n - 1, plan.alpha) < plan.power
        or _goes_down_and_up(effect)
    )
    assert plan.reached_power == effect.power(plan.n, plan.alpha)


def _goes_down_and_up(effect: Effect) -> bool:
    """Signs are counted in whole numbers, so that the power may fall a little where n grows by 1."""
    return isinstance(effect, TrajectoryEffect) and effect.pairs == "signs"


def test_signs_take_two_and_a_half_times_the_replications_of_products() -> None:
    products, signs = (
        Plan(TrajectoryEffect(1023, 8, correlation=0.05, pairs=pairs)).n
        for pairs in get_args(Pairs)
    )
    assert signs / products == pytest.approx((math.pi / 2.0) ** 2, rel=0.05)


def test_n_for_a_scale_agrees_with_the_normal_approximation() -> None:
    n = smallest_sample(TrajectoryEffect(1, 1, scale=1.02), 7e-6, 0.99)
    z_alpha, z_power = 4.8916, 2.3263  # of 1e-6 / 2 and 0.01
    assert n == pytest.approx(
        2 * ((z_alpha + z_power * 1.02**2) / (1.02**2 - 1)) ** 2, rel=0.02
    )


@for_each("length", [5.0, 34.0, 400.0])
@for_each("correlation", [0.2, 0.6, 0.999])
def test_the_power_against_correlated_rows_is_below_the_exact_one(
    correlation: float, length: float
) -> None:
    """Exactly: over the length of a row, of which its square is chi-square, the chance of a score on one side."""
    alpha, root = 1e-4, math.sqrt(1.0 - correlation**2)
    norms = np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, length))
    exact = special.ndtr(
        (correlation * norms + special.ndtri(alpha / 2.0)) / root
    ).mean()
    stated = correlation_power(correlation, length, alpha)
    assert 0.0 <= stated <= exact * (1.0 + 1e-4)


ROWS, COLUMNS, LEVEL = 5, 3, 1e-3
# seven tests share a level, and each test shares its own over what it compares
EACH = LEVEL / 7


@for_each("correlation", [0.3, -0.5])
def test_the_power_of_opposite_signs_is_the_binomial_one(correlation: float) -> None:
    n = 40
    signs, pairs = n * COLUMNS, ROWS * (ROWS - 1) / 2
    counts = np.arange(signs + 1)
    p_values = 2.0 * stats.binom.cdf(np.minimum(counts, signs - counts), signs, 0.5)
    law = stats.binom.pmf(counts, signs, math.acos(correlation) / math.pi)
    effect = TrajectoryEffect(ROWS, COLUMNS, correlation=correlation, pairs="signs")
    assert effect.power(n, LEVEL) == pytest.approx(
        law[p_values <= EACH / pairs].sum(), rel=1e-9
    )


@for_each("ratio", [1.3, 0.8])
def test_the_power_against_a_scale_is_that_of_a_chi_square_test_at_the_level_of_one_comparison(
    ratio: float,
) -> None:
    n = 40

    def exact(dof: int, level: float) -> float:
        law = stats.chi2(dof)
        return float(
            law.sf(law.isf(level / 2) / ratio**2)
            + law.cdf(law.ppf(level / 2) / ratio**2)
        )

    one_row = TrajectoryEffect(ROWS, COLUMNS, row_scale=ratio).power(n, LEVEL)
    assert one_row == pytest.approx(exact(n * COLUMNS, EACH / ROWS), rel=1e-6)
    assert TrajectoryEffect(ROWS, COLUMNS, scale=ratio).power(
        n, LEVEL
    ) == pytest.approx(exact(n * COLUMNS * ROWS, EACH), rel=1e-6)


def test_the_power_against_correlated_products_is_at_the_level_of_one_pair() -> None:
    effect = TrajectoryEffect(ROWS, COLUMNS, correlation=0.3)
    assert effect.power(40, LEVEL) == correlation_power(
        0.3, 40 * COLUMNS, EACH / (ROWS * (ROWS - 1) / 2)
    )


def test_a_shift_is_seen_where_it_covers_the_two_sided_radius_and_the_deviation_of_the_mean() -> (
    None
):
    n, alpha, shift = 1000, 1e-6, 0.3
    room = shift - math.sqrt(2 * math.log(2 / alpha) / n)
    missed = 1.0 - MeanEffect(shift, SubGaussian(1.0)).power(n, alpha)
    assert 1.0 <= missed / math.exp(-n * room**2 / 2) <= 1.1


def test_zero_null_needs_one_success() -> None:
    assert Plan(ProportionEffect(0.0, 0.5), power=0.99).n == 7  # 2**-7 < 1% < 2**-6


def test_a_trajectory_is_planned_for_its_hardest_fault() -> None:
    easy, hard = (
        TrajectoryEffect(8, 1, scale=1.5),
        TrajectoryEffect(8, 1, scale=1.5, row_scale=1.02),
    )
    assert Plan(hard).n == Plan(TrajectoryEffect(8, 1, row_scale=1.02)).n > Plan(easy).n


def test_blocks_cover_n_exactly() -> None:
    plan = Plan(MeanEffect(0.1, SubGaussian(1.0)), block=1000)
    sizes = [plan.size_of(block) for block in range(plan.blocks)]
    assert sum(sizes) == plan.n
    assert sizes[:-1] == [1000] * (plan.blocks - 1)
    assert 1 <= sizes[-1] <= 1000


def test_default_block_holds_memory_flat() -> None:
    plan = Plan(TrajectoryEffect(1023, 8, correlation=0.02))
    assert plan.block_size * 1023 * 8 <= 1 << 22
    assert plan.blocks > 10


def test_seconds_are_declared_or_follow_from_the_effect() -> None:
    declared = Plan(MeanEffect(0.1, SubGaussian(1.0)), seconds_each=0.5)
    assert declared.seconds(3) == 1.5 * declared.n
    estimated = Plan(MeanEffect(0.1, SubGaussian(1.0), values=10))
    assert estimated.seconds(1) == pytest.approx(1e-6 * estimated.n)


@for_each(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"power": 0.5}, "power=0.5"),
        ({"block": 0}, "block=0"),
        ({"seconds_each": 0.0}, "seconds_each=0.0"),
    ],
)
def test_plans_outside_their_ranges_are_refused(
    arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Plan(MeanEffect(0.1, SubGaussian(1.0)), **arguments)  # type: ignore[arg-type]  # one wrong value each


def test_effects_that_are_no_fault_are_refused() -> None:
    with pytest.raises(ValueError, match="must declare"):
        TrajectoryEffect(3, 1)
    with pytest.raises(ValueError, match=r"scale=1\.0"):
        TrajectoryEffect(3, 1, scale=1.0)
    with pytest.raises(ValueError, match="at least 2 rows"):
        TrajectoryEffect(1, 1, correlation=0.5)
    with pytest.raises(ValueError, match="correlation=0"):
        TrajectoryEffect(2, 1, correlation=0.0)
    with pytest.raises(ValueError, match="shift=0"):
        MeanEffect(0.0, SubGaussian(1.0))
    with pytest.raises(ValueError, match="null"):
        ProportionEffect(0.9, 0.2)


def test_an_effect_nobody_can_see_is_refused() -> None:
    with pytest.raises(ValueError, match="must be seen with at most"):
        _ = Plan(MeanEffect(1e-9, SubGaussian(1.0))).n
    assert MeanEffect(1e-9, SubGaussian(1.0)).power(10**6, 1e-6) == 0.0
    assert not math.isnan(MeanEffect(1e-9, SubGaussian(1.0)).power(1, 1e-6))
