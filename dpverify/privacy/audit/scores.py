"""Scores: functions of an output that are large where the second data set is likely, learned from training rounds.

Each is a log likelihood ratio of a simple model, so that two can be compared; the bound holds for any score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpverify.privacy.audit.logistic import fitted
from dpverify.privacy.audit.records import Bits, Floats

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

Score = Callable[[Floats], Floats]

FLOOR = 1e-12
"""Smallest eigenvalue of a correlation matrix that is believed; below it there is no noise in that direction."""

KNOTS = (0.01, 0.03, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97, 0.99)
"""Quantiles of a coordinate at which a line may bend."""

BEND = 1.0  # penalty on the square of a bend, in units of the distance between the quartiles

FURTHEST = 20  # values of a coordinate at each end that count as the next ones

PARTS = 40  # quantiles between which a coordinate is counted

TREE_ROUNDS = 100_000  # rounds that trees are grown on, at most


class Learner(NamedTuple):
    """A way to learn a score."""

    name: str  # in words: "linear discriminant"
    learn: Callable[[Floats, Bits], Score]  # ``learn(outputs, bits) -> score``
    # Whether twice the rounds give the same score but for its errors. Otherwise thresholds that were found for scores
    # of half the rounds fit no others.
    steady: bool = True
    rare: bool = False  # whether it looks for what happens rarely, and learns from all training rounds, however many


def linear(x: Floats, b: Bits) -> Score:
    """Learn Fisher's linear discriminant; a direction in which the data differ without noise outweighs all others."""
    shift, scale = _standard(x)
    z = (x - shift) / scale
    low, high = z[~b].mean(axis=0), z[b].mean(axis=0)
    centred = z - np.where(b[:, None], high, low)
    weights = _solve(centred, high - low)
    middle = float(weights @ (low + high)) / 2.0
    slopes = weights / scale

    def score(y: Floats) -> Floats:
        result: Floats = (y - shift) @ slopes - middle
        return result

    return score


def quadratic(x: Floats, b: Bits, *, full: bool = True) -> Score:
    """Learn the likelihood ratio of two Gaussians, each with its own covariance: noise that depends on the data."""
    shift, scale = _standard(x)
    z = (x - shift) / scale
    low, high = (_gaussian(z[side], full=full) for side in (~b, b))

    def score(y: Floats) -> Floats:
        standard = (y - shift) / scale
        return high(standard) - low(standard)

    return score


def diagonal(x: Floats, b: Bits) -> Score:
    """Learn as :func:`quadratic`, with coordinates that are taken as independent: few numbers to learn in many."""
    return quadratic(x, b, full=False)


def shares(x: Floats, b: Bits) -> Score:
    """Learn, in each coordinate by itself, how often each data set falls between quantiles: any shape, heavy tails."""
    ends = np.quantile(x, np.linspace(0.0, 1.0, PARTS + 1)[1:-1], axis=0)
    tables = []
    for j in range(x.shape[1]):
        where = np.searchsorted(ends[:, j], x[:, j], "left")
        one, zero = (np.bincount(where[side], minlength=PARTS) + 1.0 for side in (b, ~b))
        tables.append(np.log(one / one.sum()) - np.log(zero / zero.sum()))

    def score(y: Floats) -> Floats:
        result = np.zeros(len(y))
        for j, table in enumerate(tables):
            result += table[np.searchsorted(ends[:, j], y[:, j], "left")]
        return result

    return score


