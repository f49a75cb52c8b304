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
from typing import NamedTuple

import numpy as np

from dpverify.privacy.audit.draws import Draws, chunks
from dpverify.privacy.audit.moments import ClassMoments, Sides, added, check_law
from dpverify.privacy.audit.records import AuditError, AuditFinding, number
from dpverify.privacy.audit.sampling import BLOCK_CALLS, BLOCK_FLOATS
from dpverify.privacy.audit.scores import one_blas_thread, unit_of
from dpverify.privacy.gaussian import epsilon_of, mu_of
from dpverify.privacy.noncentral_f import REACH, SERIES, cdf, lower_noncentrality
from dpverify.shared_types import ReportProgress

MOST_DIMENSIONS = 2000  # numbers in an output, at most: the covariance is a matrix

FEWEST = 10_000  # outputs on each data set of a block, at least, where a call draws many: a block takes time by itself

NO_NOISE = 1e-12  # eigenvalue of the correlation matrix below which there is no noise in a direction

APART = 1e-9  # difference of the means, in units of the outputs' spread, that is more than rounding


class MuBound(NamedTuple):
    """Lower bound on mu."""

    mu: float  # the bound; infinite where the means differ in a direction without noise
    statistic: float  # hotelling's statistic over its degrees of freedom
    rank: int  # directions with noise


def bound_mu(low: ClassMoments, high: ClassMoments, alpha: float) -> MuBound:
    """Lower confidence bound on mu; 0 where there are too few outputs."""
    freedom = low.count + high.count - 2
    distance, rank = _distance(low, high, max(1, freedom))
    if freedom >= 1 and math.isinf(distance):
        return MuBound(math.inf, math.inf, rank)
    if rank == 0 or freedom - rank + 1 < 1:
        return MuBound(0.0, 0.0, rank)
    weight = low.count * high.count / (low.count + high.count)
    squared = weight * distance
    statistic = squared * (freedom - rank + 1) / (freedom * rank)
    return MuBound(mu_of_statistic(statistic, rank, low.count, high.count, alpha), statistic, rank)


def _distance(low: ClassMoments, high: ClassMoments, freedom: int) -> tuple[float, int]:
    """Squared distance of the means, infinite if they differ where there is no noise, and directions with noise."""
    if len(low.first) == 1:
        return _distance_of_numbers(low, high, freedom)
    difference = (high.centre - low.centre) + (high.mean - low.mean)
    scatter = (low.scatter + high.scatter) / freedom
    spread = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    size = np.maximum(spread, np.abs(difference))
    unit = np.where(spread > 1e-7 * size, spread, np.where(size > 0.0, size, 1.0))
    values, vectors = np.linalg.eigh(scatter / np.outer(unit, unit))
    parts = vectors.T @ (difference / unit)
    silent = values <= NO_NOISE
    rank = int((~silent).sum())
    if (np.abs(parts[silent]) > APART).any():
        return math.inf, rank
    return float((parts[~silent] ** 2 / values[~silent]).sum()), rank


def _distance_of_numbers(low: ClassMoments, high: ClassMoments, freedom: int) -> tuple[float, int]:
    """As :func:`_distance` for outputs of one number, in Python's floats: numpy's calls would take most of the time."""
    difference = (high.centre.item() - low.centre.item()) + (high.mean.item() - low.mean.item())
    scatter = (low.deviations()[0] + high.deviations()[0]) / freedom
    spread = math.sqrt(max(scatter, 0.0))
    size = max(spread, abs(difference))
    unit = spread if spread > 1e-7 * size else size or 1.0
    square = unit * unit
    value = scatter / square if square > 0.0 else 0.0
    part = difference / unit
    if value <= NO_NOISE:
        return math.inf if abs(part) > APART else 0.0, 0
    return part * part / value, 1


def mu_of_statistic(statistic: float, rank: int, low: int, high: int, alpha: float) -> float:
    """Lower confidence bound on mu from Hotelling's statistic."""
    second = low + high - 1 - rank
    if second < 1:
        return 0.0
    return math.sqrt(lower_noncentrality(statistic, rank, second, alpha) * (low + high) / (low * high))


def level_of_mu(mu: float, statistic: float, rank: int, n: int) -> float | None:
    """Find the chance of so large a statistic under a given mu; None where it is out of reach."""
    second, noncentrality = 2 * n - 1 - rank, 0.5 * n * mu * mu
    if second < 1 or rank * statistic > SERIES or noncentrality > REACH:
        return None
    return 1.0 - cdf(rank, second, noncentrality, statistic)


def sample(draws: Draws, n: int, delta: float, alpha: float, report: ReportProgress) -> AuditFinding:
    """Draw n outputs on each data set and bound epsilon. After Ctrl-C, from what was drawn."""
    sides: Sides | None = None
    unit = np.ones(1)
    plain = True
    done = 0
    interrupted = False
    source = draws.source
    try:
        draws.probe()
        if source.dimension > MOST_DIMENSIONS:
            raise AuditError(
                f"law: gaussian: outputs have {source.dimension} numbers: must be at most {MOST_DIMENSIONS}"
            )
        limit = BLOCK_FLOATS // (2 * source.dimension) if source.batched else BLOCK_CALLS // 2
        size = max(1, min(max(-(-n // 10), FEWEST if source.batched else 1), limit))
        for outputs, thrown in draws.drawn([2 * pairs for pairs in chunks(n, size)]):
            drawn = thrown.part(outputs)
            if sides is None:
                unit = unit_of(outputs)
                plain = bool((unit == 1.0).all())
            with one_blas_thread(source.dimension):
                sides = added(sides, *(drawn if plain else (drawn[0] / unit, drawn[1] / unit)))
            done += len(outputs) // 2
            report(2 * done, 2 * n, "sampling")
    except KeyboardInterrupt:
        interrupted = True
    finding = AuditFinding(
        rule="likelihood ratio of two Gaussians with one covariance", trials=2 * done, mu=0.0, interrupted=interrupted
    )
    if sides is None or done == 0:
        return finding
    check_law(*sides)
    with one_blas_thread(source.dimension):
        mu, statistic, rank = bound_mu(*sides, alpha)
    sure = rank == 0 or math.isinf(mu)

    def epsilon_at(level: float) -> float:
        return _epsilon(mu if sure else mu_of_statistic(statistic, rank, done, done, level), delta)

    def level_at(epsilon: float) -> float | None:
        return None if sure else level_of_mu(mu_of(epsilon, delta), statistic, rank, done)

    return finding._replace(
        epsilon=_epsilon(mu, delta),
        epsilon_at=epsilon_at,
        level_at=level_at,
        mu=mu,
        statistic=number(statistic),
        rank=rank,
    )


def _epsilon(mu: float, delta: float) -> float:
    return math.inf if math.isinf(mu) else epsilon_of(mu, delta) if mu > 0.0 else 0.0
