from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpverify.ledger import Specs, UnknownClaim, load_specs
from dpverify.ledger.vocabulary import parse_domain
from tests.for_each import for_each

Write = Callable[..., Path]


@pytest.fixture
def specs(write: Write) -> Specs:
    write()
    edits = (
        ('key = "toy2024"', 'key = "other"'),
        ('id = "algorithm-1-range"', 'id = "remark-9"'),
    )
    return load_specs(
        write(
            *edits,
            ('"toy2024:proposition-1"', '"proposition-1"'),
            verdict_edits=REMARK,
            key="other",
        )
    )


REMARK = (('claim = "algorithm-1-range"', 'claim = "remark-9"'),)


def keys(specs: Specs, *patterns: str, paper: str | None = None) -> list[str]:
    return [claim.key for claim in specs.select(patterns, paper)]


def test_a_paper_shows_what_it_declares(specs: Specs) -> None:
    paper = specs.papers["toy2024"]
    assert paper.info.title == "A toy paper"
    assert paper.vocabulary.symbols["N"].api == "n_examples"
    assert paper.vocabulary.domains["N"] == parse_domain("integer, N >= 1")
    assert paper.vocabulary.functions["G_win"].arity == 2
    assert list(paper.vocabulary.quantities) == ["expected_noise_norm"]


def test_uses_without_a_paper_stay_in_the_paper(specs: Specs) -> None:
    assert specs.claim("other:lemma-2").uses == ("other:proposition-1",)


def test_no_pattern_is_every_claim_in_order(specs: Specs) -> None:
    assert keys(specs) == [
        f"other:{n}" for n in ("proposition-1", "lemma-2", "remark-9")
    ] + [f"toy2024:{n}" for n in ("proposition-1", "lemma-2", "algorithm-1-range")]
    assert keys(specs, paper="toy2024") == keys(specs)[3:]


@for_each(
    ("patterns", "wanted"),
    [
        (["toy2024:lemma-2"], ["toy2024:lemma-2"]),
        (["remark-9"], ["other:remark-9"]),
        (["lemma-*"], ["other:lemma-2", "toy2024:lemma-2"]),
        (["toy2024:*2"], ["toy2024:lemma-2"]),
        (
            ["remark-9", "other:*-9", "toy2024:lemma-2"],
            ["other:remark-9", "toy2024:lemma-2"],
        ),
        (["toy2024:lemma-2", "other:remark-9"], ["other:remark-9", "toy2024:lemma-2"]),
    ],
)
def test_select(specs: Specs, patterns: list[str], wanted: list[str]) -> None:
    assert keys(specs, *patterns) == wanted


def test_select_within_a_paper(specs: Specs) -> None:
    assert keys(specs, "lemma-2", paper="other") == ["other:lemma-2"]
    assert keys(specs, "*", paper="other") == keys(specs, paper="other")


@for_each(
    ("pattern", "paper", "rule"),
    [
        (
            "lemma-2",
            None,
            "several papers have this claim; say which: other:lemma-2, toy2024:lemma-2",
        ),
        ("remrak-9", None, "did you mean 'remark-9'"),
        ("toy2024:remark-9", None, "or 'other:remark-9'?"),
        ("remark-9", "toy2024", "unknown claim"),
        ("theorem-*", None, "unknown claim"),
        (
            "lemma-2",
            "toy",
            "unknown paper; did you mean 'toy2024'?; known papers are other, toy2024",
        ),
        ("lemma-2\n[", None, "unknown claim"),
    ],
)
def test_unknown_claims(
    specs: Specs, pattern: str, paper: str | None, rule: str
) -> None:
    with pytest.raises(UnknownClaim) as caught:
        specs.select([pattern], paper)
    assert rule in str(caught.value)
    assert str(caught.value).isprintable()


@for_each("key", ["lemma-2", "toy2024:", "nowhere:lemma-2", "toy2024:lemma-22", ""])
def test_claim_takes_full_ids_only(specs: Specs, key: str) -> None:
    with pytest.raises(UnknownClaim):
        specs.claim(key)
