"""Binomials in derivations: their values, where they have one, and what rules alone make of them."""

from __future__ import annotations

from math import comb
from typing import Any

import sympy
from sympy import Symbol

from dpverify.ledger.formula import parse
from dpverify.symbolic.certify.checker import k as checker
from dpverify.symbolic.certify.checker import value_of
from dpverify.symbolic.certify.prefix import from_sympy
from dpverify.symbolic.expressions.evaluation import evaluate_expr
from dpverify.symbolic.expressions.functions import Binomial
from dpverify.symbolic.expressions.translation import to_sympy
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.facts import Facts, Occurrence
from tests.for_each import for_each

n, k = (Symbol(name, integer=True, nonnegative=True) for name in "nk")
z, x = Symbol("z", integer=True), Symbol("x", real=True)


def test_values_are_those_of_the_formula_language() -> None:
    chosen = to_sympy(parse("binomial(n, k)"), {"n": n, "k": k})
    assert chosen == Binomial(n, k)
    row = checker.read(from_sympy(chosen))
    for top in range(8):
        for count in range(10):
            assert evaluate_expr(chosen, {"n": top, "k": count}) == comb(top, count)
            assert value_of(row, {"n": top, "k": count}) == comb(top, count)


def test_nothing_is_worked_out_without_a_rule() -> None:
    assert Binomial(5, 2) != 10
    assert sympy.latex(Binomial(n, 2) ** 2) == r"\binom{n}{2}^{2}"


@for_each("expr", [Binomial(x, 2), Binomial(n, x), Binomial(z, 2), Binomial(n, z)])
def test_there_is_a_value_for_whole_numbers_from_0_on_only(expr: Any) -> None:
    assert undefined_part(expr, Occurrence(Facts()), {}) == expr
    assert undefined_part(Binomial(n, k), Occurrence(Facts()), {}) is None
