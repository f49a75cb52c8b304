"""The audit with a Gaussian law: one covariance, and a mean that depends on the data set.

Such a mechanism is exactly as private as N(0, 1) against N(mu, 1), where mu is the
Mahalanobis distance of the two means, because the log likelihood ratio is that linear
score. Take n outputs on each data set, and let S be the pooled covariance with
``nu = 2 n - 2`` degrees of freedom. Then Hotelling's statistic
``F = (n/2) diff^T S^-1 diff (nu - d + 1) / (nu d)`` has exactly the noncentral F
distribution with d and nu - d + 1 degrees of freedom and noncentrality ``(n/2) mu^2``.
Its distribution function decreases in mu, so that the mu at which it equals the
confidence is an exact lower bound. The exact trade-off of the Gaussian mechanism, which
increases in mu, converts this bound to epsilon. No direction is learned, so that no
outputs are needed for training.

The statistic only needs sums over the outputs. These sums also show whether the outputs contradict a Gaussian law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from dpverify.privacy.audit.records import AuditError, AuditFinding, Floats, number
from dpverify.privacy.audit.sampling import BLOCK_CALLS, BLOCK_FLOATS, Draws, chunks
from dpverify.privacy.audit.scores import one_blas_thread, unit_of
from dpverify.privacy.gaussian import epsilon_of, mu_of
from dpverify.privacy.noncentral_f import (
    MAX_NONCENTRALITY,
    MAX_TOTAL,
    cdf,
    lower_noncentrality,
)
from dpverify.shared_types import ReportProgress

# standard deviations of skewness, kurtosis or
# the ratio of variances that contradict the law
MAX_STANDARD_ERRORS = 8.0

BLOCK_NUMBERS = 1 << 14  # numbers summed at once: few enough for a core's cache

# largest length of a dot product for which BLAS starts no threads
MAX_SERIAL_LENGTH = 1 << 13

MIN_LAW_OUTPUTS = 1000  # fewest outputs on each data set for which the law is checked


Sides: TypeAlias = "tuple[ClassMoments, ClassMoments]"


class ClassMoments:
    """Sums over the outputs on one data set."""

    def __init__(self, centre: Floats) -> None:
        d = len(centre)
        self.centre = centre
        self.count = 0
        self.first, self.products = np.zeros(d), np.zeros((d, d))
        self.third, self.fourth = np.zeros(d), np.zeros(d)

    def add(self, x: Floats) -> None:
        """Add outputs, shape (m, d)."""
        if x.shape[1] == 1:
            self._add_numbers(x[:, 0])
        else:
            self._add_rows(x)
        self.count += len(x)

    def _add_numbers(self, x: Floats) -> None:
        """Add outputs of one number. Uses Python floats, because numpy calls on arrays of one number are slow."""
        centre, first, products, third, fourth = (
            sums.item()
            for sums in (
                self.centre,
                self.first,
                self.products,
                self.third,
                self.fourth,
            )
        )
        for begin in range(0, len(x), BLOCK_NUMBERS):
            y = x[begin : begin + BLOCK_NUMBERS] - centre
            square = y * y
            first += float(np.add.reduce(y))
            products += float(np.add.reduce(square))
            for at in range(0, len(y), MAX_SERIAL_LENGTH):
                part = square[at : at + MAX_SERIAL_LENGTH]
                third += float(part @ y[at : at + MAX_SERIAL_LENGTH])
                fourth += float(part @ part)
        self.first[0] = first
        self.products[0, 0] = products
        self.third[0] = third
        self.fourth[0] = fourth

    def _add_rows(self, x: Floats) -> None:
        rows = max(1, BLOCK_NUMBERS // max(1, x.shape[1]))
        for begin in range(0, len(x), rows):
            y = x[begin : begin + rows] - self.centre
            square = y * y
            self.first += y.sum(axis=0)
            self.products += y.T @ y
            self.third += np.einsum("ij,ij->j", square, y)
            self.fourth += np.einsum("ij,ij->j", square, square)

    @property
    def mean(self) -> Floats:
        """Mean, measured from the centre."""
        result: Floats = self.first / self.count
        return result

    @property
    def scatter(self) -> Floats:
        """Sum of the outer products of deviations from the mean."""
        result: Floats = self.products - self.count * np.outer(self.mean, self.mean)
        return result

    def deviations(self) -> list[float]:
        """Return the diagonal of the scatter matrix: sums of squared deviations from the mean."""
        numbers = zip(
            self.products.diagonal().tolist(), self.mean.tolist(), strict=True
        )
        return [product - self.count * (mean * mean) for product, mean in numbers]

    def shape_scores(self) -> list[tuple[float, float]]:
        """Return a skewness and a kurtosis score per number of an output, about standard normal for Gaussians."""
        sums = (self.first, self.products.diagonal(), self.third, self.fourth)
        return [
            _shape_scores(self.count, *numbers)
            for numbers in zip(*(x.tolist() for x in sums), strict=True)
        ]


def _shape_scores(
    n: int, first: float, products: float, third: float, fourth: float
) -> tuple[float, float]:
    """Return the scores from the sums over one number, in Python floats, which are faster than numpy calls."""
    mean = first / n
    square = products / n
    cube = third / n
    variance = square - mean * mean
    if not variance > 0.0:
        return 0.0, 0.0
    skewness = (
        (cube - 3.0 * mean * square + 2.0 * mean * mean * mean)
        / variance
        / math.sqrt(variance)
    )
    fourth_power = (
        fourth / n
        - 4.0 * mean * cube
        + 6.0 * mean * mean * square
        - 3.0 * mean * mean * mean * mean
    )
    kurtosis = fourth_power / variance / variance - 3.0
    return skewness * math.sqrt(n / 6.0), kurtosis * math.sqrt(n / 24.0)


def add_outputs(sides: Sides | None, low: Floats, high: Floats) -> Sides:
    """Return the sums with outputs added, shape (m, d) on each data set; the first outputs define the centres."""
    sides = sides or (
        ClassMoments(np.add.reduce(low) / len(low)),
        ClassMoments(np.add.reduce(high) / len(high)),
    )
    for moments, rows in zip(sides, (low, high), strict=True):
        moments.add(rows)
    return sides


def check_law(low: ClassMoments, high: ClassMoments) -> None:
    """Raise an AuditError if the outputs contradict the law."""
    if min(low.count, high.count) < MIN_LAW_OUTPUTS:
        return
    for which, moments in ((0, low), (1, high)):
        for words, scores in zip(
            ("skewness", "kurtosis"),
            zip(*moments.shape_scores(), strict=True),
            strict=True,
        ):
            j, size = _largest(scores)
            if size > MAX_STANDARD_ERRORS:
                raise _contradiction(
                    f"the {words} of output {j} on data set {which} is {size:.3g} standard errors off"
                )
    pairs = list(zip(low.deviations(), high.deviations(), strict=True))
    if any((a > 0.0) != (b > 0.0) for a, b in pairs):
        raise _contradiction("an output has noise on one data set only")
    counts = math.log(low.count / high.count)
    ratios = [math.log(b) - math.log(a) + counts if a > 0.0 else 0.0 for a, b in pairs]
    j, size = _largest(ratios)
    if size / math.sqrt(2.0 / low.count + 2.0 / high.count) > MAX_STANDARD_ERRORS:
        times = math.exp(min(ratios[j], 700.0))
        raise _contradiction(
            f"the variance of output {j} is {times:.3g} times as large on data set 1"
        )


def _largest(values: Sequence[float]) -> tuple[int, float]:
    """Return the index and the absolute value of the value that is farthest from 0."""
    sizes = [abs(value) for value in values]
    place = sizes.index(max(sizes))
    return place, sizes[place]


def _contradiction(words: str) -> AuditError:
    return AuditError(
        f"law: gaussian: the outputs contradict it ({words}); use the law 'any'"
    )


MOST_DIMENSIONS = 2000  # largest size of an output: the covariance is a matrix

# least outputs on each data set per block of
# a batched mechanism, which has a fixed cost
MIN_BLOCK_OUTPUTS = 10_000

# eigenvalue of the correlation matrix below which a direction counts as free of noise
MIN_EIGENVALUE = 1e-12

# difference of the means, in units of the outputs' spread, that exceeds rounding errors
MIN_MEAN_DIFFERENCE = 1e-9


class MuBound(NamedTuple):
    """A lower bound on mu."""

    mu: float  # infinite if the means differ in a direction without noise
    statistic: float  # Hotelling's statistic over its degrees of freedom
    rank: int  # number of directions with noise


def bound_mu(low: ClassMoments, high: ClassMoments, alpha: float) -> MuBound:
    """Return a lower confidence bound on mu; 0 if there are too few outputs."""
    freedom = low.count + high.count - 2
    distance, rank = _distance(low, high, max(1, freedom))
    if freedom >= 1 and math.isinf(distance):
        return MuBound(math.inf, math.inf, rank)
    if rank == 0 or freedom - rank + 1 < 1:
        return MuBound(0.0, 0.0, rank)
    weight = low.count * high.count / (low.count + high.count)
    squared = weight * distance
    statistic = squared * (freedom - rank + 1) / (freedom * rank)
    return MuBound(
        mu_of_statistic(statistic, rank, low.count, high.count, alpha), statistic, rank
    )


def _distance(low: ClassMoments, high: ClassMoments, freedom: int) -> tuple[float, int]:
    """Return the squared distance of the means, and the number of directions with noise.

    The distance is infinite if the means differ in a direction without noise.
    """
    if len(low.first) == 1:
        return _distance_of_numbers(low, high, freedom)
    difference = (high.centre - low.centre) + (high.mean - low.mean)
    scatter = (low.scatter + high.scatter) / freedom
    spread = np.sqrt(np.maximum(np.diag(scatter), 0.0))
    size = np.maximum(spread, np.abs(difference))
    unit = np.where(spread > 1e-7 * size, spread, np.where(size > 0.0, size, 1.0))
    values, vectors = np.linalg.eigh(scatter / np.outer(unit, unit))
    parts = vectors.T @ (difference / unit)
    silent = values <= MIN_EIGENVALUE
    rank = int((~silent).sum())
    if (np.abs(parts[silent]) > MIN_MEAN_DIFFERENCE).any():
        return math.inf, rank
    return float((parts[~silent] ** 2 / values[~silent]).sum()), rank


def _distance_of_numbers(
    low: ClassMoments, high: ClassMoments, freedom: int
) -> tuple[float, int]:
    """As :func:`_distance` for outputs of one number, in Python floats: numpy calls would dominate the running time."""
    difference = (high.centre.item() - low.centre.item()) + (
        high.mean.item() - low.mean.item()
    )
    scatter = (low.deviations()[0] + high.deviations()[0]) / freedom
    spread = math.sqrt(max(scatter, 0.0))
    size = max(spread, abs(difference))
    unit = spread if spread > 1e-7 * size else size or 1.0
    square = unit * unit
    value = scatter / square if square > 0.0 else 0.0
    part = difference / unit
    if value <= MIN_EIGENVALUE:
        return math.inf if abs(part) > MIN_MEAN_DIFFERENCE else 0.0, 0
    return part * part / value, 1


def mu_of_statistic(
    statistic: float, rank: int, low: int, high: int, alpha: float
) -> float:
    """Return a lower confidence bound on mu from Hotelling's statistic."""
    second = low + high - 1 - rank
    if second < 1:
        return 0.0
    return math.sqrt(
        lower_noncentrality(statistic, rank, second, alpha)
        * (low + high)
        / (low * high)
    )


