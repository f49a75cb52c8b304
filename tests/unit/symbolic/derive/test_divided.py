"""A letter of a statement as quotient and rest: what is proven of these, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy
from sympy import Lambda, Min, Sum, Symbol

from dpverify.ledger.formula import to_text
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.integers import divided
from dpverify.symbolic.derive.steps import (
    Case,
    Cases,
    Derivation,
    DerivationError,
    Division,
    Step,
)
from dpverify.symbolic.expressions.ranges import integer
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
)
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude

EPOCHS = Division("T", "N", "whole", "left")
DOMAINS = {"T": "integer, T >= 1", "N": "integer, N >= 1", "q": "integer, q >= 0"}
j = Symbol("j", integer=True)


def steps_done(statement: Any) -> Derivation:
    """The passes before q have done ``min(q N, T)`` steps: N each, but the last one what is left."""
    parts = divided(statement, EPOCHS)
    n, q, whole, left = (
        sympy_symbols(parts)[name] for name in ("N", "q", "whole", "left")
    )
    start, end = sympy_sides(parts)
    term = Lambda(j, Min(n, whole * n + left - j * n))
    back = Lambda(j, term(q - 1 - j))
    some = (
        Step(
            Sum(back(j), (j, 0, q - 1)),
            "=",
            "sum-reverse",
            {"f": term, "lo": 0, "hi": q - 1},
        ),
        Step(
            back(0) + Sum(back(j), (j, 1, q - 1)),
            "=",
            "sum-split-first",
            {"f": back, "lo": 0, "hi": q - 1},
        ),
        Step(
            back(0) + Sum(n, (j, 1, q - 1)),
            "=",
            "min-is",
            {"a": n, "b": whole * n + left - (q - 1 - j) * n},
        ),
        Step(
            back(0) + (q - 1) * n, "=", "sum-constant", {"c": n, "lo": 1, "hi": q - 1}
        ),
        Step(end, "="),
    )
    none = (
        Step(sympy.Integer(0), "=", "empty-sum", {"f": term, "lo": 0, "hi": q - 1}),
        Step(end, "="),
    )
    return Derivation(
        "pass by pass",
        "ours",
        {
            "N": integer(1, 30),
            "whole": integer(0, 30),
            "left": integer(0, n - 1),
            "q": integer(0, whole + 1),
        },
        sympy_conditions(parts),
        start,
        (Cases(end, "=", (Case(q >= 1, some), Case(q <= 0, none))),),
        division=EPOCHS,
    )


def test_a_count_of_steps_holds_for_every_number_of_steps(make_statement: Any) -> None:
    total = "sum(min(N, T - j*N), j, 0, q - 1)", "="
    statement = make_statement(*total, "min(q*N, T)", DOMAINS, ("q <= floor(T/N) + 1",))
    derivation = steps_done(statement)
    assert check_derivation(derivation, points=60).complete
    assert conclude(derivation, statement) == "equal"
    assert (
        conclude(
            derivation, make_statement(*total, "q*N", DOMAINS, ("q <= floor(T/N) + 1",))
        )
        == "differs"
    )
    wider = make_statement(*total, "min(q*N, T)", DOMAINS, ("q <= floor(T/N) + 2",))
    assert conclude(derivation, wider) == "undecided"
    assert conclude(replace(derivation, division=None), statement) == "undecided"


def test_floor_and_remainder_become_letters(make_statement: Any) -> None:
    statement = make_statement(
        "mod(T, N) + floor(T/N)", "<=", "T + floor((T - 1)/N)", DOMAINS, ("T >= N",)
    )
    parts = divided(statement, replace(EPOCHS, least_quotient=1))
    assert to_text(parts.lhs) == "left + whole"  # type: ignore[arg-type]  # it has one
    assert to_text(parts.rhs) == "T + floor((T - 1)/N)"  # type: ignore[arg-type]
    assert [(name, to_text(value)) for name, value in parts.let] == [
        ("T", "whole*N + left")
    ]
    assert [to_text(one) for one in parts.requires] == ["T >= N"]
    assert str(parts.domains["whole"]) == "integer, whole >= 1"
    assert str(parts.domains["left"]) == "integer, left >= 0, left <= N - 1 + 0"
    later = divided(statement, replace(EPOCHS, first=1))
    assert to_text(later.lhs) == "mod(T, N) + floor(T/N)"  # type: ignore[arg-type]


@for_each(
    ("division", "domains"),
    [
        (EPOCHS, DOMAINS | {"N": "integer, N >= 0"}),
        (EPOCHS, DOMAINS | {"N": "real, N >= 1"}),
        (EPOCHS, DOMAINS | {"T": "real, T >= 1"}),
        (EPOCHS, DOMAINS | {"T": "integer, T >= -1"}),
        (replace(EPOCHS, first=2), DOMAINS),
        (replace(EPOCHS, least_quotient=1), DOMAINS),
        (replace(EPOCHS, remainder="q"), DOMAINS),
        (replace(EPOCHS, remainder="whole"), DOMAINS),
        (replace(EPOCHS, remainder="j"), DOMAINS),
        (replace(EPOCHS, divisor="T"), DOMAINS),
        (replace(EPOCHS, letter="X"), DOMAINS),
    ],
)
def test_a_division_that_is_not_always_there_is_refused(
    division: Division, domains: Any, make_statement: Any
) -> None:
    statement = make_statement("T + q + sum(j, j, 0, N)", "<=", "T", domains)
    with pytest.raises(DerivationError):
        divided(statement, division)
