from __future__ import annotations

from dpverify.bench.case import Target, sweep
from dpverify.bench.collect import aims
from dpverify.ledger.records import encode
from dpverify.report.bench.page import bench_page
from dpverify.report.bench.records import Bench, decode, merged
from dpverify.report.bench.targets import not_measured
from tests.unit.bench.runs import bench, case, desk

ONE = case("sum", targets=[Target("ours", at_most=1.2)])
WHOLE = case("whole", targets=[Target("ours", at_most=60.0, kind="seconds", words="compiling")], long=True)
GROWTH = sweep(case("walk", targets=[Target("ours", at_most=1.1, kind="exponent")]), "T", (10, 100))


def run() -> Bench:
    found = bench(desk(ONE, [{"limit": [1.0], "ours": [1.1]}] * 9))
    there_are = [("noise", ONE), *(("noise", each) for each in GROWTH), ("verification", WHOLE)]
    return Bench(runs=found.runs, groups=found.groups, cases=found.cases, aims=aims(there_are))


def test_targets_that_were_not_measured_are_listed() -> None:
    page = bench_page(run(), [])
    assert "**1 target: 1 met.**" in page
    assert "**2 more targets not measured** in what is recorded here:" in page
    assert "walk (noise): exponent of the time of ours, at most 1.1" in page
    assert "whole (verification): time of ours, compiling (at most 60 s)" in page


def test_many_that_were_not_measured_are_counted_by_group() -> None:
    many = [("audit", case(f"case-{number}", targets=[Target("ours", at_most=2.0)])) for number in range(13)]
    found = run()
    told = Bench(runs=found.runs, groups=found.groups, cases=found.cases, aims=[*found.aims, *aims(many)])
    words = "**15 more targets not measured** in what is recorded here: 1 of noise, 1 of verification, 13 of audit."
    assert words in bench_page(told, [])


def test_a_run_that_knows_of_no_targets_lists_none() -> None:
    assert [aim.name for aim in not_measured(run())] == ["walk", "whole"]
    plain = bench(desk(ONE, [{"limit": [1.0], "ours": [1.1]}] * 9))
    assert not_measured(decode(encode(plain))) == []
    assert "more target" not in bench_page(plain, [])


def test_the_targets_that_there_are_come_from_the_last_run() -> None:
    plain = bench(desk(ONE, [{"limit": [1.0], "ours": [1.1]}] * 9))
    assert merged(run(), plain).aims == run().aims
    assert merged(plain, run()).aims == run().aims
