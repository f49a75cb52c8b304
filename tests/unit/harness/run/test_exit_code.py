"""The exit code of a run with one verdict of which one thing is wrong."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dpverify.harness.finished import exit_code
from dpverify.harness.run.judge import judge
from dpverify.ledger import Specs
from dpverify.ledger.check_results import (
    AmendmentResult,
    CheckResult,
    ControlResult,
    Counterexample,
    DerivationResult,
    Number,
    Slack,
)
from dpverify.ledger.records import Status
from dpverify.ledger.results import INTERRUPTED, Run, RunInfo, lost_proofs
from dpverify.ledger.statements import Reference
from dpverify.report.terminal import closing
from tests.for_each import for_each

INFO = RunInfo(versions={}, seed=0, budget="smoke", commit="", machine={})
CHECK = CheckResult(name="search", method="search", status="not refuted")
BLIND = ControlResult(
    name="none", fault="no fault", at_declared_size=True, refuted=False
)
CHAIN = DerivationResult(name="ours", whose="ours", steps=[], complete=False)
WHOLE = replace(CHAIN, complete=True)
OPEN = CheckResult(
    name="derivation",
    method="derivation",
    status="inconclusive",
    message="not complete",
    derivation=CHAIN,
)
ONE, TWO = Number(float=1.0), Number(float=2.0)
LOOSE = Slack(min=TWO, typical=TWO)
AT_EDGE = Counterexample(
    kind="smallest", parameters={}, lhs=TWO, rhs=ONE, edge="N <= 1"
)

WRONG: dict[str, dict[str, Any]] = {
    "contradicts its pin": {"contradicts": True},
    "sources disagree": {"sources_disagree": True},
    "a check broke": {"checks": [replace(CHECK, error="it broke")]},
    "a missed fault": {"checks": [replace(CHECK, controls=[BLIND])]},
    "no longer tight": {"tight": True, "slack": LOOSE},
    "a correction no longer tight": {
        "amendment": AmendmentResult(
            status="proved", why="it is so", tight=True, slack=LOOSE
        )
    },
    "a proof is lost": {"pinned": "proved", "checks": [CHECK, OPEN]},
    "the proof of a correction is lost": {
        "amendment": AmendmentResult(
            status="not refuted", pinned="proved", why="it is so", checks=[CHECK, OPEN]
        )
    },
    "the proof of where it holds is lost": {
        "holds": AmendmentResult(
            status="not refuted", pinned="proved", why="it is so", checks=[CHECK, OPEN]
        )
    },
    "not what falls": {
        "status": "refuted",
        "severity": "privacy",
        "counterexamples": [AT_EDGE],
    },
}


@for_each("what", ["", *WRONG])
def test_each_thing_that_is_wrong_with_one_verdict_gives_exit_code_1_by_itself(
    demo: Specs, what: str
) -> None:
    good = judge(demo.claim("demo:root"), {}, [CHECK], [], "")
    run = Run(run=INFO, results=[replace(good, **WRONG.get(what, {}))])
    assert exit_code(run) == (what != "")


@for_each(
    ("pinned", "status", "check", "lost"),
    [
        ("proved", "not refuted", OPEN, True),
        ("proved", "inconclusive", OPEN, True),
        ("proved given", "argued", OPEN, True),
        (
            "proved",
            "not refuted",
            replace(OPEN, derivation=WHOLE, relation_to_derived="stronger"),
            True,
        ),
        ("proved", "proved", OPEN, False),  # by another derivation
        ("proved given", "proved", OPEN, False),
        ("argued", "not refuted", OPEN, False),
        ("not refuted", "not refuted", OPEN, False),
        (
            "proved",
            "not refuted",
            replace(OPEN, derivation=WHOLE, relation_to_derived="weaker"),
            False,
        ),
        (
            "proved",
            "not refuted",
            replace(OPEN, derivation=replace(CHAIN, whose="paper")),
            False,
        ),
        (
            "proved",
            "not refuted",
            replace(OPEN, derivation=replace(CHAIN, note="only 3 of 32 points")),
            False,
        ),
        # which is said already
        ("proved", "not refuted", replace(OPEN, error="it broke"), False),
        ("proved", "not refuted", replace(OPEN, derivation=None), False),  # interrupted
    ],
)
def test_a_proof_is_lost_where_only_a_derivation_that_is_not_complete_stands_for_the_pin(
    demo: Specs, pinned: Status, status: Status, check: CheckResult, lost: bool
) -> None:
    good = judge(demo.claim("demo:root"), {}, [CHECK], [], "")
    result = replace(good, pinned=pinned, status=status, checks=[CHECK, check])
    assert lost_proofs(result) == ["derivation: not complete"] * lost
    beside = replace(OPEN, name="another", derivation=None)  # which was not run
    assert lost_proofs(replace(result, checks=[CHECK, check, beside])) == []
    said = "\n".join(closing(Run(run=INFO, results=[result])))
    assert ("NO LONGER PROVED: demo:root: derivation: not complete." in said) == lost


CITED = "the literature's theorem"
ELSEWHERE = "pinned refuted, not judged in this run"
LEMMA = Reference(claim="demo:sum")
GIVEN = CheckResult(
    name="derivation",
    method="derivation",
    status="proved given",
    given=[CITED],
    derivation=WHOLE,
)


def on_lemma(said: str) -> CheckResult:
    return replace(GIVEN, given=[LEMMA.text(said)], references=[LEMMA])


@for_each(
    ("pinned", "proofs", "lost"),
    [
        ("proved", [GIVEN], [CITED]),
        ("proved given", [GIVEN], []),
        ("proved", [on_lemma("pinned proved, not judged in this run")], []),
        ("proved", [on_lemma("not refuted")], []),  # it is what is lost
        ("proved", [on_lemma("refuted")], [LEMMA.text("refuted")]),
        ("proved", [on_lemma(ELSEWHERE)], [LEMMA.text(ELSEWHERE)]),
        (
            "proved",
            [
                replace(
                    on_lemma("proved given"), given=[LEMMA.text("proved given"), CITED]
                )
            ],
            [CITED],
        ),
        ("proved", [GIVEN, on_lemma("proved given")], []),
        ("proved", [GIVEN, replace(OPEN, derivation=None)], []),  # another was not run
        ("proved", [GIVEN, replace(CHECK, message=INTERRUPTED)], []),
    ],
)
def test_a_proof_is_lost_too_where_it_takes_more_for_granted_than_its_pin(
    demo: Specs, pinned: Status, proofs: list[CheckResult], lost: list[str]
) -> None:
    good = judge(demo.claim("demo:root"), {}, [CHECK], [], "")
    result = replace(
        good, pinned=pinned, status="proved given", checks=[CHECK, *proofs]
    )
    assert lost_proofs(result) == [f"derivation: given {premise}" for premise in lost]
