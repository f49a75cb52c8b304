"""Lemma 7's checks build what they judge."""

from __future__ import annotations

from dpverify.harness import DerivationCheck
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.checks import sr_noise

SPECS = load_specs()


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def test_every_check_of_a_derivation_builds_for_its_statement() -> None:
    for entry in sr_noise.CHECKS.entries():
        if (
            isinstance(entry.check, DerivationCheck)
            and "printed" in entry.check.variants
        ):
            on = statement(entry.check.claim, dict(entry.check.readings))
            assert entry.check.build(on).whose == "ours"
