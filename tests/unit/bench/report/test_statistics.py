from __future__ import annotations

import numpy as np
import pytest

from dpverify.bench.case import BenchCase, Target, sweep
from dpverify.bench.measure import FormTimes, Measured
from dpverify.bench.results import (
    Bench,
    MedianInterval,
    exponents,
    form_of,
    growth,
    judged_targets,
    median_interval,
    merged,
    ratio_of,
    ratios,
    sweeps,
)
from tests.for_each import for_each
from tests.unit.bench.runs import Seconds, bench, case, record

TWICE: list[Seconds | Measured] = [
    {"limit": [1.0, 1.0], "ours": [2.0 + 0.01 * number, 2.0]} for number in range(9)
]


def interval(passes: list[list[float]]) -> MedianInterval:
    found = median_interval(passes)
    assert found is not None
    return found


def test_nine_passes_give_the_second_and_the_eighth() -> None:
    found = interval([[float(value)] for value in (5, 1, 9, 2, 8, 3, 7, 4, 6)])
    assert (found.median, found.low, found.high) == (5.0, 2.0, 8.0)
    assert found.level == pytest.approx(1 - 2 * (1 + 9) / 2**9)
    assert found.passes == 9


@for_each(
    ("passes", "level"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.96875)]
)
def test_few_passes_reach_only_the_level_that_they_have(
    passes: int, level: float
) -> None:
    found = interval([[float(value)] for value in range(passes)])
    assert (found.low, found.high, found.level) == (0.0, passes - 1.0, level)


def test_a_pass_counts_once_however_many_rounds_it_has() -> None:
    assert interval([[1.0] * 100, [2.0], [3.0]]).median == 2.0


def test_passes_without_values_count_for_nothing() -> None:
    assert median_interval([]) is median_interval([[]]) is None
    assert interval([[1.0], [], [3.0]]).passes == 2


def test_intervals_hold_the_median_as_often_as_they_say() -> None:
    """Passes of a skewed law, with rounds that share their pass's level: 2000 runs."""
    draw = np.random.Generator(np.random.SFC64(1))
    levels = draw.exponential(size=(2000, 9)) + 1.0
    held = 0
    for run in levels:
        found = interval([[level, level * 1.001, level * 1.002] for level in run])
        held += found.low <= 1.001 * (1.0 + np.log(2.0)) <= found.high
    # 0.961 exactly, with a standard deviation of 0.0043
    assert 0.945 <= held / 2000 <= 0.975


def test_ratios_go_round_by_round() -> None:
    assert ratios([[2.0, 9.0], [4.0, 4.0]], [[1.0, 3.0], [2.0, 8.0]]) == [
        [2.0, 3.0],
        [2.0, 0.5],
    ]


def test_ratios_of_forms_that_were_not_timed_equally_often() -> None:
    assert ratios([[6.0], []], [[1.0, 2.0, 4.0], [1.0]]) == [[3.0]]
    assert ratios([[6.0]], [[]]) == []


def test_exponents_one_a_pass() -> None:
    sizes = [10.0, 100.0, 1000.0]
    passes = [[[2.0 * size**1.5], [size]] for size in sizes]
    assert exponents(sizes, passes) == [[pytest.approx(1.5)], [pytest.approx(1.0)]]


def test_a_pass_that_lacks_a_size_gives_no_exponent() -> None:
    assert exponents([1.0, 2.0], [[[1.0], [1.0]], [[2.0], []]]) == [
        [pytest.approx(1.0)]
    ]


def outcomes(run: Bench) -> list[str]:
    return [each.outcome for each in judged_targets(run)]


def test_ratio_of_a_form() -> None:
    made = record(case(), TWICE)
    found = ratio_of(made, "ours")
    assert found is not None
    assert found.median == pytest.approx(2.02)
    assert found.passes == 9
    assert [form.role for form in made.forms] == ["limit", "measured"]
    assert ratio_of(made, "nothing of that name") is None


@for_each(
    ("target", "outcome"),
    [
        (Target("ours", at_most=2.1), "met"),
        (Target("ours", at_most=2.02), "too close to tell"),
        (Target("ours", at_most=1.9), "missed"),
        (Target("limit", at_least=0.4, to="ours"), "met"),
        (Target("limit", at_least=0.6, to="ours"), "missed"),
        (Target("ours", at_most=0.21, kind="seconds"), "met"),
        (Target("ours", at_most=0.19, kind="seconds"), "missed"),
        (Target("ours", at_most=100.0, kind="memory"), "not measured"),
    ],
)
def test_targets(target: Target, outcome: str) -> None:
    assert outcomes(bench(record(case(targets=[target], work=10.0), TWICE))) == [
        outcome
    ]


def test_a_target_of_memory() -> None:
    passes = [Measured({"ours": FormTimes([1.0], added=added)}) for added in (90, None)]
    made = record(case(targets=[Target("ours", at_most=100.0, kind="memory")]), passes)
    assert outcomes(bench(made)) == ["met"]
    assert form_of(made, "ours").added == [90]


def test_passes_keep_their_places_when_a_form_is_sparse() -> None:
    made = record(
        case(forms=("limit", "slow")),
        [{"limit": [1.0]}, {"limit": [2.0], "slow": [8.0]}],
    )
    assert form_of(made, "slow").samples == [[], [8.0]]
    found = ratio_of(made, "slow")
    assert found is not None
    assert found.median == 4.0


def test_peaks_and_what_is_missing() -> None:
    times = {"limit": FormTimes([1.0], peaks=[5])}
    found = Measured(times, {"ours": "not installed"})
    limit, ours = record(case(), [found]).forms
    assert limit.peaks == [5]
    assert ours.missing == "not installed"


def swept(case_: BenchCase) -> Bench:
    """At sizes 10 and 100, time grows as the power 1.5 and memory as the power 1."""
    made = []
    for each in sweep(case_, "T", (10, 100)):
        size = each.parameters["T"]
        passes = [
            Measured(
                {
                    "limit": FormTimes([1.0]),
                    "ours": FormTimes([size**1.5], added=int(10_000 * size)),
                }
            )
            for _ in range(6)
        ]
        made.append(record(each, passes))
    return bench(*made)


def test_exponents_of_a_sweep() -> None:
    targets = [
        Target("ours", at_most=1.6, kind="exponent"),
        Target("ours", at_most=0.5, kind="memory-exponent"),
    ]
    run = swept(case(targets=targets))
    found = {
        (each.form, each.what): each.exponent
        for each in growth(sweeps(run, "noise")["sum"])
    }
    assert found["ours", "seconds"].median == pytest.approx(1.5)
    assert found["limit", "seconds"].median == pytest.approx(0.0)
    assert found["ours", "memory"].median == pytest.approx(1.0)
    assert outcomes(run) == ["met", "missed"]
    assert [len(each.cases) for each in judged_targets(run)] == [2, 2]


def test_growth_at_one_size_alone_is_not_measured() -> None:
    run = swept(case(targets=[Target("other", at_most=1.6, kind="exponent")]))
    assert outcomes(run) == ["not measured"]


def test_a_run_takes_the_place_of_its_groups_alone() -> None:
    old = bench(record(case("a"), TWICE), record(case("b"), TWICE, "audit"))
    new = bench(record(case("c"), TWICE), quick=True)
    both = merged(new, old)
    assert [(each.group, each.name) for each in both.cases] == [
        ("audit", "b"),
        ("noise", "c"),
    ]
    assert [(info.groups, info.quick) for info in both.runs] == [
        (["audit"], False),
        (["noise"], True),
    ]
    assert list(both.groups) == ["noise", "audit"]
