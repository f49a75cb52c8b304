from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from dpverify.harness.checks import Shares
from dpverify.harness.finished import errors, exit_code, is_unconfirmed
from dpverify.harness.run import runner
from dpverify.harness.run.engine import Progress, run_jobs
from dpverify.harness.run.manifest import machine, versions
from dpverify.harness.run.runner import verify
from dpverify.harness.run.sources import recorded_share
from dpverify.harness.run.suite import Suite, declared_seconds
from dpverify.harness.run.task_pool import DIED
from dpverify.harness.run.tasks import Job
from dpverify.ledger import SpecError, Specs
from dpverify.ledger.check_results import AmendmentResult, CheckResult, Number, Slack
from dpverify.ledger.records import encode
from dpverify.ledger.results import INTERRUPTED, Result, Run, decode
from dpverify.papers import SEARCH_SECONDS
from dpverify.report.terminal import closing
from tests.for_each import for_each

SOURCE = "tests.unit.harness.demo.demo_checks:"


def judged(
    demo: Specs,
    load: str,
    jobs: int,
    progress: Callable[[Progress], None] | None = None,
) -> Run:
    return verify(demo, jobs=jobs, source=SOURCE + load, progress=progress)


def without_times(run: Run) -> bytes:
    """JSON of a run without what must differ: how long things took."""

    def checks(found: list[CheckResult]) -> list[CheckResult]:
        return [msgspec.structs.replace(check, seconds=0.0) for check in found]

    def result(one: Result) -> Result:
        amendment = one.amendment
        if amendment is not None:
            amendment = msgspec.structs.replace(
                amendment, checks=checks(amendment.checks)
            )
        return msgspec.structs.replace(
            one, checks=checks(one.checks), amendment=amendment
        )

    info = msgspec.structs.replace(run.run, seconds=0.0)
    return encode(
        msgspec.structs.replace(
            run, run=info, results=[result(one) for one in run.results]
        )
    )


@pytest.fixture(scope="module")
def run(demo: Specs) -> Run:
    return judged(demo, "load", 1)


def by_claim(run: Run) -> dict[str, Result]:
    return {
        result.claim.removeprefix("demo:"): result
        for result in run.results
        if result.checks or not result.reading
    }


@for_each(
    ("claim", "status", "contradicts", "disagree"),
    [
        ("sum", "argued", False, False),
        ("decay", "proved", False, False),
        ("root", "not refuted", False, False),
        ("bits", "refuted", False, False),
        ("empty", "untested", False, False),
        ("walk", "not refuted", False, False),
        ("wrong-walk", "inconclusive", False, True),
        ("sloppy", "inconclusive", False, False),
        ("size", "refuted", False, False),
        ("later", "untested", False, False),
    ],
)
def test_every_kind_of_verdict(
    run: Run, claim: str, status: str, contradicts: bool, disagree: bool
) -> None:
    result = by_claim(run)[claim]
    assert (result.status, result.contradicts, result.sources_disagree) == (
        status,
        contradicts,
        disagree,
    )
    assert not is_unconfirmed(result)


def test_the_run_says_how_likely_a_false_red_is(run: Run) -> None:
    simulations = [
        c for r in run.results for c in r.checks if c.method == "monte-carlo"
    ]
    assert len(simulations) == 4
    assert run.run.false_alarm == pytest.approx(4e-6)


def test_disagreeing_sources_give_exit_code_1(run: Run, demo: Specs) -> None:
    assert exit_code(run) == 1
    good = [demo.claim(f"demo:{name}") for name in ("sum", "bits", "empty", "later")]
    assert exit_code(verify(demo, good, source=SOURCE + "load")) == 0


def test_a_missed_planted_fault_gives_exit_code_1(demo: Specs) -> None:
    run = verify(demo, [demo.claim("demo:sloppy")], source=SOURCE + "load")
    assert run.results[0].missed_faults == [
        "law: control no fault (nothing is wrong with it)"
    ]
    assert exit_code(run) == 1
    assert "MISSED ITS PLANTED FAULT: demo:sloppy: law: control no fault" in "\n".join(
        closing(run)
    )


