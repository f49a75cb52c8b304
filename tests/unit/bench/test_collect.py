from __future__ import annotations

import pytest

from dpverify.bench.case import Target, sweep
from dpverify.bench.child import Answer
from dpverify.bench.collect import Desk, fits, judged
from dpverify.bench.measure import Measured, Times
from dpverify.bench.statistics import median_interval
from dpverify.report.bench.records import FormRecord, merged
from tests.unit.bench.runs import bench, case, desk

TWICE = [{"limit": [1.0, 1.0], "ours": [2.0 + 0.01 * number, 2.0]} for number in range(9)]


def form(made: Desk, name: str) -> FormRecord:
    record = made.record()
    assert record is not None
    return next(each for each in record.forms if each.name == name)


def test_ratio_and_time_of_a_form() -> None:
    found = form(desk(case(), TWICE), "ours")
    assert found.ratio is not None
    assert found.seconds is not None
    assert found.ratio.median == pytest.approx(2.02)
    assert (found.ratio.passes, found.ratio.rounds) == (9, 18)
    assert found.seconds.median == pytest.approx(2.02)
    assert (found.role, form(desk(case(), TWICE), "limit").role) == ("measured", "limit")
    assert form(desk(case(), TWICE), "limit").ratio is None


@pytest.mark.parametrize(
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
    record = desk(case(targets=[target], work=10.0), TWICE).record()
    assert record is not None
    assert [each.outcome for each in record.targets] == [outcome]


def test_a_target_of_memory() -> None:
    made = desk(case(targets=[Target("stream", at_most=100.0, kind="memory")]), TWICE)
    made.take(Answer(case="sum", form="stream", added=90, forms=1))
    record = made.record()
    assert record is not None
    assert record.targets[0].outcome == "met"
    assert form(made, "stream").added == [90]


def test_nothing_measured_is_no_record_and_an_error_is_one() -> None:
    assert Desk("noise", case()).record() is None
    made = Desk("noise", case())
    made.take(Answer(case="sum", error="ValueError: no"))
    record = made.record()
    assert record is not None
    assert record.error == "ValueError: no"


def test_passes_keep_their_places_when_a_form_is_sparse() -> None:
    made = desk(case(), [{"limit": [1.0]}, {"limit": [2.0], "slow": [8.0]}])
    assert form(made, "slow").samples == [[], [8.0]]
    ratio = form(made, "slow").ratio
    assert ratio is not None
    assert ratio.median == 4.0


def test_parts_peaks_counts_and_what_is_missing() -> None:
    made = Desk("noise", case())
    times = Times([1.0], peaks=[5], parts={"check": [0.5]})
    answer = Answer(
        case="sum", measured=Measured({"limit": times}, {"ours": "not installed"}), counts={"limit": {"additions": 3.0}}
    )
    made.take(answer)
    limit = form(made, "limit")
    assert (limit.peaks, limit.parts, limit.counts) == ([5], {"check": [0.5]}, {"additions": 3.0})
    assert form(made, "ours").missing == "not installed"


def test_exponents_of_a_sweep() -> None:
    targets = [Target("ours", at_most=1.6, kind="exponent"), Target("ours", at_most=0.5, kind="memory-exponent")]
    cases = sweep(case(targets=targets), "T", (10, 100))
    desks = [desk(each, [{"limit": [1.0], "ours": [each.parameters["T"] ** 1.5]}] * 6) for each in cases]
    for each, added in zip(desks, (1000, 10_000), strict=True):
        each.take(Answer(case=each.case.name, form="ours", added=added, forms=1))
    found = {(fit.form, fit.what): fit for fit in fits(desks)}
    assert found["ours", "seconds"].exponent.median == pytest.approx(1.5)
    assert found["limit", "seconds"].exponent.median == pytest.approx(0.0)
    assert found["ours", "memory"].exponent.median == pytest.approx(1.0)
    outcomes = [fit.target.outcome for fit in found.values() if fit.target is not None]
    assert outcomes == ["met", "missed"]
    assert found["limit", "seconds"].target is None


def test_a_target_without_a_value_is_not_measured() -> None:
    assert judged(Target("ours", at_most=1.0), None).outcome == "not measured"
    one = median_interval([[2.0]])
    assert judged(Target("ours", at_most=2.0), one).outcome == "met"
    assert judged(Target("ours", at_least=2.1), one).outcome == "missed"


def test_a_run_takes_the_place_of_its_groups_alone() -> None:
    old = bench(desk(case("a"), TWICE), desk(case("b"), TWICE, "audit"))
    new = bench(desk(case("c"), TWICE), quick=True)
    both = merged(new, old)
    assert [(each.group, each.name) for each in both.cases] == [("audit", "b"), ("noise", "c")]
    assert [(info.groups, info.quick) for info in both.runs] == [(["audit"], False), (["noise"], True)]
    assert list(both.groups) == ["noise", "audit"]
