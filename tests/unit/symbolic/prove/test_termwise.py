"""Sums over one range are equal where their terms are; none whose terms, ranges or letters differ are."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Sum, Symbol, exp, oo

from dpverify.symbolic.prove.equality import equal_termwise
from dpverify.symbolic.prove.facts import Facts
from tests.for_each import for_each

x, y = Symbol("x", real=True), Symbol("y", real=True)
p = Symbol("p", positive=True)
n = Symbol("n", integer=True)
i, j = Symbol("i", integer=True), Symbol("j", integer=True)
FAR = Facts().given([n >= 5000])  # no point is tried there, so that none shows what is false
TERM, APART = exp(x * (i + 3)), exp(3 * x) * exp(i * x)


@for_each(
    ("left", "right"),
    [
        (Sum(TERM, (i, 0, n)), Sum(APART, (i, 0, n))),
        (p * Sum(TERM, (i, 2, n)), p * Sum(APART, (i, 2, n))),
        (Sum(TERM, (i, -4, n)), Sum(APART.xreplace({i: j}), (j, -4, n))),
        (Sum(TERM * exp(-y * i), (i, 0, n)) * y, y * Sum(APART * exp(-y * i), (i, 0, n))),
    ],
)
def test_equal_terms(left: Any, right: Any) -> None:
    assert equal_termwise(left, right, Facts())


@for_each(
    ("left", "right"),
    [
        (Sum(TERM, (i, 0, n)), Sum(APART, (i, 0, n + 1))),
        (Sum(TERM, (i, 1, n)), Sum(APART, (i, 0, n))),
        (Sum(TERM, (i, 0, n)), Sum(APART * exp(y), (i, 0, n))),
        (Sum(TERM, (i, 0, n)), Sum(APART.xreplace({i: j}), (i, 0, n))),  # j is not the index
        (Sum(TERM.xreplace({i: j}), (j, 0, n)), Sum(APART.xreplace({i: j}), (i, 0, n))),
        (Sum(TERM + i * 0, (i, 0, n)), Sum(APART + i * (i - 1) * (i - 2), (i, 0, n))),  # equal at the first three
        (Sum(p ** Abs(i), (i, -3, n)), Sum(p**i, (i, -3, n))),  # only for an index from 0 on
        (Sum(TERM, (i, 0, oo)), Sum(2 * APART, (i, 0, oo))),
    ],
)
def test_other_sums(left: Any, right: Any) -> None:
    assert not equal_termwise(left, right, Facts())
    assert not equal_termwise(left, right, FAR)
