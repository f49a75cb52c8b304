"""Statuses along references: a pure function of what the checks found."""

from __future__ import annotations

import itertools

import msgspec

from dpverify.harness.run.status import settle
from dpverify.harness.run.suite import Suite, judged
from dpverify.ledger import Specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import Status
from dpverify.ledger.statements import Reference
from tests.for_each import for_each


def ref(name: str) -> Reference:
    return Reference(claim=f"demo:{name}", variant="amended")


def proof(
    *premises: str, words: tuple[str, ...] = (), name: str = "derivation"
) -> CheckResult:
    references = [ref(premise) for premise in premises]
    given = [*map(str, references), *words]
    status: Status = "proved given" if given else "proved"
    return CheckResult(
        name=name,
        method="derivation",
        status=status,
        given=given,
        references=references,
    )


def seen(status: Status) -> CheckResult:
    return CheckResult(name="search", method="search", status=status)


def settled(
    found: dict[str, list[CheckResult]], pinned: Status = "proved"
) -> dict[str, list[CheckResult]]:
    """Settle in every order, which must not matter; names are those of amended statements."""
    named = {str(ref(name)): checks for name, checks in found.items()}
    first, *others = (
        settle(dict(order), lambda _: pinned)
        for order in itertools.permutations(named.items())
    )
    assert all(other == first for other in others)
    return {name: first[str(ref(name))] for name in found}


def test_what_is_proved_drops_out_along_a_chain() -> None:
    found = settled({"a": [proof("b")], "b": [proof("c")], "c": [proof()]})
    assert [
        (check.status, check.given) for checks in found.values() for check in checks
    ] == [("proved", [])] * 3


def test_what_is_not_proved_stays_with_its_status_all_the_way_up() -> None:
    found = {
        "a": [proof("b", "d")],
        "b": [proof("c", words=("Jensen",))],
        "c": [seen("argued")],
        "d": [proof()],
    }
    found = settled(found)
    assert found["b"][0].given == ["demo:c (amended, argued)", "Jensen"]
    assert found["a"][0].given == ["demo:b (amended, proved given)"]
    assert (found["a"][0].status, found["d"][0].status) == ("proved given", "proved")


@for_each("status", ["refuted", "not refuted", "argued", "inconclusive", "untested"])
def test_a_premise_of_any_weaker_status_stays(status: Status) -> None:
    found = settled({"a": [proof("b")], "b": [seen(status)]})
    assert (found["a"][0].status, found["a"][0].given) == (
        "proved given",
        [f"demo:b (amended, {status})"],
    )


def test_a_premise_that_sources_disagree_on_is_not_proved() -> None:
    found = settled({"a": [proof("b")], "b": [proof(), seen("refuted")]})
    assert found["a"][0].given == ["demo:b (amended, inconclusive)"]


def test_a_premise_that_the_run_did_not_judge_stays_with_its_pin() -> None:
    found = settled({"a": [proof("b")]})
    assert found["a"][0].status == "proved given"
    assert found["a"][0].given == [
        "demo:b (amended, pinned proved, not judged in this run)"
    ]


def test_a_circle_is_refused_and_named_and_what_rests_on_it_is_not_proved() -> None:
    found = settled({"a": [proof("b")], "b": [proof("c")], "c": [proof("b")]})
    assert (
        found["b"][0].error
        == "premises run in a circle: demo:b (amended) -> demo:c (amended) -> demo:b (amended)"
    )
    assert (found["b"][0].status, found["c"][0].status) == (
        "inconclusive",
        "inconclusive",
    )
    assert (found["a"][0].error, found["a"][0].given) == (
        "",
        ["demo:b (amended, inconclusive)"],
    )
    assert (
        "demo:a (amended) -> demo:a (amended)"
        in settled({"a": [proof("a")]})["a"][0].error
    )


def test_another_proof_outside_the_circle_still_counts() -> None:
    found = settled(
        {"a": [proof("b")], "b": [proof("c"), proof(name="direct")], "c": [proof("b")]}
    )
    assert [check.status for check in found["b"]] == ["inconclusive", "proved"]
    assert found["a"][0].status == "proved"


def test_verdicts_are_those_after_the_premises_are_settled(demo: Specs) -> None:
    suite = Suite(demo, "smoke", 0, "tests.unit.harness.demo.demo_checks:load")
    decay, total = (
        suite.cases(demo.claim(f"demo:{name}"))[0] for name in ("decay", "sum")
    )
    reference = Reference(claim="demo:sum")
    resting = msgspec.structs.replace(
        proof(), status="proved given", given=[str(reference)], references=[reference]
    )

    def judge_decay(*found_of_sum: CheckResult) -> tuple[Status, list[str]]:
        cases, found = [decay], [[resting]]
        if found_of_sum:
            cases, found = [*cases, total], [*found, list(found_of_sum)]
        result = judged(demo, cases, found, [""] * len(cases))[0]
        return result.status, result.given

    assert judge_decay(proof(), seen("not refuted")) == ("proved", [])
    assert judge_decay(seen("argued"), seen("untested")) == (
        "proved given",
        ["demo:sum (printed, argued)"],
    )
    alone = ["demo:sum (printed, pinned argued, not judged in this run)"]
    assert judge_decay() == ("proved given", alone)
