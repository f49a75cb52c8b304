from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverify.bench.compare import (
    ALPHA,
    compare,
    holm,
    rank_test,
    shift_interval,
    without_counterpart,
)
from dpverify.bench.measure import YARDSTICK
from dpverify.bench.results import Bench
from dpverify.bench.run import STANDARD
from tests.for_each import for_each
from tests.unit.bench.runs import Seconds, bench, case, record

Array = NDArray[np.float64]
PASSES = 9


def run(logs: Array, drift: float = 1.0) -> Bench:
    """Cases by passes of log ratios; the machine is slower by ``drift``, which hits form and limit alike."""
    return bench(
        *(
            record(
                case(f"case-{number}"),
                [
                    {"limit": [drift], "ours": [drift * math.exp(value)]}
                    for value in values
                ],
            )
            for number, values in enumerate(logs)
        )
    )


def law_of_u(n: int, m: int) -> Array:
    """Probability of U = 0, 1, ..., n m of n and m values of one law, by the Gaussian binomial coefficient."""
    ways = np.array([1])
    for part in range(1, n + 1):  # multiply by (1 - x^(m + part)) / (1 - x^part)
        ways = np.convolve(ways, [1, *[0] * (m + part - 1), -1])
        for place in range(part, len(ways)):
            ways[place] += ways[place - part]
    return ways[: n * m + 1] / math.comb(n + m, n)


@for_each(("n", "m"), [(1, 1), (2, 3), (4, 4), (9, 9)])
def test_the_rank_test_is_exact(n: int, m: int) -> None:
    law = law_of_u(n, m)
    assert law.sum() == pytest.approx(1.0)
    x, y = np.arange(n, dtype=np.float64), np.arange(m, dtype=np.float64)
    assert rank_test(x - 100.0, y) == pytest.approx(min(1.0, 2 * law[0]))
    assert rank_test(x - (n - 1.5), y) == pytest.approx(min(1.0, 2 * law[:2].sum()))


def test_the_law_of_u_by_counting() -> None:
    counts = np.zeros(7)
    for order in permutations(range(5)):
        counts[sum(order[i] > order[j] for i in (0, 1) for j in (2, 3, 4))] += 1
    assert law_of_u(2, 3) == pytest.approx(counts / 120)


def test_ties_are_counted_against_a_finding() -> None:
    tied = np.array([1.0, 1.0, 2.0])
    assert rank_test(tied, tied) == 1.0
    assert rank_test(np.array([2.0, 2.0]), np.array([1.0, 1.0])) == pytest.approx(2 / 6)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_in_a_whole_run_15_percent_is_found_although_some_pairs_of_passes_overlap() -> (
    None
):
    """163 forms, as many as a run of all groups has; one pass of the slower form lies below five of the other run's."""
    draw = np.random.Generator(np.random.SFC64(10))
    before, after = 0.02 * draw.standard_normal((2, 163, STANDARD.passes))
    after[7] += math.log(1.15)
    after[7, 5] = np.sort(before[7])[-6] + 1e-9
    found = compare(run(after), run(before))
    assert [each.case for each in found if each.change == "slower"] == ["case-7"]
    assert all(
        each.change == "no difference seen" for each in found if each.case != "case-7"
    )


def test_tests_that_could_each_alone_but_not_together_are_not_watched() -> None:
    """Three passes against nine reach p = 0.009: enough for one test at 0.01, too little for each of seven."""
    logs = np.linspace(0.0, 0.02, 9) * np.ones((7, 1))
    found = compare(run(logs[:, :3] + 1.0), run(logs))
    assert {each.change for each in found} == {"too few passes"}
    assert [
        each.change for each in compare(run(logs[:1, :3] + 1.0), run(logs[:1]))
    ] == ["slower"]


def test_nine_passes_are_not_enough_for_that() -> None:
    # one overlapping pair hides everything
    assert 2 * float(law_of_u(9, 9)[:2].sum()) > ALPHA / 163
    assert 2 * float(law_of_u(STANDARD.passes, STANDARD.passes)[:6].sum()) < ALPHA / 163


def test_the_interval_inverts_the_test() -> None:
    draw = np.random.Generator(np.random.SFC64(3))
    x, y = draw.standard_normal(9), draw.standard_normal(8)
    middle, low, high = shift_interval(x, y)
    level = 0.95
    assert low < middle < high
    assert rank_test(x - low - 1e-9, y) > 1 - level
    assert rank_test(x - low + 1e-9, y) <= 1 - level
    assert rank_test(x - high - 1e-9, y) <= 1 - level
    assert rank_test(x - high + 1e-9, y) > 1 - level


def test_the_interval_of_few_passes_is_that_of_all_differences() -> None:
    _, low, high = shift_interval(np.array([1.0, 2.0]), np.array([0.0, 0.5]))
    assert (low, high) == (0.5, 2.0)