def test_a_check_that_breaks_gives_exit_code_1(demo: Specs) -> None:
    run = verify(demo, [demo.claim("demo:root")], source=SOURCE + "load_broken")
    assert not any(
        result.contradicts or result.sources_disagree or result.missed_faults
        for result in run.results
    )
    assert exit_code(run) == 1


def test_an_unconfirmed_pin_gives_exit_code_1_to_who_is_strict(demo: Specs) -> None:
    run = verify(demo, [demo.claim("demo:sum")], source=SOURCE + "load")
    weaker = msgspec.structs.replace(run.results[0], pinned="proved")
    again = msgspec.structs.replace(run, results=[weaker])
    assert (
        exit_code(run, strict=True),
        exit_code(again),
        exit_code(again, strict=True),
    ) == (0, 0, 1)


def test_what_is_refuted_or_untested_without_a_pin_is_said_and_fails_where_that_is_asked_for(
    demo: Specs,
) -> None:
    run = verify(
        demo,
        [demo.claim(f"demo:{name}") for name in ("sum", "bits", "empty")],
        source=SOURCE + "load",
    )
    assert [result.unpinned for result in run.results] == [False, False, True]
    assert "WITHOUT A PIN: demo:empty: untested." in "\n".join(closing(run))
    assert (
        exit_code(run),
        exit_code(run, strict_pins=["demo"]),
        exit_code(run, strict_pins=["other"]),
    ) == (0, 1, 0)


@for_each(
    ("slack", "tight", "code"),
    [
        (1.0, True, 0),
        (1.009, True, 0),
        (1.011, True, 1),
        (1.42, True, 1),
        (1.42, False, 0),
    ],
)
def test_a_tight_statement_whose_slack_moves_gives_exit_code_1(
    demo: Specs, slack: float, tight: bool, code: int
) -> None:
    run = verify(demo, [demo.claim("demo:sum")], source=SOURCE + "load")
    number = Number(float=slack)
    one = msgspec.structs.replace(
        run.results[0], tight=tight, slack=Slack(min=number, typical=number)
    )
    again = msgspec.structs.replace(run, results=[one])
    assert exit_code(again) == code
    assert ("NO LONGER TIGHT: demo:sum" in "\n".join(closing(again))) == bool(code)


@for_each(("slack", "code"), [(1.0, 0), (1.42, 1)])
def test_so_does_a_correction_that_is_no_longer_tight(
    demo: Specs, slack: float, code: int
) -> None:
    run = verify(demo, [demo.claim("demo:sum")], source=SOURCE + "load")
    number = Number(float=slack)
    loose = Slack(min=number, typical=number)
    corrected = AmendmentResult(
        status="not refuted", why="too small", tight=True, slack=loose
    )
    again = msgspec.structs.replace(
        run, results=[msgspec.structs.replace(run.results[0], amendment=corrected)]
    )
    assert exit_code(again) == code
    assert (
        "the amended statement has slack 1.42" in "\n".join(closing(again))
    ) == bool(code)


def test_the_json_can_be_read_back(run: Run) -> None:
    assert decode(encode(run)) == run


def test_a_part_is_judged_as_in_the_whole(run: Run, demo: Specs) -> None:
    part = verify(demo, [demo.claim("demo:walk")], source=SOURCE + "load")
    assert without_times(
        msgspec.structs.replace(run, results=part.results)
    ) == without_times(
        msgspec.structs.replace(
            run, results=[r for r in run.results if r.claim == "demo:walk"]
        )
    )
    assert set(part.papers) == {"demo"}


