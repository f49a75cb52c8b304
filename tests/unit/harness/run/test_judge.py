from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from dpverify.harness.finished import contradicts, is_unconfirmed
from dpverify.harness.run.judge import judge
from dpverify.harness.run.status import (
    decide_status,
    sources_disagree,
    unproved_premises,
)
from dpverify.ledger import Specs
from dpverify.ledger.check_results import (
    AmendmentResult,
    CheckResult,
    ControlResult,
    Counterexample,
    Method,
    Number,
    Slack,
)
from dpverify.ledger.records import Amendment, Status
from dpverify.ledger.results import INTERRUPTED, Result
from dpverify.report.words import instead_words
from tests.for_each import for_each


def found(
    status: Status, name: str = "check", method: Method = "search", **more: Any
) -> CheckResult:
    return CheckResult(name=name, method=method, status=status, **more)


@for_each(
    ("statuses", "want"),
    [
        ([], "untested"),
        (["untested"], "untested"),
        (["untested", "inconclusive"], "inconclusive"),
        (["inconclusive", "not refuted"], "not refuted"),
        (["not refuted", "proved"], "proved"),
        (["not refuted", "refuted", "inconclusive"], "refuted"),
        (["proved", "refuted"], "inconclusive"),
        (["argued", "not refuted"], "argued"),
        (["argued", "proved given"], "proved given"),
        (["argued", "refuted"], "inconclusive"),
    ],
)
def test_status_is_that_of_the_strongest_evidence(
    statuses: list[Status], want: Status
) -> None:
    status, reason = decide_status(
        [found(s, f"check-{i}") for i, s in enumerate(statuses)]
    )
    assert status == want
    assert reason


def test_the_reason_names_the_checks_that_decided_and_those_that_could_not() -> None:
    checks = [
        found("not refuted", "search"),
        found("inconclusive", "law", message="over budget"),
    ]
    assert decide_status(checks) == (
        "not refuted",
        "not refuted by search; law: over budget",
    )


@for_each(
    ("status", "want"),
    [("not refuted", "inconclusive"), ("proved", "proved"), ("refuted", "refuted")],
)
def test_that_nothing_was_found_says_nothing_where_a_check_was_interrupted(
    status: Status, want: Status
) -> None:
    checks = [
        found(status, "law"),
        found("inconclusive", "search", message=INTERRUPTED),
    ]
    assert decide_status(checks)[0] == want
    assert decide_status(checks)[1].endswith(f"search: {INTERRUPTED}")


def test_proved_and_refuted_means_that_the_sources_disagree() -> None:
    checks = [found("proved", "derivation"), found("refuted", "search")]
    assert (
        sources_disagree(checks)
        == "sources disagree: proved by derivation and refuted by search"
    )


def test_a_disagreement_names_the_statistic_its_place_and_its_size(demo: Specs) -> None:
    statistic = (
        "scale of a step: standard deviation 1.1 times its value at t=3, p = 1e-9"
    )
    law = found(
        "inconclusive",
        "law",
        kernel_disagrees=True,
        statistic=statistic,
        region="T=4, d=2",
        n=100,
        alpha=1e-6,
    )
    (differs,) = judge(
        demo.claim("demo:bits"), {}, [law, found("proved", "derivation")], [], ""
    ).disagreements
    assert (differs.form, differs.checks, differs.what) == (
        "printed",
        ["law"],
        statistic,
    )
    assert (
        differs.text == f"printed, law: {statistic}; T=4, d=2; n = 100, alpha = 1e-06"
    )


