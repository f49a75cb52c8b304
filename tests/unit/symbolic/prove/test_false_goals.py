"""False goals, each true but for one check of the sign prover, where no witness can help it out.

``h`` lies in an interval that the search for witnesses does not hit, so that every refusal is the step's own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from sympy import (
    Abs,
    Max,
    Min,
    Mod,
    Piecewise,
    Rational,
    Sum,
    Symbol,
    ceiling,
    exp,
    floor,
    log,
    sqrt,
)

from dpverify.symbolic.exact.numbers import compare, to_value
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.functions import Bit, Log2, PopCount
from dpverify.symbolic.prove.facts import Facts, differences, with_witnesses
from dpverify.symbolic.prove.signs import is_implied, is_nonnegative, is_positive
from tests.for_each import for_each

x, y, z, h = (Symbol(name, real=True) for name in "xyzh")
n, m, i = (Symbol(name, integer=True) for name in "nmi")
s = Symbol("s", integer=True, nonnegative=True)
LO, HI = Rational(17, 100), Rational(18, 100)
BLIND = [h >= LO, h <= HI]
HERE = [x >= LO, x <= HI]
Goal = tuple[Any, list[Any], dict[str, str]]

WEAK: dict[str, Goal] = {
    "the sign of a denominator": (1 / (-1 - x), HERE, {"x": "17/100"}),
    "the sign of a difference under a bar": (1 / (x - 1) + 1, HERE, {"x": "17/100"}),
    "a common denominator that is negative": (
        1 / (x - 1) - 1 / (x - 2),
        HERE,
        {"x": "17/100"},
    ),
    "a denominator of either sign": (1 / (x - y), [], {"x": "0", "y": "1"}),
    "a factor of either sign": (x * y, [x >= 0], {"x": "1", "y": "-1"}),
    "one negative factor": (x * (x - 1), HERE, {"x": "17/100"}),
    "three negative factors": (
        (x - 1) * (x - 2) * (y - 1),
        [*HERE, y <= 0],
        {"x": "17/100", "y": "0"},
    ),
    "an odd power": ((x - 1) ** 3, HERE, {"x": "17/100"}),
    "an odd power as divisor": ((x - 1) ** -3, HERE, {"x": "17/100"}),
    "a whole power of a negative number": (
        (x - 1) ** n,
        [*HERE, n >= 1],
        {"x": "17/100", "n": "1"},
    ),
    "a term with a negative number in front": (
        y - x,
        [x >= 0, y >= 0],
        {"x": "1", "y": "0"},
    ),
    "the greater of two": (Max(x - 1, -x), HERE, {"x": "17/100"}),
    "the smaller of two": (Min(x, x - 1), HERE, {"x": "17/100"}),
    "the smaller of two, turned": (Min(x, y) - x, [], {"x": "1", "y": "0"}),
    "an absolute value": (x - Abs(x), [], {"x": "-1"}),
    "the other side of an absolute value": (-x - Abs(x), [], {"x": "1"}),
    "a case that is taken": (Piecewise((x, x >= 1), (-x, True)), HERE, {"x": "17/100"}),
    "the case that is left": (Piecewise((x, x >= 0), (x, True)), [], {"x": "-1"}),
    "a real from a strict bound": (x - LO - 1, [x > LO], {"x": "18/100"}),
    "a real from its least whole number": (x - 1, [x >= LO], {"x": "17/100"}),
    "a difference of a whole number and a real": (
        n - x - 1,
        [n > x],
        {"n": "1", "x": "1/2"},
    ),
    "one less than a whole bound": (n - 2, [n > 0], {"n": "1"}),
    "floor": (floor(x) - x, [x >= 0], {"x": "1/2"}),
    "floor, by less than one": (floor(x) - x + Rational(1, 2), [x >= 0], {"x": "3/4"}),
    "floor of less than one": (floor(x) - 1, HERE, {"x": "17/100"}),
    "ceiling": (x - ceiling(x), [x >= 0], {"x": "1/2"}),
    "ceiling of what is not above one": (ceiling(x) - 2, [x >= 1], {"x": "1"}),
    "exp of a negative number": (exp(x - 1) - 1, HERE, {"x": "17/100"}),
    "exp of a positive number": (1 - exp(x), HERE, {"x": "17/100"}),
    "the tangent of exp, turned": (1 + x - exp(x), HERE, {"x": "17/100"}),
    "a power of a number below one": (
        x**y - 1,
        [*HERE, y > 0],
        {"x": "17/100", "y": "1"},
    ),
    "a power of a number above one": (
        1 - (1 + x) ** y,
        [*HERE, y > 0],
        {"x": "17/100", "y": "1"},
    ),
    "a negative power": ((1 + x) ** y - 1, [*HERE, y < 0], {"x": "17/100", "y": "-1"}),
    "a root of a number below one": (sqrt(x) - 1, HERE, {"x": "17/100"}),
    "Bernoulli with a fraction": (2**x - 1 - x, HERE, {"x": "17/100"}),
    "log of a number below one": (log(x), HERE, {"x": "17/100"}),
    "log2 of a number below one": (Log2(x), HERE, {"x": "17/100"}),
    "the tangent of log, turned": (log(1 + x) - x, HERE, {"x": "17/100"}),
    "the tangent of log, for log2": (x - Log2(1 + x), HERE, {"x": "17/100"}),
    "the remainder of a negative divisor": (
        Mod(x, y),
        [*HERE, y <= -1],
        {"x": "17/100", "y": "-1"},
    ),
    "the remainder of a negative number": (
        x - Mod(x, y),
        [x >= -1, y >= 1],
        {"x": "-1/2", "y": "1"},
    ),
    "the remainder of a fraction": (
        y - 1 - Mod(x, y),
        [x >= 0, y >= 1],
        {"x": "1/2", "y": "1"},
    ),
    "a bit": (Bit(s, n) - 1, [n >= 0], {"s": "0", "n": "0"}),
    "a popcount": (PopCount(s) - s, [], {"s": "2"}),
    "exp, of the smaller": (exp(x) - exp(y), [y >= x], {"x": "0", "y": "1"}),
    "log, of the smaller": (log(x) - log(y), [x > 0, y >= x], {"x": "1", "y": "2"}),
    "floor, of the smaller": (floor(x) - floor(y), [y >= x], {"x": "0", "y": "1"}),
    "negative powers, of the larger": (
        x**z - y**z,
        [x >= y, y > 0, z < 0],
        {"x": "2", "y": "1", "z": "-1"},
    ),
    "even powers of negative numbers": (
        x**n - (x - 1) ** n,
        [*HERE, n >= 1],
        {"x": "17/100", "n": "2"},
    ),
    "powers of a number below one": (
        x**m - x**n,
        [*HERE, m >= n],
        {"x": "17/100", "m": "1", "n": "0"},
    ),
    "powers of a number above one": (
        (1 + x) ** m - (1 + x) ** n,
        [*HERE, n >= m],
        {"x": "17/100", "m": "0", "n": "1"},
    ),
    "powers of a negative number": (
        (x - 1) ** m - (x - 1) ** n,
        [*HERE, n >= m],
        {"x": "17/100", "m": "1", "n": "2"},
    ),
    "a sum that may be empty": (
        Sum(x, (i, 1, n)) - x,
        [*HERE, n >= 0],
        {"x": "17/100", "n": "0"},
    ),
    "a sum with negative terms": (
        Sum(i * x, (i, n, 3)),
        [*HERE],
        {"x": "17/100", "n": "-9"},
    ),
    "a sum of terms that are known in another range": (
        Sum(i - 2, (i, 1, n)),
        [n >= 1],
        {"n": "1"},
    ),
    "a product of facts of which one is negative": (
        (1 - x) * (y - 1),
        [x <= 1, y <= 1],
        {"x": "0", "y": "0"},
    ),
    "the square of a difference, doubled": (
        x**2 + y**2 - 3 * x * y,
        [],
        {"x": "1", "y": "1"},
    ),
    "a number": (sympy.pi - Rational(22, 7), [], {}),
}
STRICT: dict[str, Goal] = {
    "an end that belongs to it": (x - LO, HERE, {"x": "17/100"}),
    "the square of what may be 0": ((x - Rational(7, 40)) ** 2, HERE, {"x": "7/40"}),
    "the root of what may be 0": (sqrt(x - LO), HERE, {"x": "17/100"}),
    "the absolute value of what may be 0": (
        Abs(x - Rational(7, 40)),
        HERE,
        {"x": "7/40"},
    ),
    "two terms that may be 0": (x + y, [x >= 0, y >= 0], {"x": "0", "y": "0"}),
    "a positive factor and one that may be 0": (
        x * y,
        [x > 0, y >= 0],
        {"x": "1", "y": "0"},
    ),
    "facts that may be 0, added up": (
        x + y - 2 * LO,
        [x >= LO, y >= LO],
        {"x": "17/100", "y": "17/100"},
    ),
    "facts that may be 0, multiplied": ((x - LO) * (1 - x), [*HERE], {"x": "17/100"}),
    "a fraction whose numerator may be 0": ((x - LO) / (1 + x), HERE, {"x": "17/100"}),
    "the greater of two that may be 0": (Max(x - LO, -x), HERE, {"x": "17/100"}),
    "exp of what may be 0": (1 - exp(-x), [x >= 0], {"x": "0"}),
    "log of what may be 1": (log(1 + x), [x >= 0], {"x": "0"}),
    "a power whose exponent may be 0": (
        (1 + x) ** y - 1,
        [*HERE, y >= 0],
        {"x": "17/100", "y": "0"},
    ),
    "a power whose base may be 1": (x**y - 1, [x >= 1, y > 0], {"x": "1", "y": "1"}),
    "x - floor(x)": (x - floor(x), [x >= 2], {"x": "2"}),
    "a remainder": (Mod(x, y), [*HERE, y >= LO], {"x": "17/100", "y": "17/100"}),
    "a sum that may be empty": (
        Sum(1 + x, (i, 1, n)),
        [*HERE, n >= 0],
        {"x": "17/100", "n": "0"},
    ),
    "one less than a whole number": (n - 1, [n > 0], {"n": "1"}),
    "exp of two that may be equal": (exp(x) - exp(y), [x >= y], {"x": "0", "y": "0"}),
    "a number that is 0": (sqrt(3 + 2 * sqrt(2)) - 1 - sqrt(2), [], {}),
}
GOALS = [
    (name, *goal, strict)
    for strict, goals in ((False, WEAK), (True, STRICT))
    for name, goal in goals.items()
]


@for_each(("name", "expr", "assumed", "point", "strict"), GOALS)
def test_a_goal_that_is_false_at_a_point_is_not_proven(
    name: str, expr: Any, assumed: list[Any], point: dict[str, str], strict: bool
) -> None:
    expr, env = (
        sympy.sympify(expr),
        {letter: to_value(Fraction(number)) for letter, number in point.items()},
    )
    for difference, above in (
        part for relation in assumed for part in differences(relation)
    ):
        assert (
            compare(
                compile_expr(difference)(dict(env), 200),
                ">" if above else ">=",
                to_value(0),
            )
            is True
        )
    value = compile_expr(expr)(dict(env), 200)
    assert not value > 0 if strict else value < 0, f"{name} is no false goal"
    facts = Facts().assume([*BLIND, *assumed])
    assert not with_witnesses(facts, expr.free_symbols).witnesses
    assert not (is_positive if strict else is_nonnegative)(expr, facts)


def test_that_a_number_is_not_zero_needs_one_sign() -> None:
    facts = Facts().assume([*BLIND, *HERE])
    assert not is_implied(sympy.Ne(x, Rational(7, 40)), facts)
    assert is_implied(sympy.Ne(x, 1), facts)
    assert not is_implied(sympy.And(x >= LO, x > LO), facts)
    assert not is_implied(sympy.Eq(x, Rational(7, 40)), facts)


@for_each(
    "expr", [sqrt(x - 1), log(x - 1) + 9, (x - 1) ** Rational(1, 3), (x - 1) ** y]
)
def test_what_has_no_value_is_neither_negative_nor_anything_else(expr: Any) -> None:
    facts = Facts().assume([*BLIND, *HERE])
    assert not is_nonnegative(expr, facts)
    assert not is_positive(expr, facts)
