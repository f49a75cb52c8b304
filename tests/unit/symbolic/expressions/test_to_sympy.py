from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Integral,
    Max,
    Min,
    Piecewise,
    Rational,
    Sum,
    Symbol,
    exp,
    gamma,
    log,
    loggamma,
    oo,
    pi,
    sqrt,
)

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import (
    EvaluationError,
    compare,
    to_value,
    working_precision,
)
from dpverify.symbolic.expressions.evaluation import evaluate_expr, from_sympy
from dpverify.symbolic.expressions.functions import Bit, Log2, PopCount
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
    to_sympy,
)
from tests.for_each import for_each

x, n = Symbol("x", positive=True), Symbol("n", integer=True, positive=True)
i = Symbol("i", integer=True)
SYMBOLS = {"x": x, "n": n, "m": Symbol("m", integer=True)}


def build(text: str) -> Any:
    return to_sympy(parse(text), SYMBOLS)


@for_each(
    ("text", "expr"),
    [
        ("0.1*x", x / 10),
        ("-x**2", -(x**2)),
        ("log2(8)", 3),
        ("log2(2**n)", n),
        ("log2(1/4)", -2),
        ("floor(log2(9))", sympy.floor(Log2(9))),
        ("sum(i, i, 3, 2)", 0),
        ("sum(i, i, 3, -5)", 0),
        ("sum(x**i, i, 0, n)", Sum(x**i, (i, 0, n))),
        ("sum(x**i, i, 1, n)", Sum(x**i, (i, 1, n))),
        ("sum(x**i, i, 0, oo)", Sum(x**i, (i, 0, oo))),
        ("mod(n, 4)", sympy.Mod(n, 4)),
        ("bit(10, 1)", 1),
        ("bit(n, 2)", Bit(n, 2)),
        ("max(1, x)", Max(1, x)),
        ("0**0", 1),
    ],
)
def test_trees_become_expressions(text: str, expr: Any) -> None:
    assert build(text) == expr


def test_a_sum_that_may_be_empty_by_more_than_one_is_guarded() -> None:
    """sympy's own convention would make the sum from 3 to m = 0 equal to minus the sum from 1 to 2."""
    guarded = build("sum(i, i, 3, m)")
    assert isinstance(guarded, Piecewise)
    assert evaluate_expr(guarded, {"m": 0}) == 0
    assert evaluate_expr(guarded, {"m": 5}) == 12


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(KeyError, match="beta"):
        build("beta + 1")


def test_symbols_carry_the_signs_of_their_domains(make_statement: Any) -> None:
    claim = make_statement(
        "alpha*N",
        "<=",
        "V",
        {
            "alpha": "real, 0 < alpha <= 1",
            "N": "integer, N >= 1",
            "shift": "real, shift <= -1/2",
            "k": "integer, k >= 0",
            "T": "integer, 1 <= N, N <= T",
            "V": "real",
            "free": "real",
        },
        requires=("alpha >= 1/N", "V >= 1"),
        let=(("V", "2*alpha*k"),),
    )
    symbols = sympy_symbols(claim)
    assert symbols["alpha"].is_positive
    assert not symbols["alpha"].is_integer
    assert symbols["N"].is_integer
    assert symbols["N"].is_positive
    assert symbols["shift"].is_negative
    assert symbols["k"].is_nonnegative
    assert symbols["free"].is_real
    assert symbols["free"].is_nonnegative is None
    assert "V" not in symbols
    alpha, N, k, T = (symbols[name] for name in ("alpha", "N", "k", "T"))
    assert sympy_sides(claim) == (alpha * N, 2 * alpha * k)
    conditions = set(sympy_conditions(claim))
    assert {alpha <= 1, alpha >= 1 / N, N <= T, 2 * alpha * k >= 1} <= conditions


def test_a_contradiction_is_an_error(make_statement: Any) -> None:
    claim = make_statement(
        "N", "<=", "1", {"N": "integer, N >= 1"}, requires=("N < 0",)
    )
    with pytest.raises(ValueError, match="contradicts"):
        sympy_conditions(claim)