def test_a_disagreement_of_proof_and_search_names_the_counterexample(
    demo: Specs,
) -> None:
    point = {"s": Number(exact="5", float=5.0)}
    left = Number(exact="7/2", float=3.5)
    example = Counterexample(
        kind="smallest", parameters=point, lhs=left, rhs=Number(float=3.25)
    )
    checks = [
        found("proved", "derivation"),
        found("refuted", "search", counterexamples=[example]),
    ]
    for place, form in enumerate(("printed", "amended", "held")):
        unproved_premises: list[list[CheckResult]] = [[], [], []]
        unproved_premises[place] = checks
        (differs,) = judge(
            demo.claim("demo:bits"),
            {},
            unproved_premises[0],
            unproved_premises[1],
            "",
            unproved_premises[2],
        ).disagreements
        assert differs.form == form
        assert differs.checks == ["derivation", "search"]
        assert differs.what.endswith("search refutes it: at s=5: left 7/2, right 3.25")


def test_what_a_proof_is_given_is_named_unless_another_needs_nothing() -> None:
    checks = [
        found("proved given", "long", given=["lemma-1", "lemma-2"]),
        found("proved given", "short", given=["b"]),
    ]
    assert unproved_premises(checks) == ["b"]
    assert decide_status(checks) == ("proved given", "proved given b by short")
    assert unproved_premises([*checks, found("proved", "whole")]) == []


def test_a_kernel_that_disagrees_overrides_every_verdict() -> None:
    checks = [
        found("refuted", "search"),
        found("inconclusive", "law", kernel_disagrees=True),
    ]
    status, reason = decide_status(checks)
    assert status == "inconclusive"
    assert reason == "sources disagree: the kernel does not follow the exact law (law)"


@for_each(
    ("pinned", "seen", "against", "open_"),
    [
        ("proved", "refuted", True, False),
        ("not refuted", "refuted", True, False),
        ("refuted", "proved", True, False),
        ("refuted", "not refuted", True, False),
        ("proved", "not refuted", False, True),
        ("proved", "inconclusive", False, True),
        ("refuted", "inconclusive", False, True),
        ("refuted", "untested", False, True),
        ("not refuted", "proved", False, False),
        ("argued", "proved given", False, False),
        ("proved", "argued", False, True),
        ("argued", "refuted", True, False),
        ("proved", "proved", False, False),
        ("untested", "refuted", False, False),
        ("inconclusive", "refuted", False, False),
    ],
)
def test_only_holds_against_refuted_contradicts(
    demo: Specs, pinned: Status, seen: Status, against: bool, open_: bool
) -> None:
    assert contradicts(pinned, seen) == against
    result = judge(demo.claim("demo:empty"), {}, [found(seen)], [], "hash")
    pinned_so = Result(
        **{
            **{f: getattr(result, f) for f in result.__struct_fields__},
            "pinned": pinned,
        }
    )
    assert is_unconfirmed(pinned_so) == open_
    for beside in ("amendment", "holds"):
        said = AmendmentResult(status=seen, pinned=pinned, why="it is so")
        assert (
            is_unconfirmed(
                msgspec.structs.replace(result, pinned=seen, **{beside: said})
            )
            == open_
        )


@for_each(
    ("seen", "unpinned"),
    [
        ("refuted", True),
        ("inconclusive", True),
        ("not refuted", False),
        ("proved", False),
    ],
)
def test_what_no_verdict_says_is_without_a_pin_where_it_does_not_hold(
    demo: Specs, seen: Status, unpinned: bool
) -> None:
    assert (
        judge(demo.claim("demo:empty"), {}, [found(seen)], [], "").unpinned == unpinned
    )
    assert not judge(demo.claim("demo:sum"), {}, [found(seen)], [], "").unpinned


