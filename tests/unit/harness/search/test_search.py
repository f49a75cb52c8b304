from __future__ import annotations

from fractions import Fraction

from dpverify.harness.search.candidates import Interval
from dpverify.harness.search.search import Findings, _well_inside
from dpverify.harness.sides import Probe
from tests.for_each import for_each


@for_each(
    ("interval", "value", "inside"),
    [
        (Interval(Fraction(0), Fraction(1), integer=False), "1/50", False),
        (Interval(Fraction(0), Fraction(1), integer=False), "1/2", True),
        (Interval(Fraction(0), Fraction(1), integer=False), "99/100", False),
        (Interval(Fraction(2), Fraction(2), integer=False), "2", True),
        (Interval(Fraction(1), None, integer=True), "2", False),
        (Interval(Fraction(1), None, integer=True), "3", True),
        (Interval(Fraction(0), Fraction(1), integer=True), "1", True),
        (Interval(Fraction(0), Fraction(100), integer=True), "1", False),
    ],
)
def test_a_point_is_inside_where_it_is_away_from_the_ends_or_has_no_choice(
    interval: Interval, value: str, inside: bool
) -> None:
    assert _well_inside(interval, Fraction(value)) is inside


def test_the_sharpest_probe_has_the_largest_ratio_and_is_the_simplest_of_several() -> (
    None
):
    probes = [
        Probe(point={"n": Fraction(n)}, lhs=None, rhs=None, holds=True, ratio=ratio)  # type: ignore[arg-type]  # sides play no part
        for n, ratio in ((7, 0.5), (900, 0.9), (3, 0.9), (1, 0.1))
    ]
    for drawn in ([], probes[:1]):  # whether it was drawn, given or climbed to
        sharpest = Findings(probes=probes, sampled=drawn).sharpest
        assert sharpest is not None
        assert sharpest.point == {"n": 3}
