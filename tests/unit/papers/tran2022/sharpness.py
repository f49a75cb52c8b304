"""Derivations are complete, end at their statement, and do not follow where its right side is sharpened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.steps import Derivation
from tests.unit.papers.derived import faulty_steps
from tests.unit.symbolic.conclusions import conclude

Variant = Literal["printed", "amended"]
Build = Callable[[Statement], Derivation]


def proves_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    spec = load_specs().claim(f"tran2022:{claim}")
    statement = spec.statement(spec.readings()[0], variant=variant)
    derivation = build(statement)
    assert faulty_steps(derivation, statement, points=40) == []
    assert conclude(derivation, statement) in {"equal", "weaker"}
    assert conclude(derivation, replace(statement, rhs=parse(sharper))) not in {
        "equal",
        "weaker",
    }
