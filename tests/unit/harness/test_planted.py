"""What a planted fault changes in a statement, and faults that give nothing or too much."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpverify.harness.sides import Planted, moved_side
from dpverify.ledger.formula import parse
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


def test_a_planted_right_side_takes_the_place_of_the_printed_one(
    statements: dict[str, Statement],
) -> None:
    printed = replace(statements["sum"], rhs=parse("n**2"))
    assert Planted("more", rhs="printed - 1").statement(printed).rhs == parse(
        "n**2 - 1"
    )
    assert (
        Planted("elsewhere", lhs=lambda point, statement: Fraction(0)).statement(
            printed
        )
        is printed
    )
    words = replace(printed, rhs=None)
    assert Planted("more", rhs="printed - 1").statement(words) is words


@for_each(
    "given",
    [
        {},
        {"rhs": "n"},
        {"rhs": "printed", "lhs": lambda *_: 0},
        {"lhs": lambda *_: 0, "is_satisfied": lambda *_: True},
    ],
)
def test_a_fault_gives_exactly_one_thing(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"exactly one|must use the name printed"):
        Planted("wrong", **given)


def test_a_side_is_moved_by_a_number(statements: dict[str, Statement]) -> None:
    printed = replace(statements["sum"], rhs=parse("n"))
    assert moved_side(printed, "*", Fraction(3)).rhs == parse("3*n")
    assert moved_side(printed, "+", Fraction(3)).rhs == parse("n + 3")
    with pytest.raises(ValueError, match="has no right side"):
        moved_side(replace(printed, rhs=None), "*", Fraction(3))
