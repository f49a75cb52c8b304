"""Scores: functions of an output that are large if the second data set is likely, learned from training rounds.

Each score is the log likelihood ratio of a simple model, so that scores are comparable.
The bound holds for any score.

``lowest_bit`` is a score of the lowest bits of floats, which reveal the data set if
Gaussian noise is drawn in floating point. The float x + z is rounded to the grid of the
larger of the two, and cancellation does not restore lost bits. With x = 0 an output
near 0 has bits as fine as its own size. With x = 1 the output is 1 + z with z near -1,
on the grid of 2^-53. So outputs near 0 with a bit below 2^-53 occur for x = 0 only.
This event has probability 0 on one data set and not on the other, so that no epsilon is
large enough. Mironov (CCS 2012) broke the Laplace mechanism in this way; the Gaussian
mechanism has the same weakness. Audits use this score on request only, because it would
refute almost every mechanism in floats:

    dpverify audit MODULE:FUNCTION --score dpverify.privacy.audit.scores:lowest_bit
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.linalg.lapack import dposv, dptsv

from dpverify.privacy.audit.groups import Rows
from dpverify.privacy.audit.records import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


Score = Callable[[Floats], Floats]

FLOOR = 1e-12
"""Smallest eigenvalue of a correlation matrix that is trusted. A direction with a smaller eigenvalue has no noise."""

KNOTS = (0.01, 0.03, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97, 0.99)
"""Quantiles of a coordinate at which a piecewise linear function may bend."""

# penalty on the square of a bend, in units of the interquartile range
BEND_PENALTY = 1.0

# number of values at each end of a coordinate that are clipped to the next ones
CLIPPED_VALUES = 20

QUANTILE_CELLS = 40  # number of cells between quantiles in each coordinate

# penalty on half the squared difference of the log odds of neighbouring groups
STIFFNESS = 30.0

MAX_STEPS = 30  # most steps of Newton's method

TREE_ROUNDS = 100_000  # most rounds on which trees are trained

MAX_FIT_ROWS = 20_000  # most rows used by a fit, evenly spaced
FIT_STEPS = 20  # most steps of Newton's method in a fit
MAX_FIT_STEP = 4.0  # largest change of a weight in a step
# stop below this step size: the next step would be about its square
FIT_TOLERANCE = 1e-3


def linear(rows: Rows) -> Score:
    """Learn Fisher's linear discriminant; a direction without noise in which the data differ dominates all others."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    low, high = (_mean(z, weights) for weights in (rows.zeros, rows.ones))
    scaled_rows = (
        np.sqrt(rows.zeros)[:, None] * (z - low),
        np.sqrt(rows.ones)[:, None] * (z - high),
    )
    weights = _solve(scaled_rows, float(rows.zeros.sum() + rows.ones.sum()), high - low)
    middle = float(weights @ (low + high)) / 2.0
    slopes = weights / scale

    def score(y: Floats) -> Floats:
        result: Floats = (y - shift) @ slopes - middle
        return result

    return score


def quadratic(rows: Rows, *, full: bool = True) -> Score:
    """Learn the likelihood ratio of two Gaussians with different covariances, for noise that depends on the data."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    low, high = (
        _gaussian(z, weights, full=full) for weights in (rows.zeros, rows.ones)
    )

    def score(y: Floats) -> Floats:
        standard = (y - shift) / scale
        return high(standard) - low(standard)

    return score


def diagonal(rows: Rows) -> Score:
    """Learn as :func:`quadratic`, but with independent coordinates, which needs few parameters in many dimensions."""
    return quadratic(rows, full=False)


def distance(rows: Rows) -> Score:
    """Learn the likelihood ratio of two Gaussians that differ by a factor of the covariance: a change of scale."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    totals = rows.zeros + rows.ones
    values, vectors = _spectrum(z, totals)
    inverse = 1.0 / np.maximum(values, FLOOR)

    def far(standard: Floats) -> Floats:
        result: Floats = (
            ((standard if vectors is None else standard @ vectors) ** 2) * inverse
        ).sum(axis=1)
        return result

    squares = far(z)
    low, high = (
        max(FLOOR, float(weights @ squares / weights.sum()))
        for weights in (rows.zeros, rows.ones)
    )
    d = z.shape[1]

    def score(y: Floats) -> Floats:
        result: Floats = (
            0.5
            * d
            * (far((y - shift) / scale) * (1.0 / low - 1.0 / high) - np.log(high / low))
        )
        return result

    return score


