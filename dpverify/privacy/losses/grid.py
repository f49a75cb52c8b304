"""Laws (distributions) of one step's privacy loss on a grid, from above or from below, for a subsampled Gaussian.

With rate q and noise s (standard deviation over sensitivity), let A = (1-q) N(0, s^2) +
q N(1, s^2) and B = N(0, s^2). H_c(P, Q) is the integral of (P - c Q)_+, the profile of
a pair at c = exp(epsilon). A convex function of c that is 1 at 0 and at least (1 - c)_+
is the profile of a pair (Zhu, Dong and Wang 2022, proposition 8). If it is linear
between the points exp(k w), the loss of that pair lies on the grid k w, and its
distribution follows from the changes of the slope.

- The chords between the points are above a convex profile.
- A function below the profile has, at each point, the smaller value of the tangents at the midpoints of the two
  neighbouring cells, and is linear between the points.

All values have a bound on their rounding errors. erfcx and exp are assumed accurate to
four units in the last place.

``log_moment`` and ``best_tilt`` are the exponential moments of laws, and the tilt that suits a delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

Vector: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Side: TypeAlias = Literal["upper", "lower", "removed", "added"]

ROUNDOFF: Final = 2.0**-52
# cells of equal width on either side of 0; further out a cell is this fraction of its
# distance from 0
FINE: Final = 512
MAX_LOSS: Final = 600.0  # larger losses are not resolved
MIN_LEFT: Final = (
    # smallest probability under B of losses near the least one for which the first
    # point of a law from below is set there
    1e-3
)


class UnresolvedError(ArithmeticError):
    """Raised if the losses are too large for floats, or too different for one grid."""


class LossLaw(NamedTuple):
    """Distribution of the privacy loss of a step of a pair (P, Q): ``places`` times the width of the grid."""

    places: Places  # increasing, shape (k,)
    chances: Vector  # under P; for a law from above (below), each is rounded up (down)
    beyond: float  # probability of larger losses, rounded likewise
    shift: float = 0.0  # amount subtracted from each loss


def step_law(
    rate: float, noise: float, width: float, tail: float, side: Side, fine: int = FINE
) -> LossLaw:
    """Return the loss of a step on a grid, above or below a profile.

    The result is above the profile of all pairs of neighbours ("upper"), below that of the pair (A, B) ("lower"), above
    that of (A, B) ("removed") or above that of (B, A) ("added"). The first profile is h(c) = H_c(A, B) for c >= 1, and
    1 - c + c h(1/c) for c < 1; see ``batches``. It is convex, also at 1: its slope increases there by
    1 - A(x > 1/2) - B(x > 1/2) = (1-q)(1 - 2 Phi(-1/(2s))). Losses need not be resolved if they add less than ``tail``
    to delta. The first ``fine`` points on either side of 0 are one width apart. Further out, the width of a cell is its
    distance from 0 over ``fine``.
    """
    # H_c(A, B) <= q Phi((1-x)/s)
    far = 1.0 - noise * float(ndtri(min(tail / rate, 0.5)))
    log_complement = math.log1p(-rate) if rate < 1.0 else -math.inf
    longest = min(
        float(np.logaddexp(log_complement, math.log(rate) + (far - 0.5) / noise**2)),
        MAX_LOSS,
    )
    right = _knots(longest / width, fine)
    if side == "upper":
        value, _, error = excess(np.asarray(right * width, np.float64), rate, noise)
        above = (value + error) * (1.0 + 8.0 * ROUNDOFF)
        values = np.concatenate([(np.exp(-right * width) * above)[:0:-1], above])
        return _law(np.concatenate([-right[:0:-1], right]), values, width, 1.0)
    if side != "lower":
        left = -_knots(min(longest, -log_complement) / width, fine)[:0:-1]
        if -log_complement < longest:  # the first knot is below all losses of (A, B)
            left = np.concatenate(
                [
                    [math.floor(log_complement / width)],
                    left[left * width > log_complement * (1.0 - 1e-9)],
                ]
            )
        places = np.concatenate([left, right])
        above = np.zeros(len(places))
        is_resolved = places * width > log_complement
        value, _, error = excess(
            np.asarray(places[is_resolved] * width, np.float64), rate, noise
        )
        above[is_resolved] = (value + error) * (1.0 + 8.0 * ROUNDOFF)
        if side == "added":  # H_c(B, A) = 1 - c + c H_(1/c)(A, B)
            places, above = (
                -places[::-1],
                (np.exp(-places * width) * above)[::-1] * (1.0 + 8.0 * ROUNDOFF),
            )
        return _above(places, above, width)
    return _lower_law(rate, noise, width, longest, fine)


def _lower_law(
    rate: float, noise: float, width: float, longest: float, fine: int
) -> LossLaw:
    """Return a law from below: at each point, the smaller tangent of its two cells; points are moved by ``shift``."""
    places, first_middle, shift = _lower_places(rate, noise, width, longest, fine)
    points = np.asarray(places * width - shift, np.float64)
    half = 0.5 * width * np.diff(places)
    middles = points[:-1] + half
    middles[0] = first_middle
    value, slope, error = excess(middles, rate, noise)
    slope = slope * np.exp(middles)
    # rounding of the points
    error += 4.0 * ROUNDOFF * np.abs(slope) * (np.abs(middles) + width + shift)
    # values of each tangent at the ends of its cell, corrected if the corner of (1 -
    # c)_+ is inside the cell
    start = slope * np.expm1(points[:-1] - middles)
    end = slope * np.expm1(points[1:] - middles)
    corner_at_start = np.where(
        middles >= 0.0, np.expm1(np.minimum(points[:-1], 0.0)), 0.0
    )
    corner_at_end = np.where(middles < 0.0, np.expm1(np.maximum(points[1:], 0.0)), 0.0)
    value -= error + 8.0 * ROUNDOFF * (
        np.abs(start) + np.abs(end) + np.abs(corner_at_start) + corner_at_end
    )
    start += corner_at_start
    end -= corner_at_end
    nothing = np.zeros(1)
    touching = np.minimum(
        np.append(value + start, nothing), np.append(nothing, value + end)
    )
    touching[0] = value[0] + start[0]
    return _below(places, touching, width, shift)


def _lower_places(
    rate: float, noise: float, width: float, longest: float, fine: int
) -> tuple[Places, float, float]:
    """Return the points of a law from below, the point at which the first tangent touches, and the shift of the points.

    If much of A has nearly the least loss, log(1-q), the first tangent meets 1 - c just before the first point. So the
    mean of small losses is preserved, even on a grid that is wide compared with the rate.
    """
    log_complement = math.log1p(-rate) if rate < 1.0 else -math.inf
    right = _knots(max(longest / width, 1.0), fine)
    left = _knots(min(longest, -log_complement * (1.0 - 1e-9)) / width, fine)
    if -log_complement < longest:
        lowest = math.floor(-log_complement / width)
        inner = left[left < lowest]
        cell = width * (lowest - int(inner[-1])) if len(inner) else width
        touched = log_complement + 0.5 * cell
        bend = _first_bend(touched, rate, noise)
        if bend < 0.0:
            # so that the tangent is certainly above 1 - c there
            bend = max(bend, log_complement) * (1.0 - 1e-7)
            lowest = math.floor(-bend / width)
            left = np.append(left[left < lowest], lowest)
            return (
                np.concatenate([-left[:0:-1], right]),
                touched,
                -bend - lowest * width,
            )
    places = np.concatenate([-left[:0:-1], right])
    return places, 0.5 * width * float(places[0] + places[1]), 0.0


def _first_bend(touched: float, rate: float, noise: float) -> float:
    """Return the loss at which the tangent at ``touched`` meets 1 - c; NaN if few losses of A are so small."""
    value, slope, _ = (
        float(number[0]) for number in excess(np.array([touched]), rate, noise)
    )
    left_share = slope if touched < 0.0 else 1.0 + slope
    if left_share < MIN_LEFT:
        return math.nan
    if touched < 0.0:
        part = value / (slope * math.exp(touched))
        return touched + math.log1p(-part) if part < 1.0 else math.nan
    return math.log1p(-(value - slope * math.expm1(touched)) / left_share)


def _knots(largest: float, fine: int) -> Places:
    """Return whole numbers from 0 to ``largest``: all numbers up to ``fine``, and increasingly sparse ones beyond."""
    near = np.arange(min(fine, int(largest)) + 1)
    if largest <= fine:
        return near
    ratio = 1.0 + 1.0 / fine
    far = fine * ratio ** np.arange(
        1, int(math.log(largest / fine) / math.log(ratio)) + 1
    )
    return np.unique(np.concatenate([near, far.astype(np.int64)]))


def excess(losses: Vector, rate: float, noise: float) -> tuple[Vector, Vector, Vector]:
    """Return H_c(A, B) - (1 - c)_+ at c = exp(loss), its slope in c, and a bound on the rounding error of the value.

    With c = 1 - q + q exp((x - 1/2)/s^2) the value is q phi((x-1)/s)/phi(0) (M(u) - M(u + 1/s)), where M is the Mills
    ratio, and u is (x-1)/s for c >= 1 and -x/s for c < 1. The slope is -Phi(-x/s) for c >= 1 and Phi(x/s) for c < 1.
    """
    x = 0.5 + noise**2 * (losses if rate == 1.0 else np.log1p(np.expm1(losses) / rate))
    z = (x - 1.0) / noise
    upper = losses >= 0.0
    u = np.where(upper, z, -x / noise)
    near = erfcx(u * math.sqrt(0.5))
    far = erfcx((u + 1.0 / noise) * math.sqrt(0.5))
    scale = 0.5 * rate * np.exp(-0.5 * z * z)
    value = scale * (near - far)
    slope = np.where(upper, -ndtr(-x / noise), ndtr(x / noise))
    factor = 4.0 + z * z + (np.abs(z) + 1.0) * (np.abs(x) + 1.0) / noise
    error = (
        4.0
        * ROUNDOFF
        * (
            scale * (near + far)
            + value * factor
            + np.abs(slope * losses) * np.exp(losses)
        )
    )
    return value, slope, error


def _below(places: Places, values: Vector, width: float, shift: float) -> LossLaw:
    """Make values convex from below: restrict them to where the tangents are above 0, and take the convex hull."""
    nonpositive = np.flatnonzero(values <= 0.0)
    zero = int(np.searchsorted(places * width - shift, 0.0))
    first = int(nonpositive[nonpositive < zero].max(initial=-1)) + 1
    last = int(nonpositive[nonpositive >= zero].min(initial=len(places))) - 1
    if not first < zero < last:
        return LossLaw(np.zeros(1, np.int64), np.ones(1), 0.0)
    places = places[first : last + 1]
    values = values[first : last + 1].copy()
    values[0] = values[-1] = 0.0
    hull = _hull(places, values, width, shift)
    places = places[hull]
    values = values[hull]
    while True:  # rounding may leave a few points that are not convex
        masses, _ = _masses(places, values, width, shift)
        is_on_hull = masses >= 0.0
        is_on_hull[[0, -1]] = True
        if is_on_hull.all():
            return _law(places, values, width, -1.0, shift)
        places = places[is_on_hull]
        values = values[is_on_hull]


def _hull(places: Places, values: Vector, width: float, shift: float) -> Places:
    """Return the indices of the points of the lower convex hull in c, by one pass over the points (Andrew 1979)."""
    losses = (places * width - shift).tolist()
    at = np.exp(places * width - shift).tolist()
    excesses = values.tolist()
    hull = [0]
    # of the chord up to each point of the hull; left
    # of 0, where slopes are near -1, 1 is added
    slopes = [-math.inf]
    for j in range(1, len(losses)):
        while True:
            i = hull[-1]
            rise = excesses[j] - excesses[i]
            if losses[i] < 0.0 < losses[j]:
                rise += math.expm1(losses[i])
            slope = rise / (at[j] * -math.expm1(losses[i] - losses[j]))
            corner = float(losses[j] > 0.0) - float(losses[i] > 0.0)
            if slope + corner >= slopes[-1]:
                break
            hull.pop()
            slopes.pop()
        hull.append(j)
        slopes.append(slope)
    return np.array(hull)


def _above(places: Places, values: Vector, width: float) -> LossLaw:
    """Return the law of the chords, without points at which rounding makes the profile concave; it only increases."""
    while True:
        masses, errors = _masses(places, values, width)
        is_on_hull = masses >= errors
        is_on_hull |= (places == 0) | (np.arange(len(places)) == len(places) - 1)
        if is_on_hull.all():
            return _law(places, values, width, 1.0)
        places = places[is_on_hull]
        values = values[is_on_hull]


def _masses(
    places: Places, values: Vector, width: float, shift: float = 0.0
) -> tuple[Vector, Vector]:
    """Return the probabilities under Q of the profile (1 - c)_+ plus ``values``, and their rounding errors.

    The profile is linear between the points.
    """
    points = places * width - shift
    at = np.exp(points)
    right = points[1:] > 0.0
    over = right & (points[:-1] < 0.0)  # the corner of (1 - c)_+ is inside the cell
    rises = np.diff(values) + np.where(
        over, np.expm1(np.minimum(points[:-1], 0.0)), 0.0
    )
    slopes = rises / (at[:-1] * np.expm1(np.diff(places) * width))
    slopes = np.concatenate([[values[0] / at[0]], slopes, [0.0]])
    corner = np.diff(np.concatenate([[0.0], right, [1.0]]))
    errors = 8.0 * ROUNDOFF * (np.abs(slopes[1:]) + np.abs(slopes[:-1]) + corner)
    return np.diff(slopes) + corner, errors


def _law(
    places: Places, values: Vector, width: float, sign: float, shift: float = 0.0
) -> LossLaw:
    """Return the law of the loss under P; probabilities are rounded up (sign 1) or down (sign -1)."""
    masses, errors = _masses(places, values, width, shift)
    chances = np.exp(places * width - shift) * (masses + sign * errors)
    is_positive = chances > 0.0
    return LossLaw(places[is_positive], chances[is_positive], float(values[-1]), shift)


GOLDEN: Final = 0.5 * (math.sqrt(5.0) - 1.0)


class Steps(NamedTuple):
    """A number of steps with the same distribution of the loss."""

    law: LossLaw
    times: int


def sum_exponent(steps: Sequence[Steps], width: float, theta: float) -> float:
    """Return the logarithm of E exp(theta loss) for the sum of all losses."""
    return math.fsum(s.times * log_moment(s.law, theta, width) for s in steps)


def sum_shift(steps: Sequence[Steps]) -> float:
    """Return the total shift of the sum of all losses."""
    return math.fsum(s.times * s.law.shift for s in steps) * (1.0 + ROUNDOFF)


def log_moment(law: LossLaw, theta: float, width: float) -> float:
    """Return the logarithm of E exp(theta loss)."""
    at = theta * width * law.places
    top = max(float(at[-1]), float(at[0]))
    # a dot product would start threads
    return top + math.log(float((law.chances * np.exp(at - top)).sum()))


def best_tilt(exponent: Callable[[float], float], log_delta: float) -> float:
    """Return the Renyi order, minus 1, that gives the best bound on epsilon.

    The weight exp(-theta y) (1 - exp(-y)) is at most theta^theta/(1 + theta)^(1 + theta). Without this factor, small
    losses would get a tilt that suits a delta far below the true one.
    """

    def epsilon(log_theta: float) -> float:
        theta = math.exp(log_theta)
        largest_weight = -math.log1p(theta) - theta * math.log1p(1.0 / theta)
        return (exponent(theta) - log_delta + largest_weight) / theta

    # The numerator is convex in theta. So the quotient has one minimum, and
    # golden-section search finds it.
    low = math.log(1e-9)  # for an epsilon of millions
    high = math.log(1e12)
    left = high - GOLDEN * (high - low)
    right = low + GOLDEN * (high - low)
    at_left = epsilon(left)
    at_right = epsilon(right)
    while high - low > 0.03:
        if at_left < at_right:
            high = right
            right = left
            at_right = at_left
            left = high - GOLDEN * (high - low)
            at_left = epsilon(left)
        else:
            low = left
            left = right
            at_left = at_right
            right = low + GOLDEN * (high - low)
            at_right = epsilon(right)
    return math.exp(0.5 * (low + high))
