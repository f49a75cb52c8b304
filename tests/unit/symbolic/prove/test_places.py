"""Inside a sum its index lies between its ends."""

from __future__ import annotations

from sympy import Symbol, oo

from dpverify.symbolic.exact.numbers import to_value
from dpverify.symbolic.prove.facts import Facts, Occurrence, inside_sums
from dpverify.symbolic.prove.signs import is_nonnegative

i, j, n = (
    Symbol("i", integer=True),
    Symbol("j", integer=True),
    Symbol("n", integer=True),
)


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
    assert [witness["i"] for witness in known.witnesses] == [
        to_value(5),
        to_value(6),
    ], "8 is above n"
    assert not known.is_refuted(i - 5, strict=False)
    assert known.is_refuted(i - 6, strict=False)
    assert known.is_refuted(n - i - 2, strict=False)


def test_an_index_has_its_range_and_one_symbol_at_each_depth() -> None:
    fresh, place = Occurrence(Facts()).inside((i, 1, n))
    again, deeper = place.inside((i, 1, fresh))
    assert (fresh, again) == (
        Occurrence(Facts()).inside((i, 1, n))[0],
        place.inside((i, 1, fresh))[0],
    )
    assert fresh != again
    assert is_nonnegative(fresh - again, deeper.facts)
    assert deeper.path == (i, i)
