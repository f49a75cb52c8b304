"""Conditions of used claims: what follows, what does not, and what the records of the papers say of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpverify as dv
from dpverify.cli import main
from dpverify.harness.search.at_point import at_point, read_point
from dpverify.ledger.check import conditions_of_used_claims, read_conditions
from tests.for_each import for_each

PAPER = """
[paper]
key = "toy2026"
title = "A toy paper"
authors = ["A. Author"]
venue = "Nowhere 2026"
texts = {full = "toy.md"}

[symbols.sigma]
latex = '\\sigma'
domain = "real, sigma > 0"
meaning = "noise"

[symbols.epsilon]
latex = '\\epsilon'
domain = "real, epsilon > 0"
meaning = "privacy"

[symbols.z]
latex = "z"
domain = "real, z > 1"
meaning = "order"

[symbols.ratio]
latex = "r"
domain = "real"
meaning = "squared noise"

[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "For sigma ..."
kind = "inequality"
relation = "<="
lhs = "1/sigma"
printed = "2"
requires = ["ratio >= 1/4", "z <= 1 + sigma", "sigma <= 10"]
let = [{symbol = "ratio", value = "sigma**2"}]

[[claim]]
id = "theorem-1"
where = "Theorem 1"
source = "full"
quote = "Let sigma ..."
kind = "inequality"
relation = "<="
lhs = "epsilon*sigma"
printed = "2"
requires = ["epsilon <= 2", "sigma <= 10"]
let = [{symbol = "sigma", value = "CHOICE"}]
uses = ["lemma-1"]
"""


def write(folder: Path, choice: str, conditions: str = "") -> Path:
    paper = folder / "toy2026"
    paper.mkdir()
    (paper / "claims.toml").write_text(
        PAPER.replace("CHOICE", choice), encoding="utf-8"
    )
    if conditions:
        (paper / "conditions.toml").write_text(conditions, encoding="utf-8")
    return folder


def test_a_choice_that_meets_a_condition_is_told_from_one_that_does_not(
    tmp_path: Path,
) -> None:
    for name, choice, finding in (
        ("met", "1/epsilon", "met"),
        ("fault", "1/(3*epsilon)", "not met"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        judged = dv.used_conditions("toy2026", specs=write(folder, choice))
        assert judged.stated_conditions == 1
        assert [
            (one.condition, one.finding, one.missing) for one in judged.conditions
        ] == [
            # with the definition of ratio that the lemma has
            ("ratio >= 1/4", finding, []),
            ("z <= 1 + sigma", "other letters", ["z"]),
        ]
        assert (judged.conditions[0].counterexample is None) == (finding == "met")
        assert len(judged.differences_from_record) == len(judged.unmet)


def test_a_record_explains_what_is_not_met_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = (
        '[[unmet]]\nclaim = "theorem-1"\nuses = "lemma-1"\ncondition = "ratio >= '
        '1/4"\nat = "epsilon=2"\nreason = "A"'
    )
    for name, choice, code in (("fault", "1/(3*epsilon)", 0), ("met", "1/epsilon", 1)):
        folder = tmp_path / name
        folder.mkdir()
        assert (
            main(
                [
                    "conditions",
                    "toy2026",
                    "--jobs",
                    "1",
                    "--specs",
                    str(write(folder, choice, record)),
                ]
            )
            == code
        )
        shown = capsys.readouterr()
        assert ("no violation is known" in shown.err) == (code == 1)
        assert ("not met at epsilon=" in shown.out) == (code == 0)
    bad = tmp_path / "bad"
    bad.mkdir()
    assert (
        main(
            [
                "conditions",
                "toy2026",
                "--specs",
                str(write(bad, "1", "[[unmet]]\nclaim = 1")),
            ]
        )
        == 2
    )
    assert "conditions.toml" in capsys.readouterr().err


@for_each("paper", ["tran2022", "wang2019", "zhang2021"])
def test_each_recorded_condition_fails_at_its_point(paper: str) -> None:
    specs = dv.load_specs()
    conditions, _ = conditions_of_used_claims(specs.papers[paper])
    by_name = {
        (one.claim.record.id, one.used.record.id, one.condition): one
        for one in conditions
    }
    for record in read_conditions(specs.directory / paper):
        implied = by_name[record.claim, record.uses, record.condition].implied
        assert implied is not None
        assert at_point(implied.statement(), read_point(record.at)).holds is False, (
            record
        )


def test_the_records_of_a_paper_have_all_conditions_that_are_not_met() -> None:
    assert dv.used_conditions("zhang2021").differences_from_record == []