@for_each(("worth", "workers"), [(0.0, 2), (1e9, 1)])
def test_no_workers_are_started_for_less_than_they_take(
    demo: Specs, monkeypatch: pytest.MonkeyPatch, worth: float, workers: int
) -> None:
    asked: list[int] = []

    def here(
        jobs: Sequence[Job], given: int, *_: object
    ) -> tuple[list[CheckResult], bool]:
        asked.append(given)
        return run_jobs(jobs, 1)

    monkeypatch.setattr(runner, "run_jobs", here)
    monkeypatch.setattr(runner, "SECONDS_FOR_WORKERS", worth)
    verify(demo, [demo.claim("demo:sum")], jobs=2, source=SOURCE + "load", spare=True)
    verify(demo, [demo.claim("demo:sum")], jobs=2, source=SOURCE + "load")
    assert asked == [workers, 2]


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(run: Run, demo: Specs) -> None:
    assert without_times(judged(demo, "load", 2)) == without_times(run)


@contextmanager
def process() -> Iterator[Executor]:
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown()


@pytest.mark.slow
def test_results_do_not_depend_on_an_early_worker(run: Run, demo: Specs) -> None:
    with process() as worker:
        assert without_times(
            verify(demo, source=SOURCE + "load", early=worker)
        ) == without_times(run)


@pytest.mark.slow
def test_an_early_worker_that_dies_costs_the_check_that_killed_it_only(
    demo: Specs,
) -> None:
    claims = [demo.claim(f"demo:{name}") for name in ("bits", "root", "size")]
    with process() as worker:  # it takes the first check, and this process the last one
        run = verify(demo, claims, source=SOURCE + "load_broken", early=worker)
    found = by_claim(run)
    assert found["bits"].checks[0].error == DIED
    assert [found[name].status for name in ("bits", "size")] == [
        "inconclusive",
        "not refuted",
    ]


def test_an_early_worker_that_was_ended_leaves_the_work_to_this_one(
    run: Run, demo: Specs
) -> None:
    class Ended(Executor):
        def submit(self, *_: object, **__: object) -> Future[Any]:
            future = Future[Any]()
            future.set_exception(BrokenProcessPool())
            return future

    claims = [demo.claim("demo:sum")]
    results = verify(demo, claims, source=SOURCE + "load", early=Ended()).results
    assert [result.status for result in results] == [
        r.status for r in run.results if r.claim == "demo:sum"
    ]


def test_another_seed_draws_other_numbers(demo: Specs) -> None:
    claims = [demo.claim("demo:walk")]
    results = [
        verify(demo, claims, seed=seed, source=SOURCE + "load").results[0]
        for seed in (0, 1)
    ]
    assert results[0].checks[0].statistic != results[1].checks[0].statistic
    assert results[0].status == results[1].status == "not refuted"


def test_a_check_that_raises_is_our_error_and_takes_nothing_else_down(
    demo: Specs,
) -> None:
    results = by_claim(judged(demo, "load_broken", 1))
    raised = results["root"]
    assert raised.status == "inconclusive"
    (line,) = errors(raised)
    assert line.startswith(
        "raises: ZeroDivisionError: the author divided by zero (in run_block, demo_checks.py:"
    )
    assert results["sum"].status == results["size"].status == "not refuted"


def test_a_check_waits_for_its_least_budget_and_costs_nothing_till_then(
    demo: Specs,
) -> None:
    claims = [demo.claim("demo:sum"), demo.claim("demo:root")]
    for budget, waiting in (
        ("smoke", {"sum": "standard", "root": "full"}),
        ("standard", {"root": "full"}),
        ("full", {}),
    ):
        suite = Suite(demo, budget, 0, SOURCE + "load_patient")
        jobs = [
            job for claim in claims for case in suite.cases(claim) for job in case.jobs
        ]
        assert declared_seconds(jobs) == len(jobs) - len(waiting)
        results = by_claim(verify(demo, claims, budget, source=SOURCE + "load_patient"))
        for claim, least in waiting.items():
            (check,) = results[claim].checks
            assert (check.status, check.error) == ("untested", "")
            assert check.message == f"runs from the {least} budget on"
        assert {
            claim for claim, result in results.items() if result.status == "untested"
        } == set(waiting)
        if budget == "full":
            assert "ZeroDivisionError" in results["root"].checks[0].error


