from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.ledger import PaperSpec, SpecError, load_specs
from dpverify.ledger.specs import CHAPTER_FUNCTIONS, PassageCondition, reference
from dpverify.report.pages.fill import Filler
from dpverify.report.pages.layout import Places
from tests.for_each import for_each

CLAIMS = """
[paper]
key = "toy2025"
title = "A toy"
authors = ["A"]
venue = "here"
texts = {full = "toy.md"}

[symbols.N]
latex = "N"
domain = "integer, N >= 1"
meaning = "examples"

[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "1 is at most N"
kind = "inequality"
lhs = "1"
relation = "<="
printed = "N"
reading = [{name = "ordering", choices = ["fresh", "once"], meaning = "order of the examples"}]
"""

CHAPTER = r"""
[[chapter]]
title = "Told"
part = "Lemma 1"

[[chapter.passage]]
rests_on = ["lemma-1[ordering=once] proved or not refuted", "corrected lemma-1 proved"]
text = '''{{ claim('lemma-1') }} {{ status('lemma-1[ordering=fresh]') }} {{ term('lemma-1', 'printed', '1') }} {1}'''
"""


def load(folder: Path, chapters: str) -> PaperSpec:
    """Write a specs folder and load it."""
    (folder / "toy2025").mkdir()
    (folder / "toy2025" / "claims.toml").write_text(CLAIMS)
    (folder / "toy2025" / "chapters.toml").write_text(chapters)
    return load_specs(folder).papers["toy2025"]


def test_chapters_are_read(tmp_path: Path) -> None:
    (chapter,) = load(tmp_path, CHAPTER).chapters
    assert (chapter.title, chapter.part) == ("Told", "Lemma 1")
    first, second = chapter.passage[0].conditions()
    assert first == PassageCondition(
        "lemma-1[ordering=once]", ["proved", "not refuted"], corrected=False
    )
    assert reference(first.about) == ("lemma-1", {"ordering": "once"})
    assert second.corrected


def test_a_paper_without_chapters_has_none(tmp_path: Path) -> None:
    assert load(tmp_path, "").chapters == ()


@for_each(
    ("old", "new", "rule"),
    [
        (
            "claim('lemma-1')",
            "claim('lemma-2')",
            "Told: passage[0]: 'lemma-2': the paper has no such claim",
        ),
        (
            "claim('lemma-1')",
            "clam('lemma-1')",
            "'clam': a function is one of claim, status",
        ),
        ("claim('lemma-1')", "claim", "line 1 of the text: only calls such as"),
        ("claim('lemma-1')", "claim('lemma-1').text", "only calls such as"),
        ("claim('lemma-1')", "claim(about='lemma-1')", "only calls such as"),
        ("claim('lemma-1')", "claim(lemma)", "claim(''): it takes a claim"),
        ("claim('lemma-1') }}", "claim('lemma-1') is {{", "line 1 of the text: "),
        ("{{ claim", "{% for c in 'x' %}{% endfor %}{{ claim", "only calls such as"),
        ("claim('lemma-1')", "claim('lemma-1', 'x')", "it takes a claim"),
        (
            "'printed', '1')",
            "'printed')",
            "term('lemma-1', 'printed'): it takes a claim, statement, path",
        ),
        (
            "'printed', '1')",
            "'drawn', '1')",
            "'drawn': statement is one of printed, corrected",
        ),
        (
            "[ordering=fresh]'",
            "[ordering=never]'",
            "reading ordering offers fresh, once",
        ),
        ("[ordering=fresh]'", "[order=fresh]'", "the claim has no such reading"),
        (
            "[ordering=fresh]'",
            "[fresh]'",
            "'lemma-1[fresh]': a claim may have readings",
        ),
        (
            "corrected lemma-1 proved",
            "lemma-1",
            "'lemma-1': it is a claim and a status",
        ),
        (
            "corrected lemma-1 proved",
            "lemma-1 true",
            "'true': a status is one of proved, proved given",
        ),
        ("corrected lemma-1 proved", "lemma-9 proved", "the paper has no such claim"),
        ('title = "Told"', "titel = 1", "chapter"),
        ("text = ", "text = 3 #", "text"),
        ("[[chapter]]", "[[chapter]", "malformed TOML"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, old: str, new: str, rule: str
) -> None:
    assert old in CHAPTER
    with pytest.raises(SpecError) as caught:
        load(tmp_path, CHAPTER.replace(old, new, 1))
    assert "chapters.toml" in str(caught.value)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_function_of_a_template_can_be_filled_in(tmp_path: Path) -> None:
    filler = Filler([], load(tmp_path, CHAPTER), Places({}))
    assert {*filler.functions} == {*CHAPTER_FUNCTIONS}


def test_the_bundled_chapters_are_sound_and_reach_the_utility_claims() -> None:
    parts = [chapter.part for chapter in load_specs().papers["tran2022"].chapters]
    assert parts[0] == ""
    assert {"Lemma 5", "Lemma 11", "Theorem 6", "Theorem 9"} <= {*parts}


def test_what_chapters_rest_on_is_what_is_pinned() -> None:
    for paper in load_specs().papers.values():
        for chapter in paper.chapters:
            for wanted in (
                one for passage in chapter.passage for one in passage.conditions()
            ):
                name, meant = reference(wanted.about)
                claim = paper.claims[name]
                for reading in claim.readings():
                    if meant.items() <= reading.items():
                        verdict = claim.verdict(reading)
                        assert verdict is not None
                        held = verdict.amendment if wanted.corrected else verdict
                        assert held is not None
                        assert held.status in wanted.statuses, (
                            f"{chapter.title}: {wanted.about}"
                        )
