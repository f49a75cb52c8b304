"""Inside a sum its index lies between its ends, and a letter between its bounds once all sums are entered."""

from __future__ import annotations

from typing import Any

from sympy import Sum, Symbol, exp, oo

from dpverify.symbolic.exact.numbers import to_value
from dpverify.symbolic.prove.facts import Facts, Occurrence, inside_sums, sums_around
from dpverify.symbolic.prove.signs import is_nonnegative
from tests.for_each import for_each

i, j, n = Symbol("i", integer=True), Symbol("j", integer=True), Symbol("n", integer=True)
h, x, y = Symbol("h", real=True), Symbol("x", real=True), Symbol("y", real=True)
TWICE = Sum(h * Sum(h**2, (j, 1, i)), (i, 0, n))


@for_each(
    ("expr", "around"),
    [
        (h, [()]),
        (x + 1, []),
        (x * h + exp(h), [(), ()]),
        (Sum(x, (i, 0, n)), []),
        (Sum(h * i, (i, 0, n)), [((i, 0, n),)]),
        (Sum(i, (i, 0, h)), [()]),  # an end stands outside
        (TWICE, [((i, 0, n),), ((i, 0, n), (j, 1, i))]),
        (Sum(i * j * h, (j, 1, i), (i, 0, n)), [((i, 0, n), (j, 1, i))]),
        (Sum(i * j, (j, h, i), (i, 0, n)), [((i, 0, n),)]),  # an inner end stands in the outer sum
    ],
)
def test_sums_around_a_letter_are_named_from_outside_inwards(expr: Any, around: list[Any]) -> None:
    assert sorted(sums_around(expr, h), key=str) == sorted(around, key=str)


def test_an_index_lies_between_the_ends_and_the_range_is_not_empty() -> None:
    known = inside_sums(Facts(), ((i, 2, n), (j, 1, i)))
    for true in (i - 2, n - i, n - 2, j - 1, i - j, n - j):
        assert is_nonnegative(true, known), true
    for false in (i - 3, n - i - 1, j - 2, i - j - 1):
        assert not is_nonnegative(false, known), false
    unbounded = inside_sums(Facts(), ((i, 0, oo),))
    assert is_nonnegative(i, unbounded)
    assert not is_nonnegative(n - i, unbounded)


def test_the_witnesses_inside_have_values_of_the_index_from_its_lower_end_on() -> None:
    known = inside_sums(Facts(witnesses=({"n": to_value(7)},)), ((i, 5, n),))
    assert [witness["i"] for witness in known.witnesses] == [to_value(5), to_value(6)], "8 is above n"
    assert not known.refuted(i - 5, strict=False)
    assert known.refuted(i - 6, strict=False)
    assert known.refuted(n - i - 2, strict=False)


def test_a_letter_lies_between_its_bounds_where_all_its_sums_are_entered() -> None:
    bounds = (x, x + i)
    outside = Occurrence(Facts()).bounded(h, *bounds, frozenset({(i,)}))
    assert not is_nonnegative(h - x, outside.facts)
    fresh, inside = outside.inside((i, 0, n))
    assert is_nonnegative(h - x, inside.facts)
    assert is_nonnegative(x + fresh - h, inside.facts)
    assert is_nonnegative(fresh, inside.facts)
    assert not is_nonnegative(x + i - h, inside.facts), "what is known is of the fresh index"
    other = Occurrence(Facts()).bounded(h, *bounds, frozenset({(j,)})).inside((i, 0, n))[1]
    assert not is_nonnegative(h - x, other.facts)
    at_once = Occurrence(Facts()).bounded(h, x, y, frozenset({()}))
    assert is_nonnegative(h - x, at_once.facts)
    assert is_nonnegative(y - h, at_once.facts)


def test_an_index_without_a_letter_has_its_range_too_and_one_symbol_at_each_depth() -> None:
    fresh, place = Occurrence(Facts()).inside((i, 1, n))
    again, deeper = place.inside((i, 1, fresh))
    assert (fresh, again) == (Occurrence(Facts()).inside((i, 1, n))[0], place.inside((i, 1, fresh))[0])
    assert fresh != again
    assert is_nonnegative(fresh - again, deeper.facts)
    assert deeper.path == (i, i)
