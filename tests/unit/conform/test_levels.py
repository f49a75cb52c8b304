"""Where each test of the kit draws its line: at half of its level on each side, shared by all that it looks at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import binom, chi2, norm

from dpverify.conform.noise.law import TAIL_LIMITS, _column_pairs_test, _shape_test
from dpverify.conform.noise.runs import mean_test, scale_test
from dpverify.conform.records import ConformanceTest
from dpverify.conform.sampling import _binomial_test
from tests.for_each import for_each

ALPHA = 0.01
# of numbers or events: counts whose tails differ by half are many apart
COUNT = 1_000_000

Judge = Callable[[float], ConformanceTest]


def of_mean(tail: float) -> ConformanceTest:
    """The mean of one coordinate lies where so much is beyond it; that of the other is 0."""
    x = np.zeros((4, 1, 2))
    x[:, 0, 1] = norm.isf(tail) / 2.0
    return mean_test(x, ALPHA)


def of_scale(tail: float) -> ConformanceTest:
    return scale_test("", np.full((50, 2), np.sqrt(chi2.isf(tail, 100) / 100.0)), ALPHA)


def of_little_scale(tail: float) -> ConformanceTest:
    return scale_test("", np.full((50, 2), np.sqrt(chi2.ppf(tail, 100) / 100.0)), ALPHA)


def of_pairs(tail: float) -> ConformanceTest:
    """Two equal columns: the half of the square of their sum is twice that of one, which is looked at as well."""
    return _column_pairs_test(
        "", np.full((100, 2), np.sqrt(chi2.isf(tail, 100) / 200.0)), ALPHA
    )


def of_shape(tail: float) -> ConformanceTest:
    """As many beyond one and two deviations as are expected, and beyond three as many as have this tail."""
    far = int(binom.isf(tail, COUNT, 2.0 * norm.sf(TAIL_LIMITS[2])))
    one, two = (round(2.0 * norm.sf(limit) * COUNT) for limit in TAIL_LIMITS[:2])
    x = np.repeat([0.0, 1.5, 2.5, 3.5], [COUNT - one, one - two, two - far, far])
    return _shape_test(x, ALPHA)


def of_counts(tail: float) -> ConformanceTest:
    """Of four counts three are as expected."""
    counts = np.array([COUNT // 8] * 3 + [int(binom.isf(tail, COUNT, 0.125))])
    return _binomial_test("", counts, COUNT, 0.125, ALPHA, "")


@for_each(
    ("judge", "looks"),
    [
        (of_mean, 2),
        (of_scale, 1),
        (of_little_scale, 1),
        (of_pairs, 3),
        (of_shape, 3),
        (of_counts, 4),
    ],
)
def test_what_has_less_than_the_level_of_one_side_and_one_look_is_a_fault_and_nothing_more(
    judge: Judge, looks: int
) -> None:
    level = ALPHA / 2 / looks
    assert judge(1.1 * level).passed
    assert not judge(0.9 * level).passed
    assert judge(level).alpha == ALPHA


@for_each(
    ("numbers", "level"), [(2400, 0.01), (2400, 1e-6), (38400, 1e-5), (100, 1e-5)]
)
def test_noise_as_much_too_small_as_the_scale_test_says_fails_it_with_a_chance_of_99_percent(
    numbers: int, level: float
) -> None:
    test = scale_test("", np.ones(numbers), level)
    assert test.detects is not None
    assert test.sees == f"noise {test.detects:.1%} too small, with probability 99%"
    factor = 1.0 - test.detects
    limit = chi2.ppf(level / 2, numbers)
    assert chi2.sf(limit / factor**2, numbers) <= 0.01
