"""The exit code of a run with one verdict of which one thing is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dpverify.harness.run.judge import judge
from dpverify.harness.run.runner import exit_code
from dpverify.ledger import Specs
from dpverify.ledger.results import (
    AmendmentResult,
    CheckResult,
    ControlResult,
    Counterexample,
    Number,
    Run,
    RunInfo,
    Slack,
)

INFO = RunInfo(versions={}, seed=0, budget="smoke", commit="", machine={})
CHECK = CheckResult(name="search", method="search", status="not refuted")
BLIND = ControlResult(name="none", fault="no fault", at_declared_size=True, refuted=False)
ONE, TWO = Number(float=1.0), Number(float=2.0)
LOOSE = Slack(min=TWO, typical=TWO)
AT_EDGE = Counterexample(kind="smallest", parameters={}, lhs=TWO, rhs=ONE, edge="N <= 1")

WRONG: dict[str, dict[str, Any]] = {
    "contradicts its pin": {"contradicts": True},
    "sources disagree": {"sources_disagree": True},
    "a check broke": {"checks": [msgspec.structs.replace(CHECK, error="it broke")]},
    "a missed fault": {"checks": [msgspec.structs.replace(CHECK, controls=[BLIND])]},
    "no longer tight": {"tight": True, "slack": LOOSE},
    "a correction no longer tight": {
        "amendment": AmendmentResult(status="proved", why="it is so", tight=True, slack=LOOSE)
    },
    "not what falls": {"status": "refuted", "severity": "privacy", "counterexamples": [AT_EDGE]},
}


@pytest.mark.parametrize("what", ["", *WRONG])
def test_each_thing_that_is_wrong_with_one_verdict_gives_exit_code_1_by_itself(demo: Specs, what: str) -> None:
    good = judge(demo.claim("demo:root"), {}, [CHECK], [], "")
    run = Run(run=INFO, results=[msgspec.structs.replace(good, **WRONG.get(what, {}))])
    assert exit_code(run) == (what != "")
