"""Laws of one step's privacy loss on a grid that are above, or below, those of a Gaussian on a part of the data.

With rate q and noise s (standard deviation over sensitivity), let A = (1-q) N(0, s^2) + q N(1, s^2) and B = N(0, s^2).
H_c(P, Q) is the integral of (P - c Q)_+, the profile of a pair at c = exp(epsilon). A convex function of c that is 1 at
0 and at least (1 - c)_+ is the profile of a pair (Zhu, Dong and Wang 2022, proposition 8). Where it is linear between
the points exp(k w), that pair's loss lies on the grid k w, and its law is read off from the changes of the slope.

- Above a convex profile are its chords between the points.
- Below it is what joins, at the points, the lower of the two tangents at the middles of the neighbouring cells.

All values carry a bound of their rounding; erfcx and exp are taken to be right to four units in the last place.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

Vector: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Side: TypeAlias = Literal["upper", "lower", "removed", "added"]

UNIT: Final = 2.0**-52
FINE: Final = 512  # cells of the grid on either side of 0; further out a cell is this part of its distance from 0
LONGEST: Final = 600.0  # loss beyond which nothing is resolved


class UnresolvedError(ArithmeticError):
    """The losses are too large for floats, or too unlike for one grid."""


class LossLaw(NamedTuple):
    """Privacy loss of a step of a pair (P, Q): under P it is ``places`` times the grid's width."""

    places: Places  # rising, shape (k,)
    chances: Vector  # under P; each at least (at most) what is true for a law from above (below)
    beyond: float  # chance of a larger loss, as above
    shift: float = 0.0  # what is taken off each loss


def step_law(rate: float, noise: float, width: float, tail: float, side: Side, fine: int = FINE) -> LossLaw:
    """Put the loss of a step on a grid, above or below a profile.

    Above that of all pairs of neighbours ("upper"), below that of the pair (A, B) ("lower"), above that of (A, B)
    ("removed") or above that of (B, A) ("added"). The first is h(c) = H_c(A, B) for c >= 1 and 1 - c + c h(1/c) below;
    ``batches`` says why. It is convex, at 1 too: its slope rises there by 1 - A(x > 1/2) - B(x > 1/2) =
    (1-q)(1 - 2 Phi(-1/(2s))). Losses need not be resolved where they add less than ``tail`` to delta.
    The first ``fine`` points on either side of 0 are one width apart, and further out one part in ``fine``.
    """
    far = 1.0 - noise * float(ndtri(min(tail / rate, 0.5)))  # H_c(A, B) <= q Phi((1-x)/s)
    log_complement = math.log1p(-rate) if rate < 1.0 else -math.inf
    longest = min(float(np.logaddexp(log_complement, math.log(rate) + (far - 0.5) / noise**2)), LONGEST)
    right = _knots(longest / width, fine)
    if side == "upper":
        value, _, error = excess(np.asarray(right * width, np.float64), rate, noise)
        above = (value + error) * (1.0 + 8.0 * UNIT)
        values = np.concatenate([(np.exp(-right * width) * above)[:0:-1], above])
        return _law(np.concatenate([-right[:0:-1], right]), values, width, 1.0)
    if side != "lower":
        left = -_knots(min(longest, -log_complement) / width, fine)[:0:-1]
        if -log_complement < longest:  # the first knot lies where the loss of (A, B) never is
            left = np.concatenate(
                [[math.floor(log_complement / width)], left[left * width > log_complement * (1.0 - 1e-9)]]
            )
        places = np.concatenate([left, right])
        above = np.zeros(len(places))
        is_resolved = places * width > log_complement
        value, _, error = excess(np.asarray(places[is_resolved] * width, np.float64), rate, noise)
        above[is_resolved] = (value + error) * (1.0 + 8.0 * UNIT)
        if side == "added":  # H_c(B, A) = 1 - c + c H_(1/c)(A, B)
            places, above = -places[::-1], (np.exp(-places * width) * above)[::-1] * (1.0 + 8.0 * UNIT)
        return _above(places, above, width)
    left = _knots(min(longest, -log_complement * (1.0 - 1e-9)) / width, fine)
    places = np.concatenate([-left[:0:-1], right])
    middles = np.asarray(0.5 * width * (places[1:] + places[:-1]), np.float64)
    value, slope, error = excess(middles, rate, noise)
    slope = slope * np.exp(middles)
    half = 0.5 * width * np.diff(places)
    # each tangent at the ends of its cell
    start = slope * np.expm1(-half)
    end = slope * np.expm1(half)
    value -= error + 8.0 * UNIT * (np.abs(start) + np.abs(end))
    nothing = np.zeros(1)
    touching = np.minimum(np.append(value + start, nothing), np.append(nothing, value + end))
    return _below(places, touching, width)