def level_of_mu(mu: float, statistic: float, rank: int, n: int) -> float | None:
    """Return the probability of a statistic at least this large for a given mu; None if it cannot be computed."""
    second, noncentrality = 2 * n - 1 - rank, 0.5 * n * mu * mu
    if second < 1 or rank * statistic > MAX_TOTAL or noncentrality > MAX_NONCENTRALITY:
        return None
    return 1.0 - cdf(rank, second, noncentrality, statistic)


def sample(
    draws: Draws, n: int, delta: float, alpha: float, report: ReportProgress
) -> AuditFinding:
    """Draw n outputs on each data set and bound epsilon; after Ctrl-C, from the outputs drawn so far."""
    sides: Sides | None = None
    unit = np.ones(1)
    is_unscaled = True
    done = 0
    interrupted = False
    source = draws.source
    try:
        draws.probe()
        if source.dimension > MOST_DIMENSIONS:
            raise AuditError(
                f"law: gaussian: outputs have {source.dimension} numbers: must be at most {MOST_DIMENSIONS}"
            )
        limit = (
            BLOCK_FLOATS // (2 * source.dimension)
            if source.batched
            else BLOCK_CALLS // 2
        )
        size = max(
            1, min(max(-(-n // 10), MIN_BLOCK_OUTPUTS if source.batched else 1), limit)
        )
        for outputs, block_coins in draws.drawn(
            [2 * pairs for pairs in chunks(n, size)]
        ):
            split = block_coins.part(outputs)
            if sides is None:
                unit = unit_of(outputs)
                is_unscaled = bool((unit == 1.0).all())
            with one_blas_thread(source.dimension):
                sides = add_outputs(
                    sides,
                    *(split if is_unscaled else (split[0] / unit, split[1] / unit)),
                )
            done += len(outputs) // 2
            report(2 * done, 2 * n, "sampling")
    except KeyboardInterrupt:
        interrupted = True
    finding = AuditFinding(
        rule="likelihood ratio of two Gaussians with one covariance",
        trials=2 * done,
        mu=0.0,
        interrupted=interrupted,
    )
    if sides is None or done == 0:
        return finding
    check_law(*sides)
    with one_blas_thread(source.dimension):
        mu, statistic, rank = bound_mu(*sides, alpha)
    is_certain = rank == 0 or math.isinf(mu)

    def epsilon_at(level: float) -> float:
        return _epsilon(
            mu if is_certain else mu_of_statistic(statistic, rank, done, done, level),
            delta,
        )

    def level_at(epsilon: float) -> float | None:
        return (
            None
            if is_certain
            else level_of_mu(mu_of(epsilon, delta), statistic, rank, done)
        )

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
