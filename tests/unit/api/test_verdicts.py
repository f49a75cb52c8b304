"""Recorded verdicts, without a run, and how to pick some of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpverify as dv
from dpverify.ledger.load import bundled
from tests.for_each import for_each


@pytest.fixture(scope="module")
def verdicts() -> dv.Verdicts:
    return dv.recorded("tran2022")


def test_they_are_those_of_the_report(verdicts: dv.Verdicts) -> None:
    assert verdicts == dv.recorded("tran2022", report=bundled("reports"))
    assert verdicts.run is not None
    assert verdicts.run.budget == "standard"
    assert {claim.partition(":")[0] for claim in verdicts.claims} == {"tran2022"}
    assert (
        len(verdicts.claims)
        == len({result.claim for result in verdicts})
        < len(verdicts)
    )


@for_each("paper", ["tran2021", "peers", "../data/tran2022"])
def test_a_paper_without_verdicts_is_an_error_that_names_the_others(paper: str) -> None:
    with pytest.raises(
        dv.UnknownClaim, match="it has arora2023, tools, tran2022, wang2019, zhang2021"
    ):
        dv.recorded(paper)


def test_an_empty_report_has_no_verdicts(tmp_path: Path) -> None:
    with pytest.raises(dv.UnknownClaim, match="no verdicts on this paper"):
        dv.recorded("tran2022", report=tmp_path)


def test_filters_hold_together(verdicts: dv.Verdicts) -> None:
    found = verdicts.filter(
        claim="theorem-4*", status=["refuted", "proved"], severity="privacy", kind="dp"
    )
    assert found.claims == ["tran2022:theorem-4-dp"]
    assert {result.severity for result in found} == {"privacy"}
    assert found.run is verdicts.run
    assert verdicts.filter() == verdicts
    assert (
        verdicts.filter(claim="tran2022:lemma-12").claims
        == verdicts.filter(claim="lemma-12").claims
        != []
    )
    assert verdicts.filter(claim="no-such-claim") == []


@for_each(
    ("name", "word"),
    [("status", "disproved"), ("severity", "bad"), ("kind", "theorem")],
)
def test_a_word_that_does_not_exist_is_an_error(
    verdicts: dv.Verdicts, name: str, word: str
) -> None:
    with pytest.raises(
        ValueError, match=rf"{name} must be one of .*, got {name}='{word}'"
    ):
        verdicts.filter(**{name: word})  # type: ignore[arg-type]  # what a user might write


def test_severities_count_each_refuted_claim_once(verdicts: dv.Verdicts) -> None:
    claims = [claim for severity in verdicts.severities.values() for claim in severity]
    refuted = {
        result.claim
        for result in verdicts
        if result.status == "refuted" and not result.is_note
    }
    assert sorted(claims) == sorted(refuted)