def rare_law(rate: float, noise: float, width: float, tail: float) -> LossLaw:
    """Round the loss of a step of (A, B) down to a grid that is wide beside the rate.

    No loss is below -``shift``, which is taken off each point of the grid, and losses of less than one width go to the
    first point. Delta rises with each loss, so that the result is not above the true delta. With rate 1 there is no
    least loss, and it raises UnresolvedError.
    """
    if rate == 1.0:
        raise UnresolvedError
    far = 1.0 - noise * float(ndtri(min(tail / rate, 0.5)))  # H_c(A, B) <= q Phi((1-x)/s)
    longest = min(math.log1p(rate * math.expm1(min((far - 0.5) / noise**2, LONGEST))), LONGEST)
    places = _knots(longest / width, 2 * FINE)
    x = 0.5 + noise**2 * np.log1p(np.expm1(np.asarray(places[1:] * width, np.float64)) / rate)
    above = (1.0 - rate) * ndtr(-x / noise) + rate * ndtr((1.0 - x) / noise)
    above = above * (1.0 - 64.0 * UNIT * (1.0 + (x / noise) ** 2))  # rounding of x, and of the function
    above = np.minimum.accumulate(np.concatenate([[1.0], np.maximum(above, 0.0), [0.0]]))
    chances = -np.diff(above)
    is_positive = chances > 0.0
    return LossLaw(places[is_positive], chances[is_positive], 0.0, -math.log1p(-rate) * (1.0 + 8.0 * UNIT))


def _knots(largest: float, fine: int) -> Places:
    """Give whole numbers from 0 up, each of the first and then fewer and fewer."""
    near = np.arange(min(fine, int(largest)) + 1)
    if largest <= fine:
        return near
    ratio = 1.0 + 1.0 / fine
    far = fine * ratio ** np.arange(1, int(math.log(largest / fine) / math.log(ratio)) + 1)
    return np.unique(np.concatenate([near, far.astype(np.int64)]))


def excess(losses: Vector, rate: float, noise: float) -> tuple[Vector, Vector, Vector]:
    """H_c(A, B) - (1 - c)_+ at c = exp(loss), its slope in c, and a bound of the rounding of the first.

    With c = 1 - q + q exp((x - 1/2)/s^2) it is q phi((x-1)/s)/phi(0) (M(u) - M(u + 1/s)), where M is Mills' ratio and u
    is (x-1)/s for c >= 1, else -x/s. The slope is -Phi(-x/s) for c >= 1, else Phi(x/s).
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
    lost = 4.0 + z * z + (np.abs(z) + 1.0) * (np.abs(x) + 1.0) / noise
    error = 4.0 * UNIT * (scale * (near + far) + value * lost + np.abs(slope * losses) * np.exp(losses))
    return value, slope, error


def _below(places: Places, values: Vector, width: float) -> LossLaw:
    """Make values convex from below: 0 from the last point on where a tangent is not above 0, and the hull between."""
    lost = np.flatnonzero(values <= 0.0)
    zero = int(np.searchsorted(places, 0))
    first = int(lost[lost < zero].max(initial=-1)) + 1
    last = int(lost[lost > zero].min(initial=len(places))) - 1
    if not first < zero < last:
        return LossLaw(np.zeros(1, np.int64), np.ones(1), 0.0)
    places = places[first : last + 1]
    values = values[first : last + 1].copy()
    values[0] = values[-1] = 0.0
    while True:
        masses, _ = _masses(places, values, width)
        is_on_hull = masses >= 0.0
        is_on_hull[[0, -1]] = True
        if is_on_hull.all():
            return _law(places, values, width, -1.0)
        places = places[is_on_hull]
        values = values[is_on_hull]


def _above(places: Places, values: Vector, width: float) -> LossLaw:
    """Take the chords between points at which rounding does not bend the profile the wrong way; fewer are above it."""
    while True:
        masses, errors = _masses(places, values, width)
        is_on_hull = masses >= errors
        is_on_hull |= (places == 0) | (np.arange(len(places)) == len(places) - 1)
        if is_on_hull.all():
            return _law(places, values, width, 1.0)
        places = places[is_on_hull]
        values = values[is_on_hull]


def _masses(places: Places, values: Vector, width: float) -> tuple[Vector, Vector]:
    """Give the chances under Q of a profile that exceeds (1 - c)_+ by values, linear between, and their rounding."""
    at = np.exp(places * width)
    right = places[1:] > 0
    over = right & (places[:-1] < 0)  # a cell with the corner of (1 - c)_+ inside
    rises = np.diff(values) + np.where(over, np.expm1(np.minimum(places[:-1], 0) * width), 0.0)
    slopes = rises / (at[:-1] * np.expm1(np.diff(places) * width))
    slopes = np.concatenate([[values[0] / at[0]], slopes, [0.0]])
    corner = np.diff(np.concatenate([[0.0], right, [1.0]]))
    errors = 8.0 * UNIT * (np.abs(slopes[1:]) + np.abs(slopes[:-1]) + corner)
    return np.diff(slopes) + corner, errors


def _law(places: Places, values: Vector, width: float, sign: float) -> LossLaw:
    """Read off the law of the loss under P; chances are rounded up (1) or down (-1)."""
    masses, errors = _masses(places, values, width)
    chances = np.exp(places * width) * (masses + sign * errors)
    return LossLaw(places[chances > 0.0], chances[chances > 0.0], float(values[-1]))
