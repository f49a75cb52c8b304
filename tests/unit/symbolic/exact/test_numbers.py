"""Numbers that are exact while that is possible."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from dpverify.symbolic.exact.numbers import conjunction, nearest_float, power
from tests.for_each import for_each


@for_each(
    ("base", "exponent"),
    [(Fraction(0), 0), (Fraction(0), 3), (Fraction(1), 5000), (Fraction(2, 3), 7)],
)
def test_a_short_power_is_exact(base: Fraction, exponent: int) -> None:
    value = power(base, exponent, 10_000)
    assert isinstance(value, fmpq)
    assert Fraction(int(value.p), int(value.q)) == base**exponent


def test_a_long_power_is_a_ball_that_holds_it() -> None:
    base = Fraction(9, 10)
    exact, ball = power(base, 300, 2000), power(base, 300)
    assert isinstance(exact, fmpq)
    assert isinstance(ball, arb)
    assert ball.contains(exact)
    assert ball.rad() < 1e-15


def test_the_nearest_float_of_a_rational_and_the_middle_of_a_ball() -> None:
    assert nearest_float(Fraction(1, 3)) == 1 / 3
    assert nearest_float(arb(0.25, 0.125)) == 0.25


@for_each(
    ("answers", "said"),
    [([], True), ([True, True], True), ([True, None], None), ([None, False], False)],
)
def test_what_is_not_decided_is_not_met(
    answers: list[bool | None], said: bool | None
) -> None:
    assert conjunction(answers) is said
