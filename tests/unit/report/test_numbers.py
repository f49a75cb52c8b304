from __future__ import annotations

import math

from dpverify.ledger.check_results import Number, Slack
from dpverify.report.numbers import (
    ratio,
    readable_side,
    show,
    show_float,
    show_point,
    show_side,
    show_slack,
)
from tests.for_each import for_each


def exact(text: str, value: float) -> Number:
    return Number(exact=text, float=value)


@for_each(
    ("value", "text"),
    [
        (0.0, "0"),
        (5.0, "5"),
        (3 / 7, "0.4286"),
        (1.2e-6, "1.2e-6"),
        (1.5e12, "1.5e12"),
        (-2.25, "-2.25"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "undefined"),
    ],
)
def test_float(value: float, text: str) -> None:
    assert show_float(value) == text


@for_each("value", [0.99999999, 1.0000001, 1 - 2**-53, 1 + 2**-52])
def test_what_is_not_one_never_looks_like_one(value: float) -> None:
    assert show_float(value) != "1"
    assert (float(show_float(value)) < 1) == (value < 1)


@for_each(
    ("number", "text"),
    [
        (exact("3/7", 3 / 7), "3/7"),
        (exact("5", 5.0), "5"),
        (Number(float=0.5), "≈0.5"),
        (Number(float="inf"), "∞"),
        (exact("1" * 60, 1.1e59), "≈1.1e59"),
        (exact("4503/4503599", 0.001), "4503/4503599"),
        (exact("2047/2048", 2047 / 2048), "≈0.9995"),
    ],
)
def test_a_side_is_exact_where_that_is_short_and_no_float_in_disguise(
    number: Number, text: str
) -> None:
    assert show_side(number) == text


def test_short_forms() -> None:
    assert show(exact("12", 12.0)) == "12"
    assert show(exact("1/3", 1 / 3)) == "0.3333"
    assert (
        show_slack(Slack(min=Number(float=0.99996), typical=exact("3", 3.0)))
        == "0.99996 / 3"
    )
    assert show_slack(None) == ""


def test_a_slack_that_says_nothing_is_not_shown() -> None:
    tiny, usual, huge = Number(float=6.3e-32), Number(float=1.25), Number(float=2.3e9)
    assert show_slack(Slack(min=tiny, typical=usual)) == ""
    assert show_slack(Slack(min=usual, typical=huge)) == "1.25"


def test_point_is_sorted_and_exact() -> None:
    assert (
        show_point({"b": exact("1/2", 0.5), "a": Number(float=2.5)}) == "a=2.5, b=1/2"
    )


def test_ratio_at_the_edges() -> None:
    def number(value: float | str) -> Number:
        return Number(float=value)

    assert ratio(number(3.0), number(2.0)) == 1.5
    assert ratio(number(3.0), number(0.0)) == math.inf
    assert math.isnan(ratio(number(0.0), number(0.0)))
    assert math.isnan(ratio(number("inf"), number("inf")))
    assert ratio(number(1.0), number("inf")) == 0


@for_each(
    ("side", "shown"),
    [
        ("≈0.9999999999999999", "≈1 - 1e-16"),
        ("≈1.0000001", "≈1.0000001"),
        ("1/1000000", "1e-6"),
        ("1/12", "1/12"),
    ],
)
def test_sides_are_readable(side: str, shown: str) -> None:
    assert readable_side(side) == shown
