from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.results import Result
from dpverify.ledger.specs import PassageCondition, calls, reference
from dpverify.ledger.units import check_units
from dpverify.report.collect import claim_id
from dpverify.report.pages.appendices import QUESTIONS_PAGE as PAGE
from dpverify.report.pages.appendices import UNITS_PAGE, Question, questions
from dpverify.report.pages.paper import paper_pages
from dpverify.report.pages.repository import recorded
from tests.for_each import for_each

ROOT = Path(__file__).parents[4]
PAPERS = ("tran2022", "wang2019", "zhang2021")
ASKED = [
    pytest.param(key, question, id=f"{key}: {question.title}")
    for key in PAPERS
    for question in questions(key)
]


def about(key: str, text: str) -> list[Result]:
    claim, reading = reference(text)
    results = recorded(ROOT / "reports")[key].results
    return [
        result
        for result in results
        if claim_id(result) == claim and reading.items() <= result.reading.items()
    ]


def agrees(key: str, condition: PassageCondition) -> bool:
    """Whether a condition names the pinned verdict of every reading that is meant."""
    results = about(key, condition.about)
    if condition.corrected:
        return any(r.amendment is not None for r in results) and all(
            r.amendment.pinned in condition.statuses
            for r in results
            if r.amendment is not None
        )
    return bool(results) and all(
        result.pinned in condition.statuses for result in results
    )


@for_each(("key", "question"), ASKED)
def test_what_an_answer_claims_agrees_with_the_pinned_verdicts(
    key: str, question: Question
) -> None:
    conditions = question.chapter.passage[0].conditions()
    assert conditions
    for condition in conditions:
        assert agrees(key, condition), condition
    named = {
        reference(given[0])[0]
        for name, given in calls(question.text)
        if name == "claim"
    }
    assert named, "an answer refers to claims"
    assert named <= {reference(condition.about)[0] for condition in conditions}, (
        "and says how each was judged"
    )


def test_an_answer_that_disagrees_with_a_pin_is_seen() -> None:
    assert not agrees(
        "tran2022", PassageCondition("theorem-4", ["proved"], corrected=False)
    )
    assert not agrees(
        "tran2022", PassageCondition("theorem-4", ["proved"], corrected=True)
    )
    assert not agrees(
        "tran2022", PassageCondition("theorem-0", ["proved"], corrected=False)
    )


@for_each("key", PAPERS)
def test_every_paper_has_a_page_of_questions_with_one_sentence_for_each_and_one_of_units(
    key: str,
) -> None:
    pages = paper_pages(key, recorded(ROOT / "reports")[key], load_specs().papers[key])
    units = check_units(load_specs().papers[key])
    assert f"({key}/{UNITS_PAGE})" in pages[f"{key}.md"]
    assert all(
        f"`{result.of}`" in pages[f"{key}/{UNITS_PAGE}"]
        for result in units.results
        if result.mismatches
    )
    assert (
        f"{units.count('inconsistent')} are inconsistent"
        in pages[f"{key}/{UNITS_PAGE}"]
    )
    page = pages[f"{key}/{PAGE}"]
    assert f"({key}/{PAGE})" in pages[f"{key}.md"]
    answers = re.split(r"^## .*$", page, flags=re.MULTILINE)[1:]
    assert len(answers) == len(questions(key)) >= 6
    for answer in answers:
        plain = re.sub(r"\]\([^)]*\)", "]", answer.strip())
        assert plain.endswith(".")
        assert not re.search(r"[.!?]\s+[A-Z]", plain), answer
        assert "left out here" not in answer
