from __future__ import annotations

from pathlib import Path

from dpverify.ledger import Specs, load_specs
from dpverify.ledger.check import check_specs
from tests.for_each import for_each

from .conftest import Write

SOUND = """
[[definition]]
name = "G_win"
at = "G_win(N, T)"
formula = "sum((1-alpha)**(T-i), i, N, T)"
where = "section 1"
quote = "the sum"
words = "it is the sum"

[[definition]]
name = "expected_noise_norm"
formula = "alpha*G*k"
letters = {k = {latex = "k", domain = "integer, 0 <= k, k <= N", meaning = "visits"}}
where = "section 1"
quote = "the norm"
words = "one for each visit"

[[fact]]
name = "convexity"
citation = "Anybody (1900), Theorem 1"
lhs = "1 - alpha"
relation = "<="
formula = "exp(-alpha)"
words = "the tangent at 0"
"""


def folder_with(write: Write, text: str) -> Path:
    folder = write()
    (folder / "toy2024" / "definitions.toml").write_text(text)
    return folder


def loaded(write: Write, text: str = SOUND) -> Specs:
    return load_specs(folder_with(write, text))


def test_a_claim_finds_what_its_words_mean(write: Write) -> None:
    claim = next(claim for claim in loaded(write).claims() if claim.record.quantity)
    meaning = claim.statement().definition("expected_noise_norm")
    assert str(meaning) == "expected_noise_norm = alpha*G*k for 0 <= k, k <= N"
    assert meaning is not None
    assert {"k", "alpha", "G", "N"} == set(meaning.statement.domains)
    assert claim.statement().definition("G_win", "start") is None


def test_the_record_that_says_most_comes_first(write: Write) -> None:
    one = SOUND.partition("[[fact]]")[0].rpartition("[[definition]]")[2]
    others = (
        one.replace("alpha*G*k", "G*k") + 'claims = ["lemma-2"]',
        one.replace("alpha", "2*alpha"),
    )
    text = SOUND + "\n[[definition]]".join(
        ["", others[0], others[1] + 'reading = {ordering = "once"}']
    )
    glossary = next(iter(loaded(write, text).claims())).glossary

    def formula(claim: str, ordering: str) -> str:
        found = glossary.definition(
            "expected_noise_norm", claim, {"ordering": ordering}
        )
        assert found is not None
        return found.record.formula

    assert formula("lemma-9", "fresh") == "alpha*G*k"
    assert formula("lemma-9", "once") == "2*alpha*G*k"
    assert formula("lemma-2", "once") == "G*k"


@for_each(
    ("old", "new", "rule"),
    [
        ('name = "G_win"', 'name = "H_win"', "claims.toml has no such function"),
        (
            'at = "G_win(N, T)"',
            'at = "2*G_win(N, T)"',
            "the left side is G_win, applied",
        ),
        (
            'at = "G_win(N, T)"',
            'at = "G_win(N, N)"',
            "each place of the left side has a letter of its own",
        ),
        ('at = "G_win(N, T)"', 'at = "G_win(N)"', "takes 2 argument"),
        ('name = "expected_noise_norm"', 'name = "noise"', "unknown quantity"),
        ('"alpha*G*k"', '"alpha*G*m"', "formula: 'alpha*G*m': unknown symbol 'm'"),
        ("{k = {", "{N = {", "a letter is new"),
        ("0 <= k, k <= N", "0 <= m", "unknown symbol 'm'"),
        (
            'words = "one for each visit"',
            'words = ""',
            "a definition says where the paper has it",
        ),
        (
            'words = "one for each visit"',
            'words = "w"\nclaims = ["lemma-99"]',
            "the paper has no such claim",
        ),
        ('quote = "the norm"', "", "this field is required"),
        ('quote = "the norm"', 'quote = "the norm"\nsource = "full"', "unknown field"),
        (
            "[[fact]]",
            SOUND.partition("[[fact]]")[0] + "[[fact]]",
            "two definitions fit equally well",
        ),
        ('relation = "<="', "", "this field is required"),
    ],
)
def test_what_is_wrong_is_said(write: Write, old: str, new: str, rule: str) -> None:
    assert old in SOUND
    (first, *_) = check_specs(folder_with(write, SOUND.replace(old, new, 1)))
    assert first.level == "error"
    assert "definitions.toml" in first.text
    assert rule in first.text


def test_evidence_is_of_a_formula_and_not_of_its_words(write: Write) -> None:
    digests = []
    for old, new in (
        ("", ""),
        ("it is the sum", "the sum"),
        ("k <= N", "k <= N + 1"),
        ("alpha*G*k", "2*alpha*G*k"),
    ):
        claim = next(iter(loaded(write, SOUND.replace(old, new)).claims()))
        digests.append(claim.glossary.digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
