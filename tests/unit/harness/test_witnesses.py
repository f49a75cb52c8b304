"""Constants of losses on a line, exactly, and the properties that are tested on a witness."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from dpverify.harness import Point
from dpverify.harness.admissible import LineLoss, Witness, linear, witness_properties
from dpverify.harness.checks import as_point
from tests.for_each import for_each

ONE = Fraction(1)
VALLEY = LineLoss(((-4 * ONE, -2 * ONE), (-2 * ONE, 4 * ONE)))
"""Slope 4 down to -2, then a curvature of 3 to the slope -2 at -4, beyond which it rises again."""


def test_constants_of_a_loss() -> None:
    assert [VALLEY.steepest, VALLEY.curvature] == [4, 3]
    assert [linear(-ONE).steepest, linear(-ONE).curvature] == [1, 0]
    assert [VALLEY.slope(Fraction(place)) for place in (-9, -4, -3, -2, 5)] == [
        -2,
        -2,
        1,
        4,
        4,
    ]


def test_knots_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="must increase"):
        LineLoss(((ONE, ONE), (ONE, ONE)))


def test_gap_of_the_mean_loss() -> None:
    assert Witness({VALLEY: 2}).gap == 4 * 2 + Fraction(4**2, 2 * 3)
    assert Witness({linear(ONE): 1, linear(-ONE): 1}).gap == 0
    assert Witness({linear(ONE): 2, linear(-ONE): 1}).gap is None
    shifted = LineLoss(((ONE, -ONE), (2 * ONE, Fraction(0))))
    assert Witness({shifted: 3}).gap == Fraction(3, 2)


@for_each(
    ("data", "neighbour", "examples", "expected"),
    [
        ({linear(ONE): 3}, {linear(ONE): 2, VALLEY: 1}, 3, True),
        ({linear(ONE): 3}, {linear(ONE): 2, VALLEY: 1}, None, True),
        ({linear(ONE): 3}, {linear(ONE): 2, VALLEY: 1}, 4, False),
        ({linear(ONE): 3}, {linear(ONE): 1, VALLEY: 2}, 3, False),
        ({linear(ONE): 3}, {linear(ONE): 3}, 3, False),
        ({linear(ONE): 3}, {linear(ONE): 2}, 3, False),
        ({linear(ONE): 3}, {linear(ONE): 3, VALLEY: 1}, 3, False),
        ({linear(ONE): 3}, None, 3, False),
    ],
)
def test_neighbours_differ_in_one_example(
    data: Mapping[LineLoss, int],
    neighbour: Mapping[LineLoss, int] | None,
    examples: int | None,
    expected: bool,
) -> None:
    size = None if examples is None else Fraction(examples)
    assert Witness(data, neighbour).replaces_one(size) is expected


def _valley(_: Point) -> Witness:
    return Witness({VALLEY: 2}, {VALLEY: 1, linear(ONE): 1})


@for_each(
    ("name", "enough", "too_small"),
    [
        ("lipschitz", {"G": 4}, {"G": "39/10"}),
        ("smooth", {"L": 3}, {"L": "29/10"}),
        ("bounded-gap", {"R": 11}, {"R": 10}),
        ("neighbour-replace-one", {"N": 2}, {"N": 3}),
    ],
)
def test_each_property_holds_and_fails(
    name: str, enough: Mapping[str, int | str], too_small: Mapping[str, int | str]
) -> None:
    shown = witness_properties(_valley, "the valley")[name]
    assert shown.is_met(as_point(enough))
    assert not shown.is_met(as_point(too_small))


def test_without_g_and_l_they_are_1_and_without_r_any_gap_will_do() -> None:
    shown = witness_properties(_valley, "the valley")
    assert not shown["lipschitz"].is_met({})
    assert not shown["smooth"].is_met({})
    assert shown["bounded-gap"].is_met({})
    assert not witness_properties(lambda _: Witness({linear(ONE): 1}), "a slope")[
        "bounded-gap"
    ].is_met({})


def test_a_number_that_is_missing_is_a_property_that_is_not_met() -> None:
    assert not witness_properties(
        lambda point: Witness({linear(point["slope"]): 1}), "a slope"
    )["lipschitz"].is_met({})
