"""Sums over the outputs of a mechanism, and whether they contradict a Gaussian law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from dpverify.privacy.audit.records import AuditError, Floats

ODD = 8.0  # standard deviations from a Gaussian's skewness, kurtosis or equal variances that contradict the law

CACHED = 1 << 14  # numbers that are summed at once: few enough to stay in a core's own memory

BLAS_ALONE = 1 << 13  # numbers of a dot product, at most, for which BLAS starts no threads

LEAST = 1000  # outputs on each data set from which the law is looked at


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
        """Add outputs of one number; in Python's floats, as numpy's calls on arrays of one number take long."""
        centre, first, products, third, fourth = (
            sums.item() for sums in (self.centre, self.first, self.products, self.third, self.fourth)
        )
        for begin in range(0, len(x), CACHED):
            y = x[begin : begin + CACHED] - centre
            square = y * y
            first += float(np.add.reduce(y))
            products += float(np.add.reduce(square))
            for at in range(0, len(y), BLAS_ALONE):
                part = square[at : at + BLAS_ALONE]
                third += float(part @ y[at : at + BLAS_ALONE])
                fourth += float(part @ part)
        self.first[0] = first
        self.products[0, 0] = products
        self.third[0] = third
        self.fourth[0] = fourth

    def _add_rows(self, x: Floats) -> None:
        rows = max(1, CACHED // max(1, x.shape[1]))
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
        """Sum of the products of deviations from the mean."""
        result: Floats = self.products - self.count * np.outer(self.mean, self.mean)
        return result

    def deviations(self) -> list[float]:
        """Sum of the squared deviations of each number of an output from its mean: the diagonal of the scatter."""
        numbers = zip(self.products.diagonal().tolist(), self.mean.tolist(), strict=True)
        return [product - self.count * (mean * mean) for product, mean in numbers]

    def shape_scores(self) -> list[tuple[float, float]]:
        """Scores of skewness and excess kurtosis of each number of an output, about standard normal for Gaussians."""
        sums = (self.first, self.products.diagonal(), self.third, self.fourth)
        return [_shape_scores(self.count, *numbers) for numbers in zip(*(x.tolist() for x in sums), strict=True)]


def _shape_scores(n: int, first: float, products: float, third: float, fourth: float) -> tuple[float, float]:
    """Scores from the sums over one number; in Python's floats, whose arithmetic takes less time than numpy's calls."""
    mean = first / n
    square = products / n
    cube = third / n
    variance = square - mean * mean
    if not variance > 0.0:
        return 0.0, 0.0
    skewness = (cube - 3.0 * mean * square + 2.0 * mean * mean * mean) / variance / math.sqrt(variance)
    fourth_power = fourth / n - 4.0 * mean * cube + 6.0 * mean * mean * square - 3.0 * mean * mean * mean * mean
    kurtosis = fourth_power / variance / variance - 3.0
    return skewness * math.sqrt(n / 6.0), kurtosis * math.sqrt(n / 24.0)


def added(sides: Sides | None, low: Floats, high: Floats) -> Sides:
    """Add outputs on each data set, shape (m, d), to their sums, whose centres are the means of the first."""
    sides = sides or (ClassMoments(np.add.reduce(low) / len(low)), ClassMoments(np.add.reduce(high) / len(high)))
    for moments, rows in zip(sides, (low, high), strict=True):
        moments.add(rows)
    return sides


def check_law(low: ClassMoments, high: ClassMoments) -> None:
    """Refuse outputs that contradict the law."""
    if min(low.count, high.count) < LEAST:
        return
    for which, moments in ((0, low), (1, high)):
        for words, scores in zip(("skewness", "kurtosis"), zip(*moments.shape_scores(), strict=True), strict=True):
            j, size = _largest(scores)
            if size > ODD:
                raise _contradicted(f"the {words} of output {j} on data set {which} is {size:.3g} standard errors off")
    pairs = list(zip(low.deviations(), high.deviations(), strict=True))
    if any((a > 0.0) != (b > 0.0) for a, b in pairs):
        raise _contradicted("an output has noise on one data set only")
    counts = math.log(low.count / high.count)
    ratios = [math.log(b) - math.log(a) + counts if a > 0.0 else 0.0 for a, b in pairs]
    j, size = _largest(ratios)
    if size / math.sqrt(2.0 / low.count + 2.0 / high.count) > ODD:
        times = math.exp(min(ratios[j], 700.0))
        raise _contradicted(f"the variance of output {j} is {times:.3g} times as large on data set 1")


def _largest(values: Sequence[float]) -> tuple[int, float]:
    """Find the value that is farthest from 0: its place and its size."""
    sizes = [abs(value) for value in values]
    place = sizes.index(max(sizes))
    return place, sizes[place]


def _contradicted(words: str) -> AuditError:
    return AuditError(f"law: gaussian: the outputs contradict it ({words}); use the law 'any'")