def test_a_result_gathers_everything(demo: Specs) -> None:
    point = Counterexample(
        kind="smallest", parameters={}, lhs=Number(float=1.0), rhs=Number(float=0.0)
    )
    slacks = [Slack(min=Number(float=m), typical=Number(float=9.0)) for m in (3.0, 2.0)]
    printed = [
        found(
            "refuted",
            "search",
            counterexamples=[point],
            slack=slacks[0],
            region="all",
            figures={"f": {"t": [1.0]}},
        ),
        found("not refuted", "grid", slack=slacks[1], relation_to_derived="weaker"),
    ]
    result = judge(demo.claim("demo:bits"), {}, printed, [found("not refuted")], "0123")
    assert result.claim == "demo:bits"
    assert (result.status, result.pinned, result.contradicts) == (
        "refuted",
        "refuted",
        False,
    )
    assert result.counterexamples == [point]
    assert result.slack == slacks[1]
    assert result.relation_to_derived == "weaker"
    assert result.region == "search: all"
    assert result.figures == {}, "a check keeps its own figures"
    assert result.checks[0].figures or result.checks[1].figures
    assert result.findings == ["the top bit is forgotten"]
    assert result.reported == "somebody, somewhere"
    assert result.printed == "log2(s)"
    assert r"\log_2" in result.latex
    assert result.evidence_hash == "0123"
    assert result.record_hash == demo.claim("demo:bits").record_hash
    assert result.amendment is not None
    assert (result.amendment.formula, result.amendment.status) == (
        "log2(s) + 1",
        "not refuted",
    )
    assert result.amendment.pinned == "not refuted"


def test_evidence_against_an_amendment_contradicts_too(demo: Specs) -> None:
    result = judge(
        demo.claim("demo:bits"), {}, [found("refuted")], [found("refuted")], ""
    )
    assert result.contradicts


def test_disagreement_about_an_amendment_counts(demo: Specs) -> None:
    result = judge(
        demo.claim("demo:bits"),
        {},
        [],
        [found("inconclusive", kernel_disagrees=True)],
        "",
    )
    assert result.sources_disagree


def test_disagreement_and_missed_faults_count_wherever_they_are_found(
    demo: Specs,
) -> None:
    blind = ControlResult(
        name="none", fault="no fault", at_declared_size=True, refuted=False
    )
    bad, why = (
        found("inconclusive", kernel_disagrees=True, controls=[blind]),
        "it is so",
    )
    result = judge(demo.claim("demo:bits"), {}, [], [], "", [bad])
    assert result.sources_disagree
    for beside in ("amendment", "holds"):
        said = AmendmentResult(status="inconclusive", why=why, checks=[bad])
        assert msgspec.structs.replace(result, **{beside: said}).missed_faults == [
            "check: none (no fault)"
        ]


def test_an_untested_claim_gives_the_pinned_reason(demo: Specs) -> None:
    result = judge(demo.claim("demo:later"), {}, [], [], "")
    assert (result.status, result.reason) == ("untested", "a rate has no constants")
    assert (
        judge(demo.claim("demo:empty"), {}, [], [], "").reason
        == "no check is written for it"
    )


@for_each(
    ("change", "holds_for"),
    [
        ({"formula": "log2(s)", "requires": ["s >= 9"]}, ["s >= 9"]),
        ({"formula": "log2(s) + 1", "requires": ["s >= 9"]}, []),
        ({"formula": "log2(s)", "relation": "<", "requires": ["s >= 9"]}, []),
        ({"formula": "log2(s)"}, []),
    ],
)
def test_an_amendment_that_only_adds_conditions_says_where_the_claim_holds(
    demo: Specs, change: dict[str, Any], holds_for: list[str]
) -> None:
    spec = demo.claim("demo:bits")
    (verdict,) = spec.verdicts
    assert verdict.amendment is not None
    amendment = Amendment(why="it is", status="not refuted", **change)
    spec = replace(
        spec, verdicts=(msgspec.structs.replace(verdict, amendment=amendment),)
    )
    result = judge(spec, {}, [found("refuted")], [found("not refuted")], "hash")
    assert result.amendment is not None
    assert result.amendment.holds_for == holds_for
    assert result.amendment.corrects
    assert instead_words(result.amendment) == (
        "holds for s >= 9" if holds_for else "corrected"
    )
    assert (
        instead_words(msgspec.structs.replace(result.amendment, corrects=False))
        == "nothing better is known"
    )