def test_equal_programs_are_rarely_called_different() -> None:
    """A run against another of the same program, 20 cases, passes of a heavy-tailed law; 600 pairs of runs."""
    draw, alarms, pairs = np.random.Generator(np.random.SFC64(5)), 0, 600
    for _ in range(pairs):
        both = 0.03 * draw.standard_t(3, size=(2, 20, PASSES))
        alarms += min(holm(rank_test(*both).tolist())) <= ALPHA
    assert stats.binom.sf(alarms - 1, pairs, ALPHA) > 1e-4, (
        f"{alarms} of {pairs} at a declared rate of {ALPHA}"
    )


def test_a_single_test_has_its_level_and_no_less_power_than_that() -> None:
    draw = np.random.Generator(np.random.SFC64(6))
    x, y = np.array([draw.standard_normal((2, PASSES)) for _ in range(4000)]).swapaxes(
        0, 1
    )
    found = int((rank_test(x, y) <= 0.05).sum())
    assert 0.03 < found / 4000 < 0.055  # 0.0400 exactly: the law of U is discrete


def test_three_passes_can_never_tell() -> None:
    found = compare(run(np.ones((1, 3))), run(np.zeros((1, 3))))
    assert [each.change for each in found] == ["too few passes"]


def test_a_planted_slowdown_of_10_percent_is_found_and_nothing_else_is() -> None:
    """30 cases with a spread of 2% between passes, on a machine that is 1.3 times slower the second time."""
    draw, found, false = np.random.Generator(np.random.SFC64(8)), 0, 0
    for _ in range(20):
        before, after = 0.02 * draw.standard_normal((2, 30, PASSES))
        after[4] += math.log(1.10)
        told = compare(run(after, drift=1.3), run(before))
        found += told[4].change == "slower"
        assert told[4].low <= told[4].factor <= told[4].high
        false += any(
            each.change in {"slower", "faster"}
            for number, each in enumerate(told)
            if number != 4
        )
    assert found >= 18
    assert false == 0


def test_the_effect_is_the_planted_one_as_often_as_its_interval_says() -> None:
    draw, held = np.random.Generator(np.random.SFC64(9)), 0
    for _ in range(1000):
        x, y = draw.standard_normal((2, PASSES))
        _, low, high = shift_interval(x + 0.7, y)
        held += low <= 0.7 <= high
    assert 0.93 < held / 1000 < 0.98


def test_the_other_way_round_it_is_faster() -> None:
    passes = np.linspace(0.0, 0.08, 9, dtype=np.float64)[None]
    slow, fast = run(1.0 + passes), run(passes)
    assert [each.change for each in compare(slow, fast)] == ["slower"]
    assert [each.change for each in compare(fast, slow)] == ["faster"]
    assert compare(slow, fast)[0].factor == pytest.approx(math.e)


def test_only_what_both_runs_have_is_compared() -> None:
    old = bench(record(case("a"), [{"limit": [1.0], "ours": [1.0]}] * 9))
    other_size = bench(
        record(case("a", parameters={"T": 3}), [{"limit": [1.0], "ours": [2.0]}] * 9)
    )
    other_case = bench(record(case("b"), [{"limit": [1.0], "ours": [2.0]}] * 9))
    no_limit = bench(record(case("a"), [{"ours": [2.0]}] * 9))
    assert compare(old, old) != []
    assert (
        compare(other_size, old)
        == compare(other_case, old)
        == compare(no_limit, old)
        == []
    )


def limit_of_ours(logs: Array, factor: float, *, ours: bool = True) -> Bench:
    """Passes of a case whose limit, and all that calls it, takes ``factor`` times as long; the machine does not."""
    passes: list[Seconds] = [
        {
            "limit": [factor * math.exp(value)],
            "ours": [2 * factor * math.exp(value)],
            YARDSTICK: [1.0],
        }
        for value in logs
    ]
    if not ours:
        passes = [
            {name: values for name, values in each.items() if name != YARDSTICK}
            for each in passes
        ]
    return bench(record(case("a", limit_is_ours=ours), passes))


def test_a_limit_of_ours_that_becomes_slower_is_seen() -> None:
    draw = np.random.Generator(np.random.SFC64(11))
    before, after = 0.02 * draw.standard_normal((2, STANDARD.passes))
    found = compare(limit_of_ours(after, 1.15), limit_of_ours(before, 1.0))
    assert [(each.form, each.change, each.to) for each in found] == [
        # its ratio to the limit is what it was
        ("ours", "no difference seen", "limit"),
        ("limit", "slower", YARDSTICK),
    ]
    assert found[1].factor == pytest.approx(1.15, abs=0.03)


def test_a_limit_of_ours_is_not_watched_against_a_run_that_has_no_yardstick() -> None:
    logs = np.linspace(0.0, 0.02, STANDARD.passes)
    new, old = limit_of_ours(logs, 1.15), limit_of_ours(logs, 1.0, ours=False)
    assert [each.form for each in compare(new, old)] == ["ours"]
    assert without_counterpart(new, old) == 1
    assert (
        without_counterpart(new, new)
        == without_counterpart(old, old)
        == without_counterpart(old, new)
        == 0
    )


def test_peers_are_not_compared() -> None:
    ours = bench(
        record(case("a", peers=("ours",)), [{"limit": [1.0], "ours": [1.0]}] * 9)
    )
    assert compare(ours, ours) == []
