from __future__ import annotations

from typing import get_args

import msgspec

from dpverify.ledger.check_results import AmendmentResult, Method
from dpverify.ledger.claims import Line
from dpverify.ledger.records import Kind, RelationToDerived, Status
from dpverify.report import words
from tests.for_each import for_each
from tests.unit.report.sample import result


def test_every_word_of_the_records_has_its_words() -> None:
    statuses = set(get_args(Status))
    assert (
        set(words.STATUSES)
        == set(words.MARKS)
        == set(words.ASCII_MARKS)
        == set(words.MEANINGS)
        == statuses
    )
    assert (
        len(set(words.MARKS.values()))
        == len(set(words.ASCII_MARKS.values()))
        == len(statuses)
    )
    assert set(words.METHODS) == set(get_args(Method))
    assert set(words.RELATIONS_TO_DERIVED) == set(get_args(RelationToDerived))
    assert all(
        words.kind_words(kind) and "-" not in words.kind_words(kind)
        for kind in get_args(Kind)
    )


def test_marks_are_letters_and_no_pictures() -> None:
    assert all(len(mark) == 1 and ord(mark) < 0x1F000 for mark in words.MARKS.values())


@for_each(
    ("pinned", "status", "contradicts", "told"),
    [
        ("untested", "proved", False, ""),
        ("proved", "proved", False, "as pinned"),
        ("proved", "not refuted", False, "pinned proved, unconfirmed by this run"),
        ("refuted", "inconclusive", False, "pinned refuted, unconfirmed by this run"),
        ("not refuted", "proved", False, "pinned not refuted, this run shows more"),
        ("proved", "refuted", True, "contradicts the pinned verdict (proved)"),
    ],
)
def test_pin(pinned: str, status: str, *, contradicts: bool, told: str) -> None:
    made = result(
        "lemma-1", "Lemma 1", "count", status, pinned=pinned, contradicts=contradicts
    )
    assert words.pin_words(made) == told


def test_item_id_is_pytests() -> None:
    made = msgspec.structs.replace(
        result("lemma-1", "Lemma 1", "count", "proved"), reading={"b": "2", "a": "1"}
    )
    assert words.item_id(made) == "tran2022:lemma-1[a=1,b=2]"


def test_a_refuted_claim_is_told_with_what_falls() -> None:
    assert words.status_words("refuted", "privacy") == "refuted (privacy)"
    assert words.status_words("refuted", None) == "refuted"


@for_each(
    ("corrects", "holds_for", "told"),
    [
        (True, [], "corrected"),
        (True, ["n > 1", "b < n"], "holds for n > 1, b < n"),
        (False, ["n > 1"], "nothing better is known"),
    ],
)
def test_what_stands_instead(corrects: bool, holds_for: list[str], told: str) -> None:
    own = AmendmentResult(
        status="proved", why="", corrects=corrects, holds_for=holds_for
    )
    assert words.instead_words(own) == told
    assert words.with_status(own, told) == f"{told}: proved"


def test_a_claim_counts_once_with_the_worst_that_falls() -> None:
    falls = [
        msgspec.structs.replace(
            result(claim, "Here", "dp", "refuted"), severity=severity
        )
        for claim, severity in (
            ("b", "misprint"),
            ("a", "misprint"),
            ("a", "utility"),
            ("a", "proof"),
        )
    ]
    assert words.by_severity(falls) == {
        "utility": ["tran2022:a"],
        "misprint": ["tran2022:b"],
    }
    assert words.severities_words(falls) == "1 utility, 1 misprint"
    assert words.severities_words([]) == ""


def test_an_order_is_restated_up_to_constants() -> None:
    display = [Line(text="n = O(m)")]
    own = AmendmentResult(
        status="proved",
        why="",
        only_restates=True,
        holds_for=["n <= m"],
        display=display,
    )
    assert words.instead_words(own) == "holds up to constants exactly if n <= m"


@for_each(
    ("holds_for", "told"),
    [([], "says the same"), (["n > 1"], "holds exactly if n > 1")],
)
def test_an_amendment_that_only_restates_the_claim_has_no_status(
    holds_for: list[str], told: str
) -> None:
    own = AmendmentResult(
        status="proved", why="", only_restates=True, holds_for=holds_for
    )
    assert words.instead_words(own) == told
    assert words.with_status(own, told) == told


def test_outcomes_count_each_claim_once_by_the_worst_of_its_readings() -> None:
    falls = [
        result("a", "Lemma", "count", "proved", reading={"r": "1"}),
        result(
            "a", "Lemma", "count", "refuted", reading={"r": "2"}, severity="misprint"
        ),
        result(
            "a", "Lemma", "count", "refuted", reading={"r": "3"}, severity="privacy"
        ),
        result("b", "Lemma", "count", "not refuted", reading={"r": "1"}),
        result("b", "Lemma", "count", "proved", reading={"r": "2"}),
    ]
    assert {
        outcome: number for outcome, number in words.outcomes(falls).items() if number
    } == {
        "privacy": 1,
        "not refuted": 1,
    }
    assert (
        words.totals_words(falls) == "2 claims: 1 not refuted, 1 refuted (1 privacy)."
    )
