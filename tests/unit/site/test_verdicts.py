from __future__ import annotations

import msgspec
import pytest

from dpverify.ledger.records import Status
from dpverify.ledger.results import Run
from dpverify.report.words import MARKS
from tests.for_each import for_each
from tests.unit.report.sample import sample_run

pytest.importorskip("sphinx")


def test_papers_come_before_our_own_tools() -> None:
    from dpverify.report.collect import ordered_runs

    run = sample_run()
    tools = [
        msgspec.structs.replace(result, claim="tools:a", kind="tool")
        for result in run.results[:1]
    ]
    runs: dict[str, Run] = {
        "aaa": msgspec.structs.replace(run, results=tools),
        "tran2022": run,
    }
    assert list(ordered_runs(runs)) == ["tran2022", "aaa"]


@for_each("status", MARKS)
def test_each_marked_status_gets_its_class(status: Status) -> None:
    from dpverify.site.verdicts import _pieces

    found = list(_pieces(f"before {MARKS[status]} {status} after"))
    assert [node.astext() for node in found] == [
        "before ",
        f"{MARKS[status]} {status}",
        " after",
    ]
    assert found[1]["classes"] == ["verdict", f"verdict-{status.replace(' ', '-')}"]
