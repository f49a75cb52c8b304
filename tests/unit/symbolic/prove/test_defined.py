"""A part that may have no value somewhere is found; once the facts exclude that place, it is not."""

from __future__ import annotations

from typing import Any

from sympy import Function, Mod, Mul, Piecewise, Pow, Rational, Sum, Symbol, log, oo

from dpverify.symbolic.expressions.functions import PopCount
from dpverify.symbolic.expressions.ranges import SetBits
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.facts import Facts, Occurrence
from tests.for_each import for_each

x, y = Symbol("x", real=True), Symbol("y", real=True)
k, s = Symbol("k", integer=True), Symbol("s", integer=True, nonnegative=True)
i = Symbol("i", integer=True)
pos = Function("pos", integer=True, nonnegative=True)

# what is known, and what besides gives it a value
OPEN: dict[str, tuple[Any, list[Any], Any]] = {
    "the remainder by what may be 0": (Mod(y, x), [x >= 0], x > 0),
    "one over a product of which a factor may be 0": (1 / (x * y), [x > 0], y > 0),
    "the same, not taken apart": (
        Pow(Mul(x, y, evaluate=False), -1, evaluate=False),
        [x > 0],
        y > 0,
    ),
    "one over a power of what may be 0": (x**-2, [x >= 0], x > 0),
    "the logarithm of a product that may be 0": (log(x * y), [x > 0, y >= 0], y > 0),
    "the logarithm of a sum that may be 0": (log(x + y), [x >= 0, y >= 0], y > 0),
    "a root of what may be negative": (x ** Rational(1, 2), [x >= -1], x >= 0),
    "a real power of a negative number": (x**y, [y >= 0], x >= 0),
    "a series whose ratio may be 1": (Sum(x**i, (i, 0, oo)), [x >= 0, x <= 1], x < 1),
    "a series whose ratio may be -1": (
        Sum(x**i, (i, 0, oo)),
        [x >= -1, x <= Rational(1, 2)],
        x > -1,
    ),
    "the set bit number 0": (pos(k), [k >= 0, k <= PopCount(s)], k >= 1),
    "values that do not cover everything": (
        Piecewise((1, x > 1), (2, x < 1)),
        [x >= 0],
        x > 1,
    ),
    "a value that is taken where it has none": (
        Piecewise((1 / x, x >= 0), (2, True)),
        [x <= 1],
        x < 0,
    ),
}


@for_each("name", OPEN)
def test_what_may_have_no_value_is_found(name: str) -> None:
    expr, known, missing = OPEN[name]
    assert (
        undefined_part(expr, Occurrence(Facts().assume(known)), {"pos": SetBits(s)})
        is not None
    )
    assert (
        undefined_part(
            expr, Occurrence(Facts().assume([*known, missing])), {"pos": SetBits(s)}
        )
        is None
    )
