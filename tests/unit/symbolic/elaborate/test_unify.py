"""Where expressions differ, and what the letters of a rule become there."""

from __future__ import annotations

from typing import Any

from sympy import Integer, Rational, Sum, Symbol, exp, sqrt

from dpverify.symbolic.elaborate.unification import differences, unify
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.rules import CATALOGUE
from tests.for_each import for_each

x, y, z = (Symbol(name, positive=True) for name in "xyz")
i = Symbol("i", integer=True)


def test_the_innermost_difference_comes_first() -> None:
    found = list(differences(2 * x * Log2(y + 1), 2 * x * Log2(z + 1)))
    assert [(d.old, d.new) for d in found][:3] == [
        (y, z),
        (y + 1, z + 1),
        (Log2(y + 1), Log2(z + 1)),
    ]
    assert found[2].context == 2 * x * HOLE
    assert all(d.context.xreplace({HOLE: d.old}) == 2 * x * Log2(y + 1) for d in found)


def test_shared_terms_and_factors_are_no_difference() -> None:
    assert next(differences(x + y, x + z))[1:] == (y, z)
    assert next(differences(x * y**i, x))[1:] == (y**i, 1)
    assert list(differences(x + y, x + y)) == []


def test_sums_over_the_same_numbers_differ_in_their_terms() -> None:
    j = Symbol("j", integer=True)
    (first, *_) = differences(Sum(x * y**i, (i, 0, 3)), Sum(x, (j, 0, 3)))
    assert (first.context, first.old, first.new) == (Sum(x * HOLE, (i, 0, 3)), y**i, 1)


@for_each(
    ("rule", "left", "right", "where"),
    [
        ("power-at-most-one", x ** (2 * y), Integer(1), {"x": x, "p": 2 * y}),
        ("one-minus-exp", 1 - 2 * x, exp(-2 * x), {"x": 2 * x}),
        ("geometric-series", None, 1 / (1 - x), {"x": x}),
        ("sqrt-subadditive", sqrt(x + y), sqrt(x) + sqrt(y), {"a": x, "b": y}),
        ("sum-at-most", Sum(y**i, (i, 1, z)), z * x, {"lo": 1, "hi": z, "c": x}),
    ],
)
def test_letters_are_found_from_both_sides(
    rule: str, left: Any, right: Any, where: dict[str, Any]
) -> None:
    says, names = CATALOGUE[rule].sides, CATALOGUE[rule].variables
    left = (
        says.lhs.xreplace(dict.fromkeys(says.lhs.free_symbols, x))
        if left is None
        else left
    )
    found = [
        both
        for half in unify(says.lhs, left, {}, names)
        for both in unify(says.rhs, right, half, names)
    ]
    assert any(
        all(one[name] == value for name, value in where.items()) for one in found
    ), found


def test_a_letter_is_one_thing() -> None:
    a, b = Symbol("a"), Symbol("b")
    assert list(unify(a * exp(a), x * exp(y), {}, frozenset({"a"}))) == []
    assert list(unify(a, y, {"a": x}, frozenset({"a"}))) == []
    assert list(unify(a + b, Rational(7), {"a": Integer(3)}, frozenset("ab"))) == [
        {"a": 3, "b": 4}
    ]
