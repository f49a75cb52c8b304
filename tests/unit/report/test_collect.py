"""What belongs together in a report, what is stale, and the chance that a red is false."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import Status
from dpverify.ledger.results import Result, Run
from dpverify.report.collect import (
    Hashes,
    by_paper,
    paper_runs,
    run_false_alarm,
    said_alike,
    stale,
)
from tests.for_each import for_each
from tests.unit.report.sample import result


def one(
    claim: str = "lemma-1", status: Status = "refuted", kind: str = "count", **more: Any
) -> Result:
    return result(claim, "Lemma 1", kind, status, **more)


def simulated(alpha: float) -> CheckResult:
    return CheckResult(
        name="law", method="monte-carlo", status="not refuted", n=10, alpha=alpha
    )


@for_each(
    "more",
    [
        {"status": "inconclusive"}, {"severity": "privacy"}, {"reason": "another"}, {"contradicts": True},
        {"sources_disagree": True}, {"claim": "tran2022:lemma-2"},
    ],
)  # fmt: skip
def test_readings_of_which_another_thing_is_said_stand_apart(
    more: dict[str, Any],
) -> None:
    first = one(reading={"ordering": "once"})
    same = msgspec.structs.replace(first, reading={"ordering": "fresh"})
    assert said_alike([first, same]) == [[first, same]]
    assert len(said_alike([first, msgspec.structs.replace(same, **more)])) == 2


def test_a_result_is_stale_where_its_record_or_its_evidence_has_changed_or_it_is_not_there(
    run: Run,
) -> None:
    held = [one("a"), one("b"), one("c"), one("d")]
    run = msgspec.structs.replace(run, results=held)
    record, evidence = held[0].record_hash, held[0].evidence_hash
    today: Hashes = {
        ("tran2022:a", ()): (record, evidence),
        ("tran2022:b", ()): (record, "2"),
        ("tran2022:c", ()): ("2", evidence),
        ("tran2022:e", ()): (record, evidence),
    }
    assert {
        line.partition(":")[2].partition(":")[0]: line.rpartition(": ")[2]
        for line in stale(run, today)
    } == {
        "b": "the checks, bounds or kernels, or a record that it rests on, have changed since it was judged",
        "c": "the claim's record has changed since it was judged",
        "d": "the specs have no such claim or reading any more",
        "e": "the specs have it, the recorded run does not",
    }


def test_each_paper_of_a_run_has_the_chance_of_its_own_simulations(run: Run) -> None:
    mine = one("a", checks=[simulated(1e-6), simulated(2e-6)])
    other = msgspec.structs.replace(one(checks=[simulated(1e-3)]), claim="other2020:a")
    info = msgspec.structs.replace(run.run, false_alarm=1.003e-3)
    parts = by_paper([msgspec.structs.replace(run, run=info, results=[mine, other])])
    assert {key: run_false_alarm(part) for key, part in parts.items()} == {
        "other2020": 1e-3, "tran2022": pytest.approx(3e-6)
    }  # fmt: skip
    alone = by_paper([msgspec.structs.replace(run, run=info, results=[mine])])
    assert run_false_alarm(alone["tran2022"]) == 1.003e-3


def test_a_paper_with_one_claim_that_is_no_tool_is_about_a_paper(run: Run) -> None:
    tool = one(kind="tool")
    runs = {"tools": [tool], "paper": [tool, one("a")]}
    assert [
        *paper_runs(
            {
                key: msgspec.structs.replace(run, results=found)
                for key, found in runs.items()
            }
        )
    ] == ["paper"]
