from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpverify.harness.search.candidates import (
    PAYLOADS,
    Interval,
    complexity,
    nth_simplest,
    simplest,
    value_at,
)
from tests.for_each import for_each

numbers = st.fractions(min_value=-50, max_value=50, max_denominator=200)


def interval(lo: object, hi: object, **more: bool) -> Interval:
    first, last = (None if end is None else Fraction(str(end)) for end in (lo, hi))
    return Interval(first, last, **more)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    ends = sorted(draw(st.tuples(numbers, numbers)))
    lo, hi = (draw(st.sampled_from([None, end])) for end in ends)
    return Interval(lo, hi, draw(st.booleans()), draw(st.booleans()))


@for_each(
    ("given_interval", "want"),
    [
        (interval("0.3", "0.35"), "1/3"),
        (interval("1/3", "1/2", lo_open=True, hi_open=True), "2/5"),
        (interval("1/3", "1/2"), "1/2"),
        (interval("0.001", "0.0011"), "1/910"),
        (interval(None, None), "0"),
        (interval(3, None, lo_open=True), "4"),
        (interval(None, "-0.7"), "-1"),
        (interval("-0.4", "-0.3"), "-1/3"),
        (interval("22/7", "22/7"), "22/7"),
    ],
)
def test_simplest(given_interval: Interval, want: str) -> None:
    assert simplest(given_interval) == Fraction(want)


@for_each(
    ("op", "below", "at", "above"),
    [
        ("<", 1, 0, 0),
        ("<=", 1, 1, 0),
        ("==", 0, 1, 0),
        ("=", 0, 1, 0),
        (">=", 0, 1, 1),
        (">", 0, 0, 1),
    ],
)
@for_each("lo_open", [False, True])
def test_a_cut_leaves_what_compares_so(
    op: str, below: bool, at: bool, above: bool, lo_open: bool
) -> None:
    for integer in (False, True):
        cut = interval(0, 9, lo_open=lo_open and not integer, integer=integer).cut(
            op, Fraction(4)
        )
        assert [Fraction(value) in cut for value in (3, 4, 5)] == [below, at, above]
    twice = interval(0, 9).cut(op, Fraction(4)).cut(op, Fraction(4))
    assert (Fraction(4) in twice) == at


def test_the_sharper_of_two_cuts_at_one_end_stays() -> None:
    for first, second in (("<", "<="), ("<=", "<")):
        assert Fraction(4) not in interval(0, 9).cut(first, Fraction(4)).cut(
            second, Fraction(4)
        )
    for first, second in ((">", ">="), (">=", ">")):
        assert Fraction(4) not in interval(0, 9).cut(first, Fraction(4)).cut(
            second, Fraction(4)
        )


@given(intervals(), st.integers(0, 60))
def test_nth_simplest_is_a_member_and_no_two_are_alike(
    within: Interval, index: int
) -> None:
    value = nth_simplest(within, index)
    if value is not None:
        assert value in within
        assert all(nth_simplest(within, other) != value for other in range(index))


@given(intervals(), numbers)
def test_no_member_has_a_smaller_denominator_than_the_simplest(
    within: Interval, other: Fraction
) -> None:
    best = simplest(within)
    if other in within:
        assert best is not None
        assert best.denominator <= other.denominator


@given(
    intervals(),
    st.sampled_from(["<", "<=", ">", ">=", "=="]),
    numbers,
    numbers,
    st.booleans(),
)
def test_cut_keeps_exactly_the_members_for_which_it_holds(
    within: Interval, op: str, end: Fraction, value: Fraction, integer: bool
) -> None:
    if integer:
        within, value = (
            Interval(
                within.lo, within.hi, within.lo_open, within.hi_open, True
            ).rounded(),
            Fraction(round(value)),
        )
    holds = {
        "<": value < end,
        "<=": value <= end,
        ">": value > end,
        ">=": value >= end,
        "==": value == end,
    }[op]
    assert (value in within.cut(op, end)) == (value in within and holds)


def test_empty_intervals() -> None:
    assert interval(2, 1).empty
    assert interval(1, 1, lo_open=True).empty
    assert not interval(1, 1).empty
    assert simplest(interval(2, 1)) is None
    assert interval(1, 2, lo_open=True, hi_open=True, integer=True).rounded().empty


@given(
    intervals(),
    st.booleans(),
    st.integers(0, 7),
    st.integers(0, PAYLOADS - 1),
    st.lists(numbers, max_size=3),
)
def test_every_candidate_is_a_member(
    within: Interval, integer: bool, mode: int, payload: int, others: list[Fraction]
) -> None:
    if integer:
        within = Interval(
            within.lo, within.hi, within.lo_open, within.hi_open, True
        ).rounded()
    value = value_at(within, mode, payload, others)
    assert (value is None) == within.empty
    assert value is None or value in within


def test_candidates_reach_what_proofs_forget() -> None:
    steps = interval(1, None, integer=True)
    seen = {
        int(v)
        for mode in range(8)
        for payload in range(PAYLOADS)
        if (v := value_at(steps, mode, payload, (Fraction(100),)))
    }
    assert {
        1,
        2,
        3,
        1023,
        1024,
        1025,
        2**20,
        2**20 - 1,
        997 if 997 in seen else 509,
        99,
        100,
        101,
        199,
        301,
    } <= seen
    weights = interval(0, 1, lo_open=True)
    small = {
        v
        for mode in range(8)
        for payload in range(PAYLOADS)
        if (v := value_at(weights, mode, payload, (Fraction(100),)))
    }
    assert {
        Fraction(1),
        Fraction(1, 2),
        Fraction(1, 100),
        Fraction(99, 100),
        Fraction(1, 10**8),
    } <= small
    assert min(small) < Fraction(1, 2**40)


def test_mode_zero_payload_zero_is_the_simplest() -> None:
    assert value_at(interval(7, None, integer=True), 0, 0, ()) == 7
    assert value_at(interval("0.3", "0.4"), 0, 0, ()) == Fraction(1, 3)


def test_complexity_counts_bits() -> None:
    assert complexity(Fraction(1)) == 2
    assert complexity(Fraction(-3, 8)) == 6
