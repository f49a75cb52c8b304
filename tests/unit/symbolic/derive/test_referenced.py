"""Premises that are read from the records of claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sympy import Integer, Symbol

from dpverify.ledger import Specs, load_specs
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.cited import cite, cited_statements, refer
from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise, Step
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import refusal, unproved_premises

RECORDS = """
[paper]
key = "toy"
title = "Toy"
authors = ["Nobody"]
venue = "nowhere"
[paper.texts]
full = "this file"
[symbols.x]
latex = 'x'
domain = "real, 0 < x <= 1"
meaning = "a size"
[symbols.t]
latex = 't'
domain = "integer, t >= 1"
meaning = "a step"
[symbols.T]
latex = 'T'
domain = "integer, T >= 1"
meaning = "the last step"
[quantities.size]
latex = 's'
meaning = "a size"
[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "small"
kind = "inequality"
quantity = "size"
relation = "<="
printed = "x"
requires = ["t <= T"]
[[claim]]
id = "theorem-1"
where = "Theorem 1"
source = "full"
quote = "twice"
kind = "inequality"
quantity = "size"
relation = "<="
printed = "4*x"
uses = ["lemma-1"]
[[claim]]
id = "lemma-2"
where = "Lemma 2"
source = "full"
quote = "other"
kind = "inequality"
lhs = "x"
relation = "<="
printed = "1"
"""
VERDICTS = """
[[verdict]]
claim = "lemma-1"
status = "refuted"
severity = "constant"
[verdict.amendment]
formula = "2*x"
status = "proved"
why = "twice as large"
"""
SIZE, X, STEP, LAST = (
    Symbol("own", nonnegative=True), Symbol("x", positive=True),
    Symbol("t", integer=True, positive=True), Symbol("T", integer=True, positive=True),
)  # fmt: skip
RANGES: dict[str, Variable] = {
    "x": real(0, 1, open_lo=True), "T": integer(1, 9), "t": integer(1, LAST), "own": FromPremises()
}  # fmt: skip


@pytest.fixture
def toy(tmp_path: Path) -> Specs:
    return toy_specs(tmp_path)


def toy_specs(folder: Path, records: str = RECORDS, verdicts: str = VERDICTS) -> Specs:
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / "claims.toml").write_text(records)
    (folder / "toy" / "verdicts.toml").write_text(verdicts)
    return load_specs(folder)


def chain(premise: Premise, bound: object, *assumed: object) -> Derivation:
    steps = (
        Step(bound, "<=", "premise", {}, ("the lemma",)),
        Step(4 * X, "<=", "order", {"a": bound, "b": 4 * X}),
    )
    granted = (X <= 1, *assumed)
    return Derivation(
        "toy",
        "ours",
        RANGES,
        granted,
        SIZE,
        steps,
        {"the lemma": premise},
        local=("own", "t", "T"),
    )


def test_sides_and_conditions_are_those_of_the_record_printed_or_amended(
    toy: Specs,
) -> None:
    theorem = toy.claim("toy:theorem-1").statement()
    printed, amended = (
        refer(theorem, "lemma-1", SIZE, variant) for variant in ("printed", "amended")
    )
    assert (printed.lhs, printed.relation, printed.rhs) == (SIZE, "<=", X)
    assert (amended.rhs, str(amended.reference)) == (2 * X, "toy:lemma-1 (amended)")
    assert {str(condition) for condition in amended.conditions} >= {
        "x <= 1",
        "t <= T",
        "t is an integer",
    }
    other = refer(theorem, "lemma-1", SIZE, t=Symbol("u", integer=True))
    assert {str(condition) for condition in other.conditions} >= {
        "u <= T",
        "u > 0",
        "u is an integer",
    }
    assert refer(theorem, "lemma-1", SIZE, x=X / 2).rhs == X / 2


def test_the_conditions_of_a_record_are_proven_those_on_local_letters_too(
    toy: Specs,
) -> None:
    premise = refer(toy.claim("toy:theorem-1").statement(), "lemma-1", SIZE, "amended")
    assert check_derivation(chain(premise, 2 * X, STEP <= LAST), points=12).complete
    unproved = check_derivation(chain(premise, 2 * X), points=12).steps[1].note
    assert "not proven" in unproved
    assert "t <= T" in unproved
    assert not check_derivation(chain(premise, X, STEP <= LAST), points=12).complete


def test_references_are_named_by_their_statements_at_any_depth(toy: Specs) -> None:
    premise = refer(toy.claim("toy:theorem-1").statement(), "lemma-1", SIZE, "amended")
    below = chain(premise, 2 * X, STEP <= LAST)
    premises = {"below": cite(below), "a remark": Premise(X, "<=", 2 * X)}
    above = Derivation("above", "ours", RANGES, (), SIZE, (), premises)
    assert cited_statements(above) == [premise.reference]


def test_a_statement_is_no_premise_of_itself(toy: Specs) -> None:
    lemma = toy.claim("toy:lemma-1").statement(variant="amended")
    own = chain(refer(lemma, "lemma-1", SIZE, "amended"), 2 * X, STEP <= LAST)
    own = replace(own, steps=own.steps[:1], local=("own",))
    assert (
        refusal(own, lemma)
        == "the derivation of toy:lemma-1 (amended) cites this statement itself"
    )


def test_a_symbol_of_the_statement_does_not_stand_for_what_a_record_measures(
    toy: Specs,
) -> None:
    theorem = toy.claim("toy:theorem-1").statement()
    premises = {"the lemma": refer(theorem, "lemma-1", X)}
    taken = Derivation(
        "taken", "ours", {"x": real(0, 1, open_lo=True)}, (), X, (), premises
    )
    assert unproved_premises(taken, theorem) == ["size is x"]


@for_each(
    ("claim", "letter", "more", "rule"),
    [
        ("lemma-2", None, {}, "toy:theorem-1 does not rest on toy:lemma-2"),
        ("lemma-3", SIZE, {}, "does not rest on toy:lemma-3"),
        ("lemma-1", None, {}, "has no formula on its left"),
        ("lemma-1", SIZE, {"y": Integer(1)}, "has no symbol y"),
        ("lemma-1", SIZE, {"reading": {"order": "once"}}, "has no such reading"),
    ],
)
def test_what_cannot_be_referred_to(
    toy: Specs, claim: str, letter: object, more: dict[str, object], rule: str
) -> None:
    with pytest.raises(DerivationError, match=rule):
        refer(toy.claim("toy:theorem-1").statement(), claim, letter, **more)  # type: ignore[arg-type]


def test_a_step_may_not_change_what_the_letters_became(toy: Specs) -> None:
    premise = refer(toy.claim("toy:theorem-1").statement(), "lemma-1", SIZE, "amended")
    with pytest.raises(DerivationError, match="said where it is referred to"):
        premise.instance({"own": X})
