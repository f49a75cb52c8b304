"""Problems on a line that attain what Algorithms 1 and 2 give away, and the assumptions that they meet."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import Point, Property
from dpverify.harness.witnesses import LineLoss, Witness, linear, shown_by
from dpverify.papers.tran2022.sensitivity.checks.nodes import node_of

ONE = Fraction(1)
ENDS = (("node_start", "node_end"), ("a", "b"), ("start", "end"))  # names of a node's first and last step


def is_released_node(point: Point) -> bool:
    """Whether the steps [first, last] of a point, where it has some, are a node of the tree."""
    for first, last in ENDS:
        if first in point and last in point:
            length = point[last] - point[first] + 1
            is_integer = length.denominator == 1 and length >= 1
            return is_integer and int(length).bit_count() == 1 and (point[first] - 1) % length == 0
    return True


def opposed(point: Point) -> Witness:
    """N linear losses (t of them where a sum of t vectors is meant) of slope G. The neighbour turns one round."""
    examples = int(point.get("N", point.get("t", ONE)))
    G = point.get("G", ONE)
    return Witness({linear(G): examples}, {linear(G): examples - 1, linear(-G): 1})


def bent(point: Point, reach: Fraction) -> Witness:
    """One loss bends up with L within a reach of the start, its neighbour down, then both flatten; the others are 0."""
    examples = int(point["N"])
    top = point.get("L", ONE) * reach
    places = (-2 * reach, -reach, reach, 2 * reach)
    up = LineLoss(tuple(zip(places, (0 * top, -top, top, 0 * top), strict=True)))
    down = LineLoss(tuple(zip(places, (0 * top, top, -top, 0 * top), strict=True)))
    flat = linear(Fraction(0))
    return Witness({flat: examples - 1, up: 1}, {flat: examples - 1, down: 1})


def turning(point: Point, reach: Fraction) -> Witness:
    """All losses pull to the right along a path. The slope of one rises by L to 0, that of its neighbour falls from 0.

    A path of normalized steps without noise goes straight on.
    """
    examples = int(point["N"])
    top = point.get("L", ONE) * reach
    ahead = linear(-top)
    rises = LineLoss(((Fraction(0), -top), (reach, Fraction(0))))
    falls = LineLoss(((Fraction(0), Fraction(0)), (reach, -top)))
    return Witness({ahead: examples - 1, rises: 1}, {ahead: examples - 1, falls: 1})


def _until_node_end(point: Point) -> Witness:
    last = next((point[name] for _, name in ENDS if name in point), None)
    steps = Fraction(node_of(point)[1]) if last is None else last
    return turning(point, point["eta"] * steps)


def _first_step(point: Point) -> Witness:
    return bent(point, point["eta"])


def has_second_step(point: Point) -> bool:
    """Whether a run has a second step in its first epoch."""
    return point["T"] >= 2 and point["N"] >= 2


UPDATE_1 = {
    "update-of-algorithm-1": Property(
        "Algorithm 1 visits each example once in an epoch and releases nodes of its tree", is_released_node
    )
}
UPDATE_2 = {
    "update-of-algorithm-2": Property(
        "Algorithm 2 visits each example once in an epoch and releases nodes of its tree", is_released_node
    )
}
OPPOSED = shown_by(opposed, "linear losses of slope G, of which one is turned round")
TURNING = shown_by(_until_node_end, "losses along a straight path, of which one bends up or down with L")
WHATEVER_THE_NOISE = Property(
    "the first step has the length eta whatever the noise, and the example is used at the second", has_second_step
)
SECOND_STEP = {
    **shown_by(_first_step, "losses of which one bends up or down with L, as far as one step goes"),
    "update-of-algorithm-2": WHATEVER_THE_NOISE,
}
