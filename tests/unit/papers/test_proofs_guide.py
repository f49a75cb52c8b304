"""The guide to proofs shows proofs that are in the records, and what the program prints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from dpverify.ledger.load import bundled_specs
from dpverify.symbolic.rules import CATALOGUE

TEXT = (Path(__file__).parents[3] / "docs" / "proofs.md").read_text(encoding="utf-8")
BLOCKS = [
    tomllib.loads(block)
    for block in re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
]
RECORDS: dict[str, Any] = tomllib.loads(
    (bundled_specs() / "tran2022" / "proofs.toml").read_text(encoding="utf-8")
)


def test_its_first_example_is_in_the_records() -> None:
    first = BLOCKS[0]
    assert first["let"].items() <= RECORDS["let"].items()
    (lemma,) = first["lemma"]
    assert any(lemma.items() <= record.items() for record in RECORDS["lemma"])
    (proof,) = first["proof"]
    assert proof in RECORDS["proof"]


def test_its_cases_are_those_of_a_lemma() -> None:
    (record,) = (lemma for lemma in RECORDS["lemma"] if lemma["id"] == "chord-or-tail")
    guide, recorded = (
        [" ".join(line.split()) for line in chain.strip().splitlines()]
        for chain in (BLOCKS[1]["chain"], record["chain"])
    )
    assert guide == recorded


def test_it_names_rules_that_exist() -> None:
    cited = set(re.findall(r"by ([a-z0-9]+(?:-[a-z0-9]+)+)", TEXT)) - {
        "prefix-decays",
        "lemma-12-var",
    }
    assert cited
    assert cited <= CATALOGUE.keys()
