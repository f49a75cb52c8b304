"""Abbreviations are expanded, within sums as well, and conditions that a proof does not use are left out."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.formula import parse, to_text
from dpverify.symbolic.certify.header import symbols_of
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.elaborate.formulas import Abbreviations, ProofError
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each

LET = Abbreviations.read(
    {"weight(k)": "(1 - g**k)**2", "before": "sum(weight(s), s, 1, T - 1)"}
)


@for_each(
    ("text", "full"),
    [
        ("weight(T)", "(1 - g**T)**2"),
        ("before", "sum((1 - g**s)**2, s, 1, T - 1)"),
        (
            "sum(sum(weight(i + j), i, 0, j), j, 1, T)",
            "sum(sum((1 - g**(i + j))**2, i, 0, j), j, 1, T)",
        ),
    ],
)
def test_a_call_in_a_sum_becomes_a_formula_in_its_index(text: str, full: str) -> None:
    assert to_text(LET.expanded(parse(text))) == to_text(parse(full))


def test_conditions_on_unused_letters_are_not_assumed() -> None:
    spec = load_specs().claim("wang2019:theorem-4-1-order")
    statement = spec.statement(spec.readings()[0])
    (proof,) = spec.proofs.proofs_of("theorem-4-1-order")

    def assumed(unused: list[str]) -> set[str]:
        changed = msgspec.structs.replace(proof, unused=unused)
        made = derivation_of(
            replace(statement, proofs=replace(spec.proofs, proofs=(changed,)))
        )
        return {
            name
            for relation in made.assumptions
            for name in map(str, relation.free_symbols)
        }

    assert "iterations" in assumed([])
    assert "iterations" not in assumed(["iterations"])
    with pytest.raises(ProofError, match="no letter iteration"):
        assumed(["iteration"])


def test_sample_points_are_drawn_where_a_proof_says_and_no_condition_is_added() -> None:
    spec = load_specs().claim("wang2019:abstract-utility")
    statement = next(
        statement for statement in spec.statements() if statement.variant == "held"
    )
    (proof,) = (
        proof
        for proof in spec.proofs.proofs_of("abstract-utility")
        if proof.variant == "held"
    )

    def made(points: list[str]) -> Derivation:
        changed = msgspec.structs.replace(proof, points=points)
        proofs = tuple(changed if one is proof else one for one in spec.proofs.proofs)
        return derivation_of(
            replace(statement, proofs=replace(spec.proofs, proofs=proofs))
        )

    with_points, without = made(proof.points), made([])
    assert with_points.assumptions == without.assumptions
    settings = [
        Setting(d.variables, symbols_of(d), d.assumptions, 24, 0)
        for d in (with_points, without)
    ]
    assert [len(setting.points.samples) for setting in settings] == [24, 0]