def test_an_error_gives_exit_code_1(demo: Specs) -> None:
    assert exit_code(judged(demo, "load_broken", 1)) == 1


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_own_check_only(demo: Specs) -> None:
    here, there = (
        by_claim(judged(demo, "load_broken", 1)),
        by_claim(judged(demo, "load_broken", 2)),
    )
    assert there["bits"].checks[0].error == DIED
    assert there["bits"].status == "inconclusive"
    for claim in ("sum", "root", "size"):
        assert there[claim].checks[0].statistic == here[claim].checks[0].statistic
        assert there[claim].status == here[claim].status


def test_ctrl_c_leaves_what_was_decided(demo: Specs) -> None:
    run = judged(demo, "load_interrupted", 1)
    results = by_claim(run)
    assert run.run.interrupted
    assert exit_code(run) == 130
    assert results["sum"].status == "not refuted"
    # pinned as refuted, so that it is looked at first
    assert results["size"].status == "not refuted"
    assert results["root"].checks[0].message == INTERRUPTED
    assert decode(encode(run)) == run


@pytest.mark.slow
def test_ctrl_c_ends_the_workers(demo: Specs) -> None:
    import multiprocessing

    def interrupt(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    run = judged(demo, "load", 2, interrupt)
    assert run.run.interrupted
    assert multiprocessing.active_children() == []
    assert any(c.message == INTERRUPTED for r in run.results for c in r.checks)


def test_progress_counts_blocks(demo: Specs) -> None:
    seen: list[Progress] = []
    verify(
        demo,
        [demo.claim("demo:walk"), demo.claim("demo:sum")],
        source=SOURCE + "load",
        progress=seen.append,
    )
    assert [p.done for p in seen] == list(range(1, len(seen) + 1))
    assert {p.total for p in seen} == {len(seen)}
    assert "demo:walk[start=zero|printed|law]" in {p.label for p in seen}


def test_readings_without_a_check_are_untested(run: Run) -> None:
    (late,) = [r for r in run.results if r.reading == {"start": "late"}]
    assert (late.status, late.reason) == ("untested", "no check is written for it")


def test_evidence_hashes_are_those_of_the_code(run: Run, demo: Specs) -> None:
    results = by_claim(run)
    again = by_claim(verify(demo, [demo.claim("demo:bits")], source=SOURCE + "load"))[
        "bits"
    ]
    assert again.evidence_hash == results["bits"].evidence_hash
    assert len({r.evidence_hash for r in results.values()}) == len(results)


@for_each(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"budget": "huge"}, "'huge'"),
        ({"jobs": 0}, "jobs=0"),
        ({"source": "x"}, "module:function"),
    ],
)
def test_arguments_outside_their_ranges_are_refused(
    demo: Specs, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises((ValueError, SpecError), match=message):
        verify(demo, [], **{"source": SOURCE + "load", **arguments})  # type: ignore[arg-type]  # one wrong value each


def test_a_check_of_an_unknown_claim_is_refused(demo: Specs) -> None:
    with pytest.raises(
        SpecError,
        match="demo must have the claim 'nowhere', which the check 'orphan' judges",
    ):
        Suite(demo, "smoke", 0, SOURCE + "load_orphan")


def test_a_share_that_is_written_down_is_taken_and_nothing_else_is_imported(
    demo: Specs,
) -> None:
    assert recorded_share(SOURCE + "load", "smoke") is None
    assert (
        Suite(demo, "smoke", 0, SOURCE + "load").shares.divisible
        > SEARCH_SECONDS["smoke"]
    )
    suite = Suite(demo, "smoke", 0)
    assert suite.shares == Shares(SEARCH_SECONDS["smoke"], math.inf)
    # the demonstration is none of our papers
    jobs = suite.cases(demo.claim("demo:sum"))[0].jobs
    assert [job.check for job in jobs] == ["proof", "points", "search"]


def test_the_manifest_has_no_time_and_no_path(run: Run) -> None:
    assert run.run.versions == versions()
    assert run.run.machine == machine()
    assert {"python", "dpverify", "numpy", "hypothesis"} <= run.run.versions.keys()
    assert "/" not in "".join(
        (*run.run.machine.values(), *run.run.versions.values(), run.run.commit)
    )