def bent(x: Floats, b: Bits) -> Score:
    """Learn log odds that are a bent line in each coordinate, added up: several modes, tails that are not Gaussian."""
    m, d = x.shape
    shift, scale = np.median(x, axis=0), np.quantile(x, 0.75, axis=0) - np.quantile(x, 0.25, axis=0)
    scale = np.where(scale > 0.0, scale, _standard(x)[1])
    ends = np.sort((x - shift) / scale, axis=0)[[min(FURTHEST, m // 50), m - 1 - min(FURTHEST, m // 50)]]
    knots = np.quantile((x - shift) / scale, KNOTS, axis=0)

    def columns(y: Floats) -> Floats:
        z = np.clip((y - shift) / scale, *ends)
        bends = [np.maximum(z - knot, 0.0) for knot in knots]
        return np.concatenate([np.ones((len(y), 1)), z, *bends], axis=1)

    penalty = np.concatenate([np.full(1 + d, 0.01), np.full(d * len(KNOTS), BEND)])
    weights, _ = fitted(columns(x), b, penalty)
    return lambda y: np.asarray(columns(y) @ weights, dtype=np.float64)


def trees(x: Floats, b: Bits) -> Score:
    """Learn boosted trees, which know no shape in advance."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a second to load
    from threadpoolctl import ThreadpoolController

    threads = ThreadpoolController()  # it looks for libraries in all that is loaded: once, not at every block
    kept = slice(0, TREE_ROUNDS)
    model = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=16, min_samples_leaf=20, learning_rate=0.15, early_stopping=False, random_state=0
    )
    with threads.limit(limits=1):  # threads that wait for each other on busy cores take ten times as long
        model.fit(x[kept], b[kept])
        if x.shape[1] == 1:
            return _steps(model)

    def score(y: Floats) -> Floats:
        with threads.limit(limits=1):
            return np.asarray(model.decision_function(y), dtype=np.float64)

    return score


def _steps(model: HistGradientBoostingClassifier) -> Score:
    """Turn trees over one number into a table: between two of their thresholds all scores are the same."""
    nodes = np.concatenate([tree.nodes for (tree,) in model._predictors])  # no public name leads to the thresholds
    thresholds = np.unique(nodes["num_threshold"][nodes["is_leaf"] == 0])
    ends = np.append(thresholds, [np.inf, np.nan])  # the last number of each step; NaN has a way of its own
    heights = np.asarray(model.decision_function(ends[:, None]), dtype=np.float64)
    return lambda y: heights[np.searchsorted(ends, y[:, 0])]


def atoms(x: Floats, b: Bits) -> Score:
    """Learn which exact values come with which data set; the score is their largest log ratio, 0 for a new value."""
    return _table(x, b, lambda y: y)


def cells(x: Floats, b: Bits, width: float) -> Score:
    """Learn as :func:`atoms` which small cells of each coordinate come with which data set: nearly exact releases."""
    shift = np.median(x, axis=0)
    step = (np.quantile(x, 0.75, axis=0) - np.quantile(x, 0.25, axis=0)) * width
    step = np.where(step > 0.0, step, 1.0)
    return _table(x, b, lambda y: np.floor(np.clip((y - shift) / step, -1e15, 1e15)))


def _table(x: Floats, b: Bits, key: Callable[[Floats], Floats]) -> Score:
    keys = key(x)
    balance = max(1, int(b.sum())) / max(1, int((~b).sum()))
    tables: list[tuple[Floats, Floats]] = []
    for j in range(x.shape[1]):
        values, where = np.unique(keys[:, j], return_inverse=True)
        one = np.bincount(where[b], minlength=len(values))
        zero = np.bincount(where[~b], minlength=len(values))
        tables.append((values, np.log((one + 0.5) / (zero * balance + 0.5))))

    def score(y: Floats) -> Floats:
        best = np.zeros(len(y))
        looked_up = key(y)
        for j, (values, odds) in enumerate(tables):
            place = np.minimum(np.searchsorted(values, looked_up[:, j]), len(values) - 1)
            found = np.where(values[place] == looked_up[:, j], odds[place], 0.0)
            best = np.where(np.abs(found) > np.abs(best), found, best)
        return best

    return score


def unit_of(x: Floats) -> Floats:
    """Powers of two that bring outputs near the ends of the range of floats into its middle; 1 for all others."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    exponent = np.frexp(largest)[1]
    usual = (largest == 0.0) | ((exponent > -200) & (exponent < 200))
    return np.ldexp(1.0, np.where(usual, 0, np.minimum(exponent, 1023)))


def _standard(x: Floats) -> tuple[Floats, Floats]:
    shift, scale = x.mean(axis=0), x.std(axis=0)
    return shift, np.where(scale > 0.0, scale, 1.0)


def _solve(centred: Floats, difference: Floats) -> Floats:
    """Covariance^-1 difference; only variances where there are too few rows for a matrix."""
    m, d = centred.shape
    if d > m // 5:
        return np.asarray(difference / np.maximum((centred**2).mean(axis=0), FLOOR), dtype=np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred / m)
    weights: Floats = vectors @ ((vectors.T @ difference) / np.maximum(values, FLOOR))
    return weights


def _gaussian(z: Floats, *, full: bool = True) -> Score:
    """Log density of the Gaussian that fits, without its constant."""
    m, d = z.shape
    mean = z.mean(axis=0)
    centred = z - mean
    if not full or d > m // 10:
        values, vectors = (centred**2).mean(axis=0), None
    else:
        values, vectors = np.linalg.eigh(centred.T @ centred / m)
    values = np.maximum(values, FLOOR)
    rest = 0.5 * float(np.log(values).sum())

    def log_density(y: Floats) -> Floats:
        moved = y - mean if vectors is None else (y - mean) @ vectors
        result: Floats = -0.5 * (moved**2 / values).sum(axis=1) - rest
        return result

    return log_density
