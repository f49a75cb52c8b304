"""Linear losses and a few that bend, as witnesses against Lemmas 7 and 11 and what sections 3 and 4 say."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import Point, Property
from dpverify.harness.witnesses import LineLoss, Witness, linear, shown_by
from dpverify.papers.tran2022.sensitivity.checks import witnesses


def same(point: Point) -> Witness:
    """Identical examples of slope G."""
    return Witness({linear(point.get("G", Fraction(1))): int(point["N"])})


def two(point: Point) -> Witness:
    """Two examples of slopes G and -G."""
    G = point["G"]
    return Witness({linear(G): 1, linear(-G): 1})


def _around_anchor(point: Point) -> Witness:
    return witnesses.bent(point, point["eta"] * point["N"])


def _clipped_line(_: Point) -> Witness:
    """What a ridge is along its unit vector, where its curvature may be as large as it has to be."""
    unit = Fraction(1)
    return Witness({LineLoss(((0 * unit, -unit), (unit, unit))): 1})


RIDGES = shown_by(_clipped_line, "ridges of height G = 1")
SLOPE = shown_by(lambda _: Witness({linear(Fraction(1)): 1}), "the slope G = 1")
SAME = {
    **shown_by(same, "identical linear losses"),
    "update-of-algorithm-2": Property("the momentum is exact for identical losses, so that the noise is all"),
}
TWO = {
    **shown_by(two, "two linear losses of slopes G and -G"),
    "update-of-algorithm-2": Property("the mean over all orders of two examples", lambda point: point["N"] == 2),
}
AT_STEP_3N = {
    **shown_by(_around_anchor, "losses of which one bends up or down with L around the anchor"),
    "update-of-algorithm-2": Property(
        "an odd number of steps on a line ends at least one step from where it began, whatever the noise",
        lambda point: point["N"] % 2 == 1 and point["t"] == 3 * point["N"],
    ),
}
