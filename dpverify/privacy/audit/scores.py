"""Scores: functions of an output that are large where the second data set is likely, learned from training rounds.

Each is a log likelihood ratio of a simple model, so that two can be compared; the bound holds for any score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special
from scipy.linalg.lapack import dposv, dptsv

from dpverify.privacy.audit.groups import Rows
from dpverify.privacy.audit.records import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Score = Callable[[Floats], Floats]
Key = Callable[[Floats], Floats]

FLOOR = 1e-12
"""Smallest eigenvalue of a correlation matrix that is believed; below it there is no noise in that direction."""

KNOTS = (0.01, 0.03, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97, 0.99)
"""Quantiles of a coordinate at which a line may bend."""

BEND = 1.0  # penalty on the square of a bend, in units of the distance between the quartiles

FURTHEST = 20  # values of a coordinate at each end that count as the next ones

PARTS = 40  # quantiles between which a coordinate is counted

STIFFNESS = 30.0  # penalty on half the square of a step of the log odds between neighbouring groups

STEPS = 30  # of Newton's method, at most

TREE_ROUNDS = 100_000  # rounds that trees are grown on, at most

FITTED = 20_000  # rows that a fit looks at, at most, evenly spread
FIT_STEPS = 20  # of Newton's method for a fit, at most
FIT_FAR = 4.0  # largest change of a weight in a step
FIT_SMALL = 1e-3  # the next step would be about its square


class Learner(NamedTuple):
    """A way to learn a score."""

    name: str  # in words: "linear discriminant"
    learn: Callable[[Rows], Score]
    # Whether twice the rounds give the same score but for its errors. Otherwise thresholds that were found for scores
    # of half the rounds fit no others.
    steady: bool = True
    key: Key | None = None  # of a table, which looks for what happens rarely: what it looks up
    # Whether it takes so long that one model is learned, on the first half, and its thresholds on the second; else each
    # half has a model, and gives the thresholds of the model of the other.
    slow: bool = False

    @property
    def rare(self) -> bool:
        """Whether it learns from all training rounds, however many."""
        return self.key is not None


def linear(rows: Rows) -> Score:
    """Learn Fisher's linear discriminant; a direction in which the data differ without noise outweighs all others."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    low, high = (_mean(z, weights) for weights in (rows.zeros, rows.ones))
    scaled_rows = np.sqrt(rows.zeros)[:, None] * (z - low), np.sqrt(rows.ones)[:, None] * (z - high)
    weights = _solve(scaled_rows, float(rows.zeros.sum() + rows.ones.sum()), high - low)
    middle = float(weights @ (low + high)) / 2.0
    slopes = weights / scale

    def score(y: Floats) -> Floats:
        result: Floats = (y - shift) @ slopes - middle
        return result

    return score


