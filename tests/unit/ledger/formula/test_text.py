from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpverify.ledger.formula import (
    Bin,
    Call,
    Formula,
    Inf,
    Name,
    Neg,
    Num,
    Sum,
    decimal_text,
    latex,
    parse,
    parse_relation,
    to_text,
)
from tests.for_each import for_each

NAMES = st.sampled_from("abcxyz").map(Name)
NUMBERS = st.decimals(0, 10**6, places=3).map(lambda d: Num(Fraction(d)))


def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return (
        st.builds(Neg, inner)
        | st.builds(Bin, st.sampled_from("+-*/"), inner, inner)
        | st.builds(Bin, st.just("**"), inner, NAMES)
        | st.builds(
            lambda name, arg: Call(name, (arg,)),
            st.sampled_from(["log", "sqrt", "floor", "F"]),
            inner,
        )
        | st.builds(lambda *args: Call("mod", args), inner, inner)
        | st.builds(
            lambda body, lo: Sum(body, "k", lo, Inf()), NAMES | NUMBERS, NUMBERS
        )
    )


TREES = st.recursive(NAMES | NUMBERS | st.just(Inf()), extend, max_leaves=12)


@given(TREES)
def test_text_parses_back_to_the_tree(tree: Formula) -> None:
    assert parse(to_text(tree)) == tree


@given(TREES)
def test_latex_is_well_formed(tree: Formula) -> None:
    text = latex(tree, {})
    for opening, closing in (
        "{}",
        "()",
        (r"\left", r"\right"),
        (r"\lfloor", r"\rfloor"),
    ):
        assert text.count(opening) == text.count(closing)
    assert "--" not in text
    assert "+ -" not in text


@for_each(
    "text",
    [
        "a - (b - c)",
        "a/(b*c)",
        "(a + b)*c",
        "-(a*b)",
        "(-a)**b",
        "a**b**c",
        "(a**b)**c",
        "a**-b",
        "f(a, b)",
    ],
)
def test_brackets_are_minimal(text: str) -> None:
    assert to_text(parse(text)) == text


def test_relations() -> None:
    assert to_text(parse_relation("0<alpha<=1/N")) == "0 < alpha <= 1/N"


@for_each(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 8), "0.125"),
        (Fraction(-7, 2), "-3.5"),
        (Fraction(10**39), "1" + "0" * 39),
        (Fraction(1, 3), None),
        (Fraction(1, 50), "0.02"),
    ],
)
def test_decimals(value: Fraction, text: str | None) -> None:
    assert decimal_text(value) == text


def test_a_fraction_without_a_decimal_is_written_as_a_quotient() -> None:
    assert to_text(Bin("*", Name("a"), Num(Fraction(1, 3)))) == "a*(1/3)"
    assert to_text(Bin("**", Num(Fraction(-2)), Name("a"))) == "(-2)**a"
