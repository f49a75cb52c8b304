"""Slopes that end in a plain or a valley, as witnesses: what the counterexamples to Theorems 6 and 9 run on."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverify.harness import Point, Property
from dpverify.harness.witnesses import LineLoss, Witness, shown_by
from dpverify.papers.tran2022.utility.theorem_bounds import travel_bound

ZERO = Fraction(0)
ALMOST = 1 - Fraction(1, 10**9)  # What is lost by rounding the steepest slope down


def slope_of(point: Point) -> Witness:
    """Make the losses of ``problems.worst_slope`` from their numbers, which the counterexample of a run has."""
    start = point["slope"]
    end = -point["rise"]
    fall = -point["fall"]
    low = fall - (start - end) / point["bend"]
    offset = point["apart"]
    examples = int(point["N"])
    pairs = examples // 2
    up, down, plain = (LineLoss(((low, end + a), (fall, start + a))) for a in (offset, -offset, ZERO))
    return Witness({up: pairs, down: pairs, plain: examples % 2} if offset else {plain: examples})


def steepest_slope(point: Point) -> Witness:
    """Make the steepest loss with the gap R that T - 1 steps of length 1/sqrt(N T) cannot leave; then a plain."""
    n = int(point["N"])
    steps = int(point["T"])
    way = (arb(steps - 1) / (arb(n) * steps).sqrt()).upper()
    steepest = travel_bound(point["G"], point["L"], point["R"], way)
    slope = Fraction(float(steepest.lower())) * ALMOST
    fall = Fraction(float(way)) / ALMOST
    return slope_of({"N": point["N"], "slope": slope, "fall": fall, "bend": point["L"], "rise": ZERO, "apart": ZERO})


ALGORITHMS = {
    "update-of-algorithm-1": Property("the losses are run by Algorithm 1 with the theorem's parameters"),
    "update-of-algorithm-2": Property("the losses are run by Algorithm 2 with the theorem's parameters"),
    "uniform-output-iterate": Property("the mean over all iterates is the mean over a uniform choice of one"),
}
MEASURED = {**shown_by(slope_of, "the slope that is run"), **ALGORITHMS}
BOUNDED = {**shown_by(steepest_slope, "the steepest slope that no run can leave"), **ALGORITHMS}
