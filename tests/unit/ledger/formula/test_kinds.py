"""Laws, pairs and numbers stand where they belong, and names of other languages get a hint."""

from __future__ import annotations

import pytest

from dpverify.ledger.formula import FormulaError, check_names, parse, parse_relation
from dpverify.ledger.formula.tree import SIGNATURES
from dpverify.symbolic.laws.functions import FUNCTIONS
from tests.for_each import for_each

REFUSED = [
    ("laplace_law(0, 1)", "a formula is a number; laplace_law is a law"),
    ("laplace_law(0, 1) + 1", "an operand is a number, got laplace_law"),
    (
        "delta_of(laplace_law(0, 1), 1)",
        "argument 1 of delta_of is a pair, got laplace_law, which is a law",
    ),
    ("hockey_stick(normal_law(0, 1), 2, 1)", "argument 2 of hockey_stick is a law"),
    ("kl(normal_law(0, kl(1, 2)), normal_law(0, 1))", "argument 1 of kl is a law"),
    (
        "pure_epsilon_of(joined(normal_law(0, 1), normal_law(0, 1)))",
        "argument 1 of joined is a pair",
    ),
    (
        "max(1, neighbours(normal_law(0, 1), normal_law(1, 1)))",
        "argument 2 of max is a number",
    ),
    ("sum(point_law(i), i, 0, 3)", "an operand is a number"),
    ("Lap(1)", "use laplace_law(m, b)"),
    ("subsampled(1)", "use poisson_sampled(M, q)"),
    ("KL(1, 2)", "use kl(P, Q)"),
    ("laplace_laws(0, 1)", "did you mean 'laplace_law'"),
]


@for_each("text, rule", REFUSED)
def test_what_stands_in_the_wrong_place_is_refused(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as raised:
        check_names(text, parse(text), frozenset("x"), {})
    assert rule in str(raised.value)


def test_conditions_are_read_in_the_same_way() -> None:
    text = "kl(normal_law(0, x), normal_law(1, x)) <= 1"
    check_names(text, parse_relation(text), frozenset("x"), {})
    with pytest.raises(FormulaError, match="an operand is a number"):
        check_names(
            "normal_law(0, 1) <= 1",
            parse_relation("normal_law(0, 1) <= 1"),
            frozenset(),
            {},
        )


@for_each("text", ["normal_law(1)", "product(normal_law(0, 1))", "shuffled(1, 2)"])
def test_the_number_of_arguments_is_checked(text: str) -> None:
    with pytest.raises(FormulaError, match="argument"):
        parse(text)


def test_every_function_of_the_language_is_there() -> None:
    assert SIGNATURES.keys() == FUNCTIONS.keys()


def test_a_paper_may_use_the_names_as_letters() -> None:
    check_names("kl + mixture", parse("kl + mixture"), frozenset({"kl", "mixture"}), {})
