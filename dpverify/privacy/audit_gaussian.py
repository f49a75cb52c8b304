r"""The audit where the law is given: Gaussian, with one covariance and a mean that depends on the data set.

Such a mechanism is exactly as private as N(0, 1) against N(mu, 1), mu the Mahalanobis distance of the two means (the
log likelihood ratio is that linear score). With n outputs on each data set and S the pooled covariance of
``nu = 2 n - 2`` degrees of freedom, Hotelling's statistic ``F = (n/2) diff^T S^-1 diff (nu - d + 1) / (nu d)`` is
exactly noncentral F with d and nu - d + 1 degrees of freedom and noncentrality ``(n/2) mu^2``. Its distribution
function falls in mu, so the mu at which it reaches the confidence is an exact lower bound; the exact trade-off of the
Gaussian mechanism, increasing in mu, turns it into epsilon. No direction is learned, so no sample is spent on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from dpverify.privacy.audit_moments import Moments, check_law
from dpverify.privacy.audit_records import AuditError, Finding, Report
from dpverify.privacy.audit_sampling import BLOCK_CALLS, BLOCK_FLOATS, Source
from dpverify.privacy.audit_scores import unit_of
from dpverify.privacy.gaussian import epsilon_of

Floats = NDArray[np.float64]
Point: TypeAlias = tuple[float, float]

MOST_DIMENSIONS = 2000
"""Numbers in an output, at most: the covariance is a matrix."""

NO_NOISE = 1e-12
"""Eigenvalue of the correlation matrix below which there is no noise in a direction."""

APART = 1e-9
"""Difference of the means, in units of the outputs' spread, that is more than rounding."""

SERIES = 1e6
"""Noncentrality up to which the distribution function is computed."""


class MuBound(NamedTuple):
    """Lower bound on mu.

    Attributes
    ----------
    mu : float
        The bound; infinite where the means differ in a direction without noise.
    statistic : float
        Hotelling's statistic over its degrees of freedom.
    rank : int
        Directions with noise.
    """

    mu: float
    statistic: float
    rank: int


def bound_mu(low: Moments, high: Moments, alpha: float) -> MuBound:
    """Lower confidence bound on mu.

    Parameters
    ----------
    low, high : Moments
        Of the outputs on each data set.
    alpha : float
        Chance of a bound above the truth.

    Returns
    -------
    MuBound
        0 where there are too few outputs.
    """
    freedom = low.count + high.count - 2
    difference = (high.centre - low.centre) + (high.mean - low.mean)
    scatter = (low.scatter + high.scatter) / max(1, freedom)
    spread = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    size = np.maximum(spread, np.abs(difference))
    unit = np.where(spread > 1e-7 * size, spread, np.where(size > 0.0, size, 1.0))
    values, vectors = np.linalg.eigh(scatter / np.outer(unit, unit))
    parts = vectors.T @ (difference / unit)
    silent = values <= NO_NOISE
    if freedom >= 1 and bool((np.abs(parts[silent]) > APART).any()):
        return MuBound(math.inf, math.inf, int((~silent).sum()))
    rank = int((~silent).sum())
    if rank == 0 or freedom - rank + 1 < 1:
        return MuBound(0.0, 0.0, rank)
    each = low.count * high.count / (low.count + high.count)
    squared = each * float((parts[~silent] ** 2 / values[~silent]).sum())
    statistic = squared * (freedom - rank + 1) / (freedom * rank)
    return MuBound(mu_of_statistic(statistic, rank, low.count, high.count, alpha), statistic, rank)


def mu_of_statistic(statistic: float, rank: int, low: int, high: int, alpha: float) -> float:
    """Lower confidence bound on mu from Hotelling's statistic.

    Parameters
    ----------
    statistic : float
        F, at least 0.
    rank : int
        Directions with noise, at least 1.
    low, high : int
        Outputs on each data set.
    alpha : float
        Chance of a bound above the truth.

    Returns
    -------
    float
        At least 0.
    """
    second = low + high - 1 - rank
    if second < 1:
        return 0.0
    return math.sqrt(noncentrality(statistic, rank, second, alpha) * (low + high) / (low * high))


