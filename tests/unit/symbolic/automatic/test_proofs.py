"""Lemmas of the literature are proved without a written proof, and none of their false twins is."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic import proofs
from dpverify.symbolic.automatic.argument import argument_lines
from dpverify.symbolic.automatic.proofs import AutomaticProof, also_proves, prove
from dpverify.symbolic.certify.certificates import sealed
from dpverify.symbolic.certify.checker import k, records_of, rules
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prefix import NotExpressibleError
from tests.for_each import for_each
from tests.unit.harness.formulas import formula
from tests.unit.symbolic.automatic.twins import DOMAINS, STEPS, TWINS

FOLDER = Path(__file__).parents[4] / "docs" / "examples" / "specs"
LEMMAS = [
    claim.statement()
    for claim in load_specs(FOLDER).claims()
    if claim.paper == "lemmas2026"
]
X, XY = "x: real", "x: real; y: real"
E, EQ = "e: real, e > 0", "e: real, e > 0; q: real, 0 < q <= 1"
T, B = "T: integer, T >= 1", "b: real, 0 <= b < 1; T: integer, T >= 1"
PARTS = "x: real, x >= 0; y: real, y >= 0; z: real, z >= 0"


def _found(text: str, domains: str, *requires: str) -> AutomaticProof:
    return prove(formula(text, domains, *requires))


@for_each("statement", LEMMAS, lambda statement: statement.key)
def test_lemmas_are_proved_and_are_those_of_the_records(
    statement: Statement, tmp_path: Path
) -> None:
    found = prove(statement)
    assert found.certificate is not None, found.tried
    file = tmp_path / f"{statement.key.replace(':', '-')}-printed.json"
    file.write_text(json.dumps(found.certificate), encoding="utf-8")
    checker, read = records_of(FOLDER).accepted(file, rules())
    assert checker.statement.data["claim"] == statement.key
    assert not read.given


@for_each("points", [True, False])
@for_each(
    ("name", "text", "requires"),
    [(name, text, requires) for name, text, *requires in TWINS],
)
def test_false_twins_are_not_proved(
    name: str,
    text: str,
    requires: list[str],
    points: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not points:  # the search has to resist by itself
        monkeypatch.setattr(FactList, "is_refuted", lambda *_: False)
    let = tuple(STEPS.get(name, {}).items())
    domains = "; ".join(
        f"{letter}: {domain}"
        for letter, domain in DOMAINS.items()
        if _uses(letter, text, *requires, *chain(*let))
    )
    assert prove(formula(text, domains, *requires, let=let), 2000).certificate is None


def _uses(letter: str, *texts: str) -> bool:
    return any(re.search(rf"\b{letter}\b", text) for text in texts)


TRUE = [
    ("exp(-e) <= 1 - e + e**2/2", E),
    ("1 - q + q*exp(e) <= exp(q*(exp(e) - 1))", EQ),
    ("(1 - exp(-e))/(1 + exp(-e)) <= e/2", E),
    ("exp(e) + exp(-e) - 2 <= 2*e**2", E, "e <= 1"),
    ("sum(i*b**i, i, 0, T) <= b/(1 - b)**2", B),
    ("1/(1 - b) - sum(b**i, i, 0, T) = b**(T + 1)/(1 - b)", B),
    ("sum(1/t**(3/2), t, 1, T) <= 3 - 2/sqrt(T)", T),
    ("sum(t/2**t, t, 1, T) = 2 - (T + 2)/2**T", T),
    ("sum(e/t, t, 1, T)/T <= e*(1 + log(T))/T", f"{E}; {T}"),
    ("T**2 <= 2**T", T, "T >= 4"),
    ("log2(T) <= T - 1", T),
    ("log(T) <= sqrt(T)", T),
    ("popcount(T) <= log2(T) + 1", T),
    ("floor(x) + floor(y) <= floor(x + y)", XY),
    ("abs(abs(x) - abs(y)) <= abs(x - y)", XY),
    ("max(x, y) = (x + y + abs(x - y))/2", XY),
    ("sqrt(x**2 + y**2) >= (abs(x) + abs(y))/sqrt(2)", XY),
    ("x**2/(1 + x**2) <= abs(x)/2", X),
    ("x*y*z <= (x**3 + y**3 + z**3)/3", PARTS),
    ("x*(1 - y) + y*(1 - x) < 1.001", XY, "0 <= x", "x <= 1", "0 <= y", "y <= 1"),
]


@for_each(("text", "domains", "requires"), [(t, d, r) for t, d, *r in TRUE])
def test_further_formulas_are_proved(
    text: str, domains: str, requires: list[str]
) -> None:
    found = _found(text, domains, *requires)
    assert found.certificate is not None, found.tried


# Boundaries, open and closed; reals for integers; parts without a value; arguments of
# logarithms that may be negative.
FALSE = [
    ("x < 1", X, "x <= 1"),
    ("x*(1 - y) + y*(1 - x) < 1", XY, "0 <= x", "x <= 1", "0 <= y", "y <= 1"),
    ("exp(-x) <= 1 - x + x**2/2", X),
    ("exp(x) <= 1 + x + x**2", X, "x <= 1.8"),
    ("exp(x) >= 1 + x + x**2/2", X),
    ("x**2 <= 2**x", X, "x >= 1"),
    ("log2(x) <= x - 1", X, "x >= 1"),
    ("floor(x + y) <= floor(x) + floor(y)", XY),
    ("sum(i*b**i, i, 0, T) <= b/(1 - b)", B),
    ("sum(t/2**t, t, 1, T) = 2 - (T + 1)/2**T", T),
    ("sum(1/t**2, t, 1, T) <= 1.6", T),
    ("sum(1/t, t, 1, T) <= 20", T),
    ("x/(x - y) >= 1", XY, "x >= y", "y >= 0"),
    ("log(x) <= x - 1", X, "x >= 0"),
    ("log(x**2) <= x**2 - 1", X),
    ("log(1 - x) <= 0", X, "0 <= x", "x <= 1"),
    ("sqrt(x)*sqrt(x) <= x", X, "x >= -1"),
    ("0**x <= 0", X, "x >= 0"),
    ("(x - 1)/(x - 1) = 1", X),
    ("1/x <= 1/y", XY, "x >= y"),
    ("T <= T**2 - 1", T),
    ("(1 + x)**T >= 1 + T*x", f"{X}; {T}"),
]


@for_each("points", [True, False])
@for_each(("text", "domains", "requires"), [(t, d, r) for t, d, *r in FALSE])
def test_what_fails_at_a_boundary_is_not_proved(
    text: str,
    domains: str,
    requires: list[str],
    points: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not points:
        monkeypatch.setattr(FactList, "is_refuted", lambda *_: False)
    assert prove(formula(text, domains, *requires), 1500).certificate is None


def test_facts_do_not_prove_another_printed_side() -> None:
    found = _found("exp(e) - 1 <= e + e**2", E, "e <= 1")
    assert found.certificate is not None
    assert also_proves(
        found.certificate, formula("exp(e) - 1 <= e + e**2", E, "e <= 1")
    )
    assert not also_proves(
        found.certificate, formula("exp(e) - 1 <= e + 0.99*e**2", E, "e <= 1")
    )


def _weights(items: list[Any]) -> list[list[Any]]:
    found = []
    for item in items:
        if item.get("by", [""])[0] == "combine":
            found += [term for term in item["by"][2] if term[0] != "0"]
        for key in ("facts", "then", "else"):
            found += _weights(item.get(key, []))
    return found


@for_each(
    "text",
    ["exp(e) - 1 <= e + e**2", "log(1 + e) >= e - e**2/2", "e**2*(1 - e) <= 4/27"],
)
def test_the_checker_refuses_weights_that_are_off_by_a_hundredth(text: str) -> None:
    found = _found(text, E, "e <= 1")
    assert found.certificate is not None
    weights = _weights(found.certificate["statement"]["body"])
    assert weights
    for term in weights:
        weight = term[0]
        term[0] = (
            f"{101 * int(weight.partition('/')[0])}/{100 * int(weight.partition('/')[2] or 1)}"
        )
        with pytest.raises(k.Refused):
            k.run(sealed(found.certificate), rules())
        term[0] = weight
    k.run(sealed(found.certificate), rules())


def test_the_effort_is_limited_and_what_was_tried_is_told() -> None:
    found = prove(formula("sum(1/t, t, 1, T) <= 1 + log(T)", T), 40)
    assert found.certificate is None
    assert [text.partition(":")[0] for text in found.tried] == [
        name for name, _ in proofs.STRATEGIES
    ]
    assert "more than 40 goals" in found.tried[0]
    found = prove(formula("x*(1 - x) <= 0.24", X))
    assert "not proved: 6/25 - x + x**2 >= 0" in found.tried[0]


def test_an_argument_names_its_rules_and_cases() -> None:
    found = _found("sum(1/sqrt(t), t, 1, T) <= 2*sqrt(T)", T)
    assert found.certificate is not None
    lines = argument_lines(found.certificate, found.way)
    assert lines[0] == "by induction"
    assert "case 1 - T < 0" in lines
    assert any(line.strip() == "the statement for T = T - 1" for line in lines)
    assert any("sqrt-tangent(" in line for line in lines)


def test_what_has_no_form_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise NotExpressibleError("planted")

    monkeypatch.setattr(proofs, "record_header", fail)
    assert _found("x <= x + 1", X).tried == ("planted",)


def test_what_the_checker_refuses_is_not_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proofs, "accepts", lambda _: False)
    found = _found("x <= x + 1", X)
    assert found.certificate is None
    assert "the checker refuses the certificate" in found.tried[0]
