"""What is true by its form is never said to be proved, whoever says so."""

from __future__ import annotations

from pathlib import Path

from dpverify.harness.run.runner import verify
from dpverify.ledger import load_specs
from dpverify.ledger.records import Status
from dpverify.ledger.results import Result
from dpverify.report.terminal import amendment_words
from tests.for_each import for_each

PAPER = """
[paper]
key = "forms2026"
title = "Forms"
authors = ["nobody"]
venue = "nowhere"
[paper.texts]
full = "the text"
[symbols.N]
latex = 'N'
domain = "integer, N >= 1"
meaning = "examples"
[symbols.T]
latex = 'T'
domain = "integer, T >= 1"
meaning = "steps"
[[claim]]
id = "remark-1"
where = "Remark 1"
source = "full"
quote = "words"
kind = "inequality"
"""
VERDICT = """
[[verdict]]
claim = "remark-1"
status = "refuted"
severity = "constant"
reason = "Too small."
[verdict.amendment]
status = "proved"
why = "It is larger."
"""


def judged(folder: Path, claim: str, verdict: str = "") -> Result:
    paper = folder / "forms2026"
    paper.mkdir()
    (paper / "claims.toml").write_text(PAPER + claim, encoding="utf-8")
    (paper / "verdicts.toml").write_text(verdict, encoding="utf-8")
    (result,) = verify(load_specs(folder)).results
    return result


@for_each(
    ("sides", "status"),
    [
        ('lhs = "N + T"\nrelation = "="\nprinted = "T + N"', "untested"),
        (
            'lhs = "N"\nrelation = "<="\nprinted = "T"\nlet = [{symbol = "T", value = "N"}]',
            "untested",
        ),
        ('lhs = "N + T"\nrelation = "="\nprinted = "T + N + 0"', "proved"),
        ('lhs = "N"\nrelation = "<="\nprinted = "N + T"', "proved"),
        ('lhs = "N"\nrelation = "<"\nprinted = "N"', "refuted"),
    ],
)
def test_only_a_statement_can_be_proved(
    tmp_path: Path, sides: str, status: Status
) -> None:
    result = judged(tmp_path, sides)
    assert result.status == status
    assert ("identical sides prove nothing" in result.reason) == (status == "untested")


PRINTED = 'lhs = "sqrt(T)"\nrelation = ">="\nprinted = "N"'


def test_an_amendment_with_identical_sides_is_untested(tmp_path: Path) -> None:
    result = judged(tmp_path, PRINTED, VERDICT + 'formula = "sqrt(T)"')
    assert result.amendment is not None
    assert result.amendment.status == "untested"
    assert all("identical sides" in check.message for check in result.amendment.checks)


@for_each("marked", ["", "only_restates = true\n"])
def test_an_amendment_that_requires_what_it_claims_has_no_status(
    tmp_path: Path, marked: str
) -> None:
    result = judged(tmp_path, PRINTED, f'{VERDICT}{marked}requires = ["T >= N**2"]')
    assert result.amendment is not None
    assert result.amendment.only_restates
    assert amendment_words(result) == "holds exactly if T >= N**2"


def test_a_narrower_domain_is_no_restatement(tmp_path: Path) -> None:
    result = judged(tmp_path, PRINTED, f'{VERDICT}requires = ["T >= N**3"]')
    assert result.amendment is not None
    assert not result.amendment.only_restates
    assert amendment_words(result).startswith("holds for T >= N**3: ")