@for_each(
    ("expr", "exact"),
    [
        (x**2 - Rational(1, 2), Fraction(-7, 18)),
        (Sum(x**i, (i, 0, oo)), Fraction(3, 2)),
        (Sum(Sum(x**i, (i, 0, n)), (n, 1, 2)), Fraction(4, 3) + Fraction(13, 9)),
        (Piecewise((1, x > 1), (2, True)), 2),
        (Piecewise((1, x <= 1), (1 / (x - Rational(1, 3)), True)), 1),
        (Max(x, 1) + Min(x, 1), Fraction(4, 3)),
        (PopCount(13 * n), 4),
        (Log2(n), 3),
        (sympy.Abs(-x), Fraction(1, 3)),
        (sympy.ceiling(x) + sympy.floor(x), 1),
    ],
)
def test_expressions_are_evaluated_exactly(expr: Any, exact: Fraction | int) -> None:
    # n is bound in one of the sums; its value matters elsewhere only
    point = {"x": Fraction(1, 3), "n": 8 if expr.has(Log2) else 3}
    assert evaluate_expr(expr, point) == exact


@for_each(
    ("expr", "oracle"),
    [
        (gamma(x), mpmath.gamma),
        (loggamma(x), mpmath.loggamma),
        (sympy.erf(x), mpmath.erf),
        (sympy.erfc(x), mpmath.erfc),
        (exp(-x) + sympy.E + pi, lambda t: mpmath.exp(-t) + mpmath.e + mpmath.pi),
        (sqrt(x) * log(x), lambda t: mpmath.sqrt(t) * mpmath.log(t)),
        (x ** (x + 1), lambda t: t ** (t + 1)),
    ],
)
def test_balls_agree_with_mpmath(expr: Any, oracle: Any) -> None:
    value = to_value(evaluate_expr(expr, {"x": Fraction(1, 3)}, precision=170))
    with mpmath.workdps(60):
        digits = mpmath.nstr(oracle(mpmath.mpf(1) / 3), 48)
    with working_precision(170):
        assert abs(arb(value) - arb(digits)) < arb("1e-45")


def test_gaussian_integrals() -> None:
    mu, s, v = (
        Symbol("mu", real=True),
        Symbol("s", positive=True),
        Symbol("v", real=True),
    )
    density = exp(-((v - mu) ** 2) / (2 * s**2)) / (s * sqrt(2 * pi))
    point = {"mu": Fraction(1, 3), "s": Fraction(5, 2)}
    assert evaluate_expr(Integral(density, (v, -oo, oo)), point) == 1
    tilted = to_value(
        evaluate_expr(Integral(density * exp(2 * v), (v, -oo, oo)), point)
    )
    with working_precision(200):  # the moment generating function at 2
        want = to_value(evaluate_expr(exp(2 * mu + 2 * s**2), point))
        assert abs(arb(tilted / want) - 1) < arb("1e-55")
    with pytest.raises(TypeError, match="integrals over the real line"):
        evaluate_expr(Integral(density, (v, 0, 1)), point)
    # the second: a power that a perturbed constant makes
    for exponent in (v**4, (v - mu) ** Rational(51, 25)):
        with pytest.raises(TypeError, match="quadratic"):
            evaluate_expr(Integral(exp(-exponent), (v, -oo, oo)), point)


def test_floats_and_unknown_functions_are_refused() -> None:
    with pytest.raises(TypeError, match=r"0\.5"):
        from_sympy(x + sympy.Float(0.5))
    with pytest.raises(TypeError, match="zeta"):
        from_sympy(sympy.zeta(x))


formulas = st.recursive(
    st.sampled_from(["x", "n"]).map(Name)
    | st.fractions(-3, 3, max_denominator=4).map(Num),
    lambda inner: st.one_of(
        st.builds(Bin, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Neg, inner),
        st.builds(lambda a: Call("exp", (a,)), inner),
        st.builds(
            lambda a: Call("log", (Bin("+", Num(Fraction(1)), Bin("*", a, a)),)), inner
        ),
        st.builds(lambda a: Call("floor", (a,)), inner),
        st.builds(lambda a, b: Call("max", (a, b)), inner, inner),
        st.builds(
            lambda a, k: Bin("**", a, Num(Fraction(k))), inner, st.integers(0, 3)
        ),
    ),
    max_leaves=6,
)


@given(
    tree=formulas,
    at=st.fractions(Fraction(1, 9), 4, max_denominator=9),
    k=st.integers(1, 6),
)
def test_both_front_ends_give_the_same_value(
    tree: Formula, at: Fraction, k: int
) -> None:
    point = {"x": at, "n": k}
    try:
        ours = to_value(evaluate(tree, point))
        theirs = to_value(evaluate_expr(to_sympy(tree, {"x": x, "n": n}), point))
    except (EvaluationError, TypeError):
        return  # divisions by zero cancel in sympy, or become zoo
    with working_precision(256):
        assert compare(ours, "=", theirs) is not False