def quadratic(rows: Rows, *, full: bool = True) -> Score:
    """Learn the likelihood ratio of two Gaussians, each with its own covariance: noise that depends on the data."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    low, high = (_gaussian(z, weights, full=full) for weights in (rows.zeros, rows.ones))

    def score(y: Floats) -> Floats:
        standard = (y - shift) / scale
        return high(standard) - low(standard)

    return score


def diagonal(rows: Rows) -> Score:
    """Learn as :func:`quadratic`, with coordinates that are taken as independent: few numbers to learn in many."""
    return quadratic(rows, full=False)


def distance(rows: Rows) -> Score:
    """Learn how far from their common mean outputs are on each data set, by one covariance: a change of scale alone."""
    shift, scale = _standard(rows)
    z = (rows.x - shift) / scale
    totals = rows.zeros + rows.ones
    values, vectors = _spectrum(z, totals)
    inverse = 1.0 / np.maximum(values, FLOOR)

    def far(standard: Floats) -> Floats:
        result: Floats = (((standard if vectors is None else standard @ vectors) ** 2) * inverse).sum(axis=1)
        return result

    squares = far(z)
    low, high = (max(FLOOR, float(weights @ squares / weights.sum())) for weights in (rows.zeros, rows.ones))
    d = z.shape[1]

    def score(y: Floats) -> Floats:
        result: Floats = 0.5 * d * (far((y - shift) / scale) * (1.0 / low - 1.0 / high) - np.log(high / low))
        return result

    return score


def shares(rows: Rows) -> Score:
    """Learn, in each coordinate by itself, how often each data set falls between quantiles: any shape, heavy tails."""
    places = (np.linspace(0.0, 1.0, PARTS + 1)[1:-1] * (len(rows.x) - 1)).astype(np.int64)
    ends = np.sort(rows.x.T, axis=1)[:, places].T  # in half the time of numpy's quantiles
    tables = []
    for j in range(rows.x.shape[1]):
        where = np.searchsorted(ends[:, j], rows.x[:, j], "left")
        counts_of_one, zero = (np.bincount(where, weights, PARTS) + 1.0 for weights in (rows.ones, rows.zeros))
        tables.append(np.log(counts_of_one / counts_of_one.sum()) - np.log(zero / zero.sum()))

    def score(y: Floats) -> Floats:
        result = np.zeros(len(y))
        for j, table in enumerate(tables):
            result += table[np.searchsorted(ends[:, j], y[:, j], "left")]
        return result

    return score


def smooth(rows: Rows) -> Score:
    """Learn log odds of each group of one number, drawn towards those of its neighbours: jumps and modes of any kind.

    Newton's steps, with a tridiagonal matrix, which is positive definite.
    """
    totals = rows.zeros + rows.ones
    odds, pull, between = np.zeros(len(totals)), np.zeros(len(totals) + 1), np.full(len(totals) - 1, -STIFFNESS)
    ends = np.full(len(totals), 2.0 * STIFFNESS)
    ends[[0, -1]] = STIFFNESS
    for _ in range(STEPS):
        chance = special.expit(odds)
        ones_hoped = totals * chance
        pull[1:-1] = odds[1:] - odds[:-1]
        slope = rows.ones - ones_hoped + STIFFNESS * (pull[1:] - pull[:-1])
        step = dptsv(ones_hoped * (1.0 - chance) + ends + 1e-6, between, slope)[2]
        largest = float(np.abs(step).max())
        odds += step if largest <= 4.0 else step * (4.0 / largest)
        if largest < 1e-3:
            break
    x = rows.x[:, 0]
    return lambda y: np.asarray(odds[np.minimum(np.searchsorted(x, y[:, 0]), len(x) - 1)])


def bent(rows: Rows) -> Score:
    """Learn log odds that are a bent line in each coordinate, added up: several modes, tails that are not Gaussian."""
    x = rows.x
    totals = rows.zeros + rows.ones
    m = float(totals.sum())
    d = x.shape[1]
    few = min(FURTHEST, m / 50.0) / m
    at = (0.25, 0.5, 0.75, few, 1.0 - few, *KNOTS)
    lower, shift, upper, *rest = np.stack([_quantiles(x[:, j], totals, at) for j in range(d)], axis=1)
    scale = np.where(upper > lower, upper - lower, _standard(rows)[1])
    ends = (np.asarray(rest) - shift) / scale
    low = ends[0]
    high = ends[1]
    knots = ends[2:]

    def columns(y: Floats) -> Floats:
        z = np.clip((y - shift) / scale, low, high).T
        bends = np.maximum(z - knots[:, :, None], 0.0).reshape(-1, len(y))
        return np.concatenate([np.ones((1, len(y))), z, bends]).T

    penalty = np.concatenate([np.full(1 + d, 0.01), np.full(d * len(KNOTS), BEND)])
    weights, _ = fitted(columns(x), rows.zeros, rows.ones, penalty)
    return lambda y: np.asarray(columns(y) @ weights, dtype=np.float64)


def fitted(table: Floats, zeros: Floats, ones: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Fit logistic regression with a penalty; return the weights of the columns and the curvature there.

    The inverse of the curvature is the weights' covariance, or a little more. ``zeros``, ``ones``: how often each row
    of ``table`` was seen on each data set.
    """
    stride = -(-len(table) // FITTED)
    part = slice((len(table) - 1) % stride // 2, None, stride)
    few = table[part]
    weight_of_part = len(table) / len(few)
    truth = weight_of_part * ones[part]
    totals = truth + weight_of_part * zeros[part]
    ridge = np.diag(penalty)
    # far from there steps are no descent
    weights = np.zeros(table.shape[1])
    curvature = ridge
    for _ in range(FIT_STEPS):
        chance = special.expit(few @ weights)
        ones_hoped = totals * chance
        slope = few.T @ (truth - ones_hoped) - penalty * weights
        curvature = (few * (ones_hoped * (1.0 - chance))[:, None]).T @ few + ridge
        _, step, failed = dposv(curvature, slope)
        if failed:  # a penalty that is lost beside columns that are alike up to rounding
            step = np.linalg.lstsq(curvature, slope)[0]
        largest = float(np.abs(step).max())
        weights += step if largest <= FIT_FAR else step * (FIT_FAR / largest)
        if largest < FIT_SMALL:
            break
    return weights, curvature


@lru_cache(maxsize=2)
def _libraries(kind: str) -> ThreadpoolController:
    """Find the loaded libraries that have threads, once: their search takes as long as two trees."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=kind)


def one_blas_thread(dimension: int) -> AbstractContextManager[object]:
    """Compute on one thread, as matrices are small: more take up to three times as long, and change the last digit.

    Outputs of one number need no matrices.
    """
    return nullcontext() if dimension == 1 else _libraries("blas").limit(limits=1)


def trees(rows: Rows) -> Score:
    """Learn boosted trees, which know no shape in advance; each of the rows is a round."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a second to load

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
    with threads.limit(limits=1):  # threads that wait for each other on busy cores take ten times as long
        model.fit(rows.x[training_rows], rows.ones[training_rows] > 0.0)

    def score(y: Floats) -> Floats:
        with threads.limit(limits=1):
            return np.asarray(model.decision_function(y), dtype=np.float64)

    return score


def cells(ordered: Floats, widths: Sequence[float]) -> list[Key]:
    """Give the keys of small cells in which nearly exact releases are looked up; coordinates are in order, (d, m)."""
    places = np.array([0.25, 0.5, 0.75]) * (ordered.shape[1] - 1)
    below = places.astype(np.int64)
    before = ordered[:, below]
    after = ordered[:, np.minimum(below + 1, ordered.shape[1] - 1)]
    lower, shift, upper = (before + (after - before) * (places - below)).T

    def of(width: float) -> Key:
        step = np.where(upper > lower, (upper - lower) * width, 1.0)
        return lambda y: np.floor(np.clip((y - shift) / step, -1e15, 1e15))

    return [of(width) for width in widths]


def table(rows: Rows, key: Key) -> Score:
    """Learn which keys come with which data set; the score is their largest log ratio, 0 for a new key."""
    keys = key(rows.x)
    balance = max(1.0, float(rows.ones.sum())) / max(1.0, float(rows.zeros.sum()))
    tables: list[tuple[Floats, Floats]] = []
    for j in range(keys.shape[1]):
        values, where = np.unique(keys[:, j], return_inverse=True)
        counts_of_one, zero = (np.bincount(where, weights, len(values)) for weights in (rows.ones, rows.zeros))
        tables.append((values, np.log((counts_of_one + 0.5) / (zero * balance + 0.5))))

    def score(y: Floats) -> Floats:
        best = np.zeros(len(y))
        looked_up = key(y)
        for j, (values, odds) in enumerate(tables):
            place = np.minimum(np.searchsorted(values, looked_up[:, j]), len(values) - 1)
            log_ratios = np.where(values[place] == looked_up[:, j], odds[place], 0.0)
            best = np.where(np.abs(log_ratios) > np.abs(best), log_ratios, best)
        return best

    return score


def unit_of(x: Floats) -> Floats:
    """Powers of two that bring outputs near the ends of the range of floats into its middle; 1 for all others."""
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
    return np.asarray(np.interp(np.asarray(at) * weights.sum(), below, x[order]), dtype=np.float64)


def _solve(centred: tuple[Floats, Floats], m: float, difference: Floats) -> Floats:
    """Covariance^-1 difference; only variances where there are too few rounds, m, for a matrix."""
    low, high = centred
    if len(difference) > m // 5:
        return np.asarray(difference / np.maximum(((low**2).sum(axis=0) + (high**2).sum(axis=0)) / m, FLOOR))
    values, vectors = np.linalg.eigh((low.T @ low + high.T @ high) / m)
    weights: Floats = vectors @ ((vectors.T @ difference) / np.maximum(values, FLOOR))
    return weights


def _spectrum(centred: Floats, weights: Floats, *, full: bool = True) -> tuple[Floats, Floats | None]:
    """Eigenvalues and eigenvectors of a covariance; variances where there are too few rounds for a matrix."""
    m = float(weights.sum())
    d = centred.shape[1]
    if d == 1 or not full or d > m // 10:
        return np.asarray(_mean(centred**2, weights), dtype=np.float64), None
    heavy = np.sqrt(weights)[:, None] * centred
    values, vectors = np.linalg.eigh(heavy.T @ heavy / m)
    return values, vectors


def _gaussian(z: Floats, weights: Floats, *, full: bool = True) -> Score:
    """Log density of the Gaussian that fits, without its constant."""
    mean = _mean(z, weights)
    values, vectors = _spectrum(z - mean, weights, full=full)
    values = np.maximum(values, FLOOR)
    half_log_determinant = 0.5 * float(np.log(values).sum())

    def log_density(y: Floats) -> Floats:
        moved = y - mean if vectors is None else (y - mean) @ vectors
        result: Floats = -0.5 * (moved**2 / values).sum(axis=1) - half_log_determinant
        return result

    return log_density
