from __future__ import annotations

import numpy as np
import pytest

from dpverify.bench.statistics import exponents, median_interval, ratios


def test_nine_passes_give_the_second_and_the_eighth() -> None:
    found = median_interval([[float(value)] for value in (5, 1, 9, 2, 8, 3, 7, 4, 6)])
    assert (found.median, found.low, found.high) == (5.0, 2.0, 8.0)
    assert found.level == pytest.approx(1 - 2 * (1 + 9) / 2**9)
    assert found.passes == 9


@pytest.mark.parametrize(("passes", "level"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.96875)])
def test_few_passes_reach_only_the_level_that_they_have(passes: int, level: float) -> None:
    found = median_interval([[float(value)] for value in range(passes)])
    assert (found.low, found.high, found.level) == (0.0, passes - 1.0, level)


def test_a_pass_counts_once_however_many_rounds_it_has() -> None:
    found = median_interval([[1.0] * 100, [2.0], [3.0]])
    assert (found.median, found.rounds) == (2.0, 102)
    assert found.extremes == (1.0, 3.0)
    assert found.quartiles == (1.0, 1.0)


@pytest.mark.parametrize("passes", [[], [[]], [[1.0], []]])
def test_no_values_are_refused(passes: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one pass"):
        median_interval(passes)


def test_intervals_hold_the_median_as_often_as_they_say() -> None:
    """Passes of a skewed law, with rounds that share their pass's level: 2000 runs."""
    draw = np.random.Generator(np.random.SFC64(1))
    levels = draw.exponential(size=(2000, 9)) + 1.0
    held = 0
    for run in levels:
        found = median_interval([[level, level * 1.001, level * 1.002] for level in run])
        held += found.low <= 1.001 * (1.0 + np.log(2.0)) <= found.high
    assert 0.945 <= held / 2000 <= 0.975  # 0.961 exactly, with a standard deviation of 0.0043


def test_ratios_go_round_by_round() -> None:
    assert ratios([[2.0, 9.0], [4.0, 4.0]], [[1.0, 3.0], [2.0, 8.0]]) == [[2.0, 3.0], [2.0, 0.5]]


def test_ratios_of_forms_that_were_not_timed_equally_often() -> None:
    assert ratios([[6.0], []], [[1.0, 2.0, 4.0], [1.0]]) == [[3.0]]
    assert ratios([[6.0]], [[]]) == []


def test_exponents_one_a_pass() -> None:
    sizes = [10.0, 100.0, 1000.0]
    passes = [[[2.0 * size**1.5], [size]] for size in sizes]
    assert exponents(sizes, passes) == [[pytest.approx(1.5)], [pytest.approx(1.0)]]


def test_a_pass_that_lacks_a_size_gives_no_exponent() -> None:
    assert exponents([1.0, 2.0], [[[1.0], [1.0]], [[2.0], []]]) == [[pytest.approx(1.0)]]
