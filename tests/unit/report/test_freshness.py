from __future__ import annotations

from dpverify.ledger.results import Run
from dpverify.report.collect import reading_key, stale

FRESH = ("0" * 16, "1" * 16)
LEMMA_12 = "tran2022:lemma-12"


def hashes(run: Run) -> dict[tuple[str, tuple[tuple[str, str], ...]], tuple[str, str]]:
    return {(r.claim, reading_key(r.reading)): FRESH for r in run.results}


def test_fresh_evidence_is_not_stale(run: Run) -> None:
    assert stale(run, hashes(run)) == []


def test_each_hash_is_watched(run: Run) -> None:
    once = reading_key({"ordering": "once"})
    for today, what in [
        (("x", "1" * 16), "the claim's record has changed"),
        (
            ("0" * 16, "x"),
            "the checks, bounds or kernels, or a record that it rests on, have changed",
        ),
        (("x", "y"), "the claim's record and the code that judges it have changed"),
    ]:
        assert stale(run, hashes(run) | {(LEMMA_12, once): today}) == [
            f"{LEMMA_12} (ordering = once): {what} since it was judged"
        ]


def test_claims_that_came_or_went_are_told(run: Run) -> None:
    today = hashes(run)
    del today["tran2022:theorem-6", ()]
    today["tran2022:lemma-99", ()] = FRESH
    assert stale(run, today) == [
        "tran2022:theorem-6: the specs have no such claim or reading any more",
        "tran2022:lemma-99: the specs have it, the recorded run does not",
    ]


def test_key_does_not_depend_on_order() -> None:
    assert (
        reading_key({"b": "1", "a": "2"})
        == reading_key({"a": "2", "b": "1"})
        == (("a", "2"), ("b", "1"))
    )