def noncentrality(statistic: float, first: int, second: int, alpha: float) -> float:
    """Lower confidence bound on the noncentrality of an F statistic.

    Beyond the reach of the series, the bound comes from numerator and denominator apart, alpha/2 each. It excludes
    nothing that the exact one does not, so that it may take over at any value of the statistic.

    Parameters
    ----------
    statistic : float
        F, at least 0.
    first, second : int
        Degrees of freedom of numerator and denominator.
    alpha : float
        Chance of a bound above the truth.

    Returns
    -------
    float
        At least 0.
    """
    total = first * statistic
    if total > SERIES:
        least = 2.0 * float(special.gammaincinv(second / 2.0, alpha / 2.0)) / second
        root = math.sqrt(total * least) - math.sqrt(2.0 * float(special.gammainccinv(first / 2.0, alpha / 2.0)))
        return max(0.0, root) ** 2

    def excess(value: float) -> float:
        return float(special.ncfdtr(first, second, value, statistic)) - (1.0 - alpha)

    low, above = 0.0, excess(0.0)
    if above <= 0.0:
        return 0.0
    high, below = total + 1.0, excess(total + 1.0)
    while below > 0.0:
        low, above, high = high, below, 2.0 * high
        below = excess(high)
    return _falling_root(excess, (low, above), (high, below), 1e-9 * high)


def _falling_root(of: Callable[[float], float], low: Point, high: Point, close: float) -> float:
    """Find the root of a falling function between two points by false position, halving an end that stays.

    Returns the lower end, where the function is not below 0. (scipy.optimize takes longer to load than the audit.)
    """
    (a, above), (b, below), stayed = low, high, 0
    while b - a > close:
        middle = (a * -below + b * above) / (above - below)
        middle = min(max(middle, a + 0.5 * close), b - 0.5 * close)
        value = of(middle)
        if value >= 0.0:
            a, above = middle, value
            below, stayed = (0.5 * below, 1) if stayed == 1 else (below, 1)
        else:
            b, below = middle, value
            above, stayed = (0.5 * above, -1) if stayed == -1 else (above, -1)
    return a


def sample(source: Source, n: int, delta: float, alpha: float, coins: Generator, report: Report) -> Finding:
    """Draw n outputs on each data set and bound epsilon.

    Parameters
    ----------
    source : Source
        The mechanism on its data sets.
    n : int
        Outputs on each data set.
    delta, alpha : float
        At which epsilon is bounded; chance of a bound above the truth.
    coins : numpy.random.Generator
        Shuffles the order in which the data sets are used.
    report : callable
        Told ``(done, all, label)`` after each block.

    Returns
    -------
    Finding
        After Ctrl-C, from what was drawn.

    Raises
    ------
    AuditError
        If the mechanism misbehaves, its outputs are too long, or they contradict the law.
    """
    sides: tuple[Moments, Moments] | None = None
    unit, plain = np.ones(1), True
    done, interrupted = 0, False
    try:
        source.probe()
        if source.dimension > MOST_DIMENSIONS:
            raise AuditError(
                f"law: gaussian: outputs have {source.dimension} numbers: must be at most {MOST_DIMENSIONS}"
            )
        most = BLOCK_FLOATS // (2 * source.dimension) if source.batched else BLOCK_CALLS // 2
        size = max(1, min(-(-n // 10), most))
        while done < n:
            pairs = min(size, n - done)
            drawn = source.draw_pairs(pairs, coins)
            if sides is None:
                unit = unit_of(np.concatenate(drawn))
                plain = bool((unit == 1.0).all())
            outputs = drawn if plain else (drawn[0] / unit, drawn[1] / unit)
            if sides is None:
                sides = Moments(outputs[0].mean(axis=0)), Moments(outputs[1].mean(axis=0))
            for moments, rows in zip(sides, outputs, strict=True):
                moments.add(rows)
            done += pairs
            report(2 * done, 2 * n, "sampling")
    except KeyboardInterrupt:
        interrupted = True
    found = Finding(
        rule="likelihood ratio of two Gaussians with one covariance", trials=2 * done, mu=0.0, interrupted=interrupted
    )
    if sides is None or done == 0:
        return found
    check_law(*sides)
    mu, statistic, rank = bound_mu(*sides, alpha)

    def epsilon_at(level: float) -> float:
        other = mu if math.isinf(mu) or rank == 0 else mu_of_statistic(statistic, rank, done, done, level)
        return math.inf if math.isinf(other) else epsilon_of(other, delta) if other > 0.0 else 0.0

    return found._replace(epsilon=epsilon_at(alpha), epsilon_at=epsilon_at, mu=mu, statistic=statistic, rank=rank)
