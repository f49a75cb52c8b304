from __future__ import annotations

from typing import Any

from sympy import Dummy, Integer, Lambda, Rational, Symbol

from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import find_rule
from tests.for_each import for_each

u, v, x = (Symbol(name, positive=True) for name in "uvx")
m = Symbol("m", integer=True, nonnegative=True)
i = Dummy("i", integer=True)
INSIDE = 1 - u * v
SQUARES: dict[str, Any] = {
    "p": Integer(1),
    "r": Integer(0),
    "s": Integer(0),
    "a": 1 / (1 - u**2),
    "b": 2 * u / ((1 - u**2) * INSIDE),
    "d": (1 + u * v) / (INSIDE * (1 - u**2) * (1 - v**2)),
}
POLYNOMIALS: dict[str, Any] = {"x": x, "low": Integer(0), "high": Rational(1, 2)}


def unmet(name: str, where: dict[str, Any], assumed: list[Any]) -> list[str]:
    instance = find_rule(name).instance(where)
    facts = Facts().assume(assumed)
    return [
        str(condition)
        for condition in instance.conditions
        if not condition.is_met(facts, {})
    ]


def test_the_squares_of_a_convolution_telescope() -> None:
    where = {**SQUARES, "u": u, "v": v, "m": m}
    assert unmet("convolution-squares", where, [u < 1, v < 1]) == []


@for_each(
    ("name", "wrong"),
    [("a", 1 / (1 - u)), ("b", u / INSIDE), ("d", 1 / (1 - v**2)), ("p", 2)],
)
def test_wrong_coefficients_do_not_telescope(name: str, wrong: Any) -> None:
    where = {**SQUARES, "u": u, "v": v, "m": m, name: wrong}
    assert unmet("convolution-squares", where, [u < 1, v < 1])


def test_a_convolution_telescopes_and_its_number_of_terms_is_not_negative() -> None:
    where = {
        "u": u,
        "v": v,
        "m": m,
        "p": 1,
        "s": 0,
        "a": 1 / (1 - u),
        "d": 1 / ((1 - u) * (1 - v)),
    }
    assert unmet("convolution-sum", where, []) == []
    assert unmet("convolution-sum", {**where, "d": 1 / (1 - v)}, [])
    assert unmet("convolution-sum", {**where, "m": Symbol("k", integer=True)}, []) == [
        "k >= 0"
    ]


def test_terms_of_a_convolution_may_not_alternate() -> None:
    assert unmet(
        "convolution-nonnegative", {"u": u, "v": Symbol("w", real=True), "m": m}, []
    ) == ["w >= 0"]


@for_each(
    ("small", "large", "holds"),
    [
        (2 * (1 + x**2), Rational(20, 9) * (1 + x) * (1 - x**2), True),
        (2 * (1 + x**2), Rational(219, 100) * (1 + x) * (1 - x**2), False),
        (Integer(1), (1 + x) * (1 - x**2), True),
        (Integer(1) + x / 100, (1 + x) * (1 - x**2) * Rational(99, 100), False),
        (x, x / (1 + x), False),
        (x, u, False),
    ],
)
def test_bernstein_coefficients_decide_an_interval(
    small: Any, large: Any, holds: bool
) -> None:
    where = {**POLYNOMIALS, "a": small, "b": large}
    assert (unmet("bernstein", where, [x <= Rational(1, 2)]) == []) is holds


def test_the_interval_must_be_known_and_hold_the_variable() -> None:
    fine = {**POLYNOMIALS, "a": x**2, "b": x}
    assert unmet("bernstein", fine, [x <= Rational(1, 2)]) == []
    assert unmet("bernstein", fine, [x <= 1]) == ["x <= 1/2"]
    assert unmet("bernstein", {**fine, "high": u}, [x <= u])
    assert unmet("bernstein", {**fine, "x": 2 * x}, [x <= Rational(1, 4)])


def test_a_chord_ends_at_its_end() -> None:
    where = {"x": x, "y": m, "d": Integer(7)}
    assert unmet("power-chord", where, [m <= 7]) == []
    assert unmet("power-chord", where, [m <= 8]) == ["m <= 7"]


def test_blocks_need_terms_that_are_not_negative() -> None:
    where = {"n": Integer(3), "top": m, "f": Lambda(i, i - 1)}
    assert unmet("sum-by-blocks", where, [])
    assert unmet("sum-by-blocks", {**where, "f": Lambda(i, i + 1)}, []) == []


def test_a_polynomial_step_with_a_constant_moved_by_a_hundredth_fails() -> None:
    def chain(goal: Any) -> Derivation:
        where = {**POLYNOMIALS, "a": 2 * (1 + x**2), "b": goal * (1 + x) * (1 - x**2)}
        step = Step(where["b"], "<=", "bernstein", where)
        half = Rational(1, 2)
        return Derivation(
            "demo",
            "ours",
            {"x": real(0, half, open_lo=True)},
            (x <= half,),
            where["a"],
            (step,),
        )

    assert check_derivation(chain(Rational(20, 9)), points=30).complete
    assert not check_derivation(chain(Rational(22, 10)), points=30).complete
