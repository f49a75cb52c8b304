"""Lemma 7's exact variances, at the sizes of the box."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.noise_bounds import NodeVariances
from dpverify.symbolic.exact.evaluate import definitions

SPECS = load_specs()


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def test_definitions_at_one_example_take_all_noise_away() -> None:
    point: dict[str, Any] = {
        "N": 1,
        "T": 5,
        "t": 5,
        "alpha": 1,
        "delta_G": 1,
        "sigma": 1,
        "gamma": Fraction(1, 2),
    }
    known = definitions(statement("lemma-7-var-3"), point)
    assert NodeVariances.of(known) == NodeVariances(
        Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    )
