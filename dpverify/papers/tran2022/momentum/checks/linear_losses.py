"""Losses whose gradients do not depend on w, as witnesses against Lemma 7; and a loss that bends for one release."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import Point, Property
from dpverify.harness.witnesses import Witness, linear, shown_by
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