def shares(rows: Rows) -> Score:
    """Learn how often outputs fall between quantiles, for each coordinate separately: any shape, heavy tails."""
    places = (
        np.linspace(0.0, 1.0, QUANTILE_CELLS + 1)[1:-1] * (len(rows.x) - 1)
    ).astype(np.int64)
    # takes half the time of numpy's quantiles
    ends = np.sort(rows.x.T, axis=1)[:, places].T
    tables = []
    for j in range(rows.x.shape[1]):
        where = np.searchsorted(ends[:, j], rows.x[:, j], "left")
        counts_of_one, zero = (
            np.bincount(where, weights, QUANTILE_CELLS) + 1.0
            for weights in (rows.ones, rows.zeros)
        )
        tables.append(
            np.log(counts_of_one / counts_of_one.sum()) - np.log(zero / zero.sum())
        )

    def score(y: Floats) -> Floats:
        result = np.zeros(len(y))
        for j, table in enumerate(tables):
            result += table[np.searchsorted(ends[:, j], y[:, j], "left")]
        return result

    return score


def smooth(rows: Rows) -> Score:
    """Learn log odds for groups of one number, smoothed towards their neighbours: jumps and any number of modes.

    The fit uses Newton's method with a positive definite tridiagonal matrix.
    """
    totals = rows.zeros + rows.ones
    odds, pull, between = (
        np.zeros(len(totals)),
        np.zeros(len(totals) + 1),
        np.full(len(totals) - 1, -STIFFNESS),
    )
    ends = np.full(len(totals), 2.0 * STIFFNESS)
    ends[[0, -1]] = STIFFNESS
    for _ in range(MAX_STEPS):
        chance = special.expit(odds)
        expected_ones = totals * chance
        pull[1:-1] = odds[1:] - odds[:-1]
        slope = rows.ones - expected_ones + STIFFNESS * (pull[1:] - pull[:-1])
        step = dptsv(expected_ones * (1.0 - chance) + ends + 1e-6, between, slope)[2]
        largest = float(np.abs(step).max())
        odds += step if largest <= 4.0 else step * (4.0 / largest)
        if largest < 1e-3:
            break
    x = rows.x[:, 0]
    return lambda y: np.asarray(
        odds[np.minimum(np.searchsorted(x, y[:, 0]), len(x) - 1)]
    )


def bent(rows: Rows) -> Score:
    """Learn log odds that are a sum of piecewise linear functions of the coordinates: several modes, other tails."""
    x = rows.x
    totals = rows.zeros + rows.ones
    m = float(totals.sum())
    d = x.shape[1]
    few = min(CLIPPED_VALUES, m / 50.0) / m
    at = (0.25, 0.5, 0.75, few, 1.0 - few, *KNOTS)
    lower, shift, upper, *rest = np.stack(
        [_quantiles(x[:, j], totals, at) for j in range(d)], axis=1
    )
    scale = np.where(upper > lower, upper - lower, _standard(rows)[1])
    ends = (np.asarray(rest) - shift) / scale
    low = ends[0]
    high = ends[1]
    knots = ends[2:]

    def columns(y: Floats) -> Floats:
        z = np.clip((y - shift) / scale, low, high).T
        bends = np.maximum(z - knots[:, :, None], 0.0).reshape(-1, len(y))
        return np.concatenate([np.ones((1, len(y))), z, bends]).T

    penalty = np.concatenate(
        [np.full(1 + d, 0.01), np.full(d * len(KNOTS), BEND_PENALTY)]
    )
    weights, _ = fitted(columns(x), rows.zeros, rows.ones, penalty)
    return lambda y: np.asarray(columns(y) @ weights, dtype=np.float64)


