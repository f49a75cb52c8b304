from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import decide, evaluate, to_number
from dpverify.symbolic.exact.numbers import DomainError, Exact
from tests.for_each import for_each


def side(text: str) -> object:
    def at(bits: int) -> Exact:
        return evaluate(parse(text), {}, precision=bits)

    return at


def test_precision_rises_until_the_sign_is_certain() -> None:
    seen: list[int] = []

    def close(bits: int) -> Exact:
        seen.append(bits)
        return evaluate(parse("exp(x)"), {"x": Fraction(1, 2**600)}, precision=bits)

    assert decide(close, ">", Fraction(1)) is True
    assert seen == [64, 256, 1024]


def test_equal_irrationals_stay_undecided() -> None:
    assert decide(side("sqrt(2)*sqrt(3)"), "<=", side("sqrt(6)")) is None  # type: ignore[arg-type]  # a callable
    assert decide(side("sqrt(2)"), "=", side("sqrt(3)")) is False  # type: ignore[arg-type]  # a callable


@for_each(
    ("lhs", "relation", "rhs", "answer"),
    [
        (Fraction(1, 3), "<=", Fraction(1, 3), True),
        (Fraction(1, 3), "<", Fraction(1, 3), False),
        (Fraction(1, 3), "=", Fraction(1, 3), True),
        (Fraction(1, 3), ">=", Fraction(1, 2), False),
        (arb.pos_inf(), "<=", Fraction(7), False),
        (Fraction(7), "<=", arb.pos_inf(), True),
        (arb.pos_inf(), "<=", arb.pos_inf(), True),
        (arb(1, 0.5), "<=", Fraction(1), None),
    ],
)
def test_relations(lhs: Exact, relation: str, rhs: Exact, answer: bool | None) -> None:
    assert decide(lhs, relation, rhs) is answer


def test_domain_errors_are_passed_on_and_the_precision_is_restored() -> None:
    before = ctx.prec
    with pytest.raises(DomainError):
        decide(side("log(0)"), "<=", Fraction(1))  # type: ignore[arg-type]  # a callable
    assert ctx.prec == before
    with pytest.raises(ValueError, match="!="):
        decide(Fraction(1), "!=", Fraction(1))


def test_numbers_for_reports() -> None:
    assert to_number(Fraction(3, 7)).exact == "3/7"
    assert to_number(Fraction(3, 7)).float == 3 / 7
    assert to_number(4).exact == "4"
    assert to_number(arb.pos_inf()).float == "inf"
    assert to_number(-arb.pos_inf()).float == "-inf"
    assert to_number(arb.nan()).float == "nan"
    assert to_number(arb(2).sqrt()).exact is None
    assert to_number(arb(2).sqrt()).float == pytest.approx(2**0.5)


def test_numbers_that_no_float_can_hold_are_text_and_never_zero() -> None:
    assert to_number(Fraction(1, 10**400)).float == "1.00000e-400"
    assert to_number(Fraction(3 * 10**500)).float == "3.00000e+500"
    assert to_number(arb(-3000).exp()).float == "1.30784e-1303"
    assert to_number(Fraction(1, 7**5000)).exact is None