def fitted(
    table: Floats, zeros: Floats, ones: Floats, penalty: Floats
) -> tuple[Floats, Floats]:
    """Fit a penalized logistic regression; return the weights of the columns and the curvature at the fit.

    The inverse of the curvature is the covariance of the weights, or slightly larger. ``zeros`` and ``ones`` count how
    often each row of ``table`` occurred on each data set.
    """
    stride = -(-len(table) // MAX_FIT_ROWS)
    part = slice((len(table) - 1) % stride // 2, None, stride)
    few = table[part]
    weight_of_part = len(table) / len(few)
    truth = weight_of_part * ones[part]
    totals = truth + weight_of_part * zeros[part]
    ridge = np.diag(penalty)
    # start at 0, because far from the optimum Newton steps may not descend
    weights = np.zeros(table.shape[1])
    curvature = ridge
    for _ in range(FIT_STEPS):
        chance = special.expit(few @ weights)
        expected_ones = totals * chance
        slope = few.T @ (truth - expected_ones) - penalty * weights
        curvature = (few * (expected_ones * (1.0 - chance))[:, None]).T @ few + ridge
        _, step, failed = dposv(curvature, slope)
        if failed:  # the penalty is lost to rounding if columns are nearly equal
            step = np.linalg.lstsq(curvature, slope)[0]
        largest = float(np.abs(step).max())
        weights += step if largest <= MAX_FIT_STEP else step * (MAX_FIT_STEP / largest)
        if largest < FIT_TOLERANCE:
            break
    return weights, curvature


@lru_cache(maxsize=2)
def _libraries(kind: str) -> ThreadpoolController:
    """Return the loaded libraries that use threads; cached, because the search takes as long as training two trees."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=kind)


def one_blas_thread(dimension: int) -> AbstractContextManager[object]:
    """Return a context with one BLAS thread: on small matrices more threads are up to three times slower.

    The number of threads also changes the last digit of results. Outputs of one number need no matrices.
    """
    return nullcontext() if dimension == 1 else _libraries("blas").limit(limits=1)


def trees(rows: Rows) -> Score:
    """Learn boosted trees, which assume no shape; each row must be one round."""
    # imported here because it takes a second
    from sklearn.ensemble import HistGradientBoostingClassifier

    threads = _libraries("openmp")
    training_rows = slice(0, TREE_ROUNDS)
    model = HistGradientBoostingClassifier(
        max_iter=10,
        max_leaf_nodes=16,
        max_bins=32,
        min_samples_leaf=20,
        learning_rate=0.4,
        early_stopping=False,
        random_state=0,
    )
    # on busy cores, threads that wait for each other take ten times as long
    with threads.limit(limits=1):
        model.fit(rows.x[training_rows], rows.ones[training_rows] > 0.0)

    def score(y: Floats) -> Floats:
        with threads.limit(limits=1):
            return np.asarray(model.decision_function(y), dtype=np.float64)

    return score


def unit_of(x: Floats) -> Floats:
    """Return powers of two that scale outputs near the limits of the float range to its middle; 1 for all others."""
    largest = np.maximum(x.max(axis=0, initial=0.0), -x.min(axis=0, initial=0.0))
    exponent = np.frexp(largest)[1]
    usual = (largest == 0.0) | (np.abs(exponent) < 200)
    if usual.all():
        return np.ones(len(largest))
    return np.ldexp(1.0, np.where(usual, 0, np.minimum(exponent, 1023)))


def _mean(z: Floats, weights: Floats) -> Floats:
    result: Floats = weights @ z / weights.sum()
    return result


def _standard(rows: Rows) -> tuple[Floats, Floats]:
    totals = rows.zeros + rows.ones
    shift = _mean(rows.x, totals)
    scale = np.sqrt(_mean((rows.x - shift) ** 2, totals))
    return shift, np.where(scale > 0.0, scale, 1.0)


def _quantiles(x: Floats, weights: Floats, at: Sequence[float]) -> Floats:
    order = np.argsort(x)
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return np.asarray(
        np.interp(np.asarray(at) * weights.sum(), below, x[order]), dtype=np.float64
    )


def _solve(centred: tuple[Floats, Floats], m: float, difference: Floats) -> Floats:
    """Return covariance^-1 times difference; with too few rounds ``m`` for a matrix, only variances are used."""
    low, high = centred
    if len(difference) > m // 5:
        return np.asarray(
            difference
            / np.maximum(((low**2).sum(axis=0) + (high**2).sum(axis=0)) / m, FLOOR)
        )
    values, vectors = np.linalg.eigh((low.T @ low + high.T @ high) / m)
    weights: Floats = vectors @ ((vectors.T @ difference) / np.maximum(values, FLOOR))
    return weights


def _spectrum(
    centred: Floats, weights: Floats, *, full: bool = True
) -> tuple[Floats, Floats | None]:
    """Return eigenvalues and eigenvectors of a covariance; with too few rounds for a matrix, variances and None."""
    m = float(weights.sum())
    d = centred.shape[1]
    if d == 1 or not full or d > m // 10:
        return np.asarray(_mean(centred**2, weights), dtype=np.float64), None
    heavy = np.sqrt(weights)[:, None] * centred
    values, vectors = np.linalg.eigh(heavy.T @ heavy / m)
    return values, vectors


def _gaussian(z: Floats, weights: Floats, *, full: bool = True) -> Score:
    """Return the log density of the fitted Gaussian, without its constant."""
    mean = _mean(z, weights)
    values, vectors = _spectrum(z - mean, weights, full=full)
    values = np.maximum(values, FLOOR)
    half_log_determinant = 0.5 * float(np.log(values).sum())

    def log_density(y: Floats) -> Floats:
        moved = y - mean if vectors is None else (y - mean) @ vectors
        result: Floats = -0.5 * (moved**2 / values).sum(axis=1) - half_log_determinant
        return result

    return log_density


ZERO = 1100.0  # score of an output whose numbers are all 0, which has no lowest bit


def lowest_bit(outputs: Floats) -> Floats:
    """Return each output's lowest set bit: the smallest k such that one of its numbers is an odd multiple of 2^k."""
    mantissa, exponent = np.frexp(outputs.reshape(len(outputs), -1))
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = (
        np.log2(np.maximum(integers & -integers, 1).astype(np.float64))
        + exponent
        - 53.0
    )
    result: Floats = np.where(integers == 0, ZERO, lowest).min(axis=1)
    return result
