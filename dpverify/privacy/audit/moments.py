"""Sums over the outputs of a mechanism, and whether they contradict a Gaussian law."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from dpverify.privacy.audit.records import AuditError, Floats

ODD = 8.0  # standard deviations from a Gaussian's skewness, kurtosis or equal variances that contradict the law

CACHED = 1 << 14  # numbers that are summed at once: few enough to stay in a core's own memory

LEAST = 1000  # outputs on each data set from which the law is looked at


Sides: TypeAlias = "tuple[ClassMoments, ClassMoments]"


class ClassMoments:
    """Sums over the outputs on one data set."""

    def __init__(self, centre: Floats) -> None:
        d = len(centre)
        self.centre, self.count = centre, 0
        self.first, self.products = np.zeros(d), np.zeros((d, d))
        self.third, self.fourth = np.zeros(d), np.zeros(d)

    def add(self, x: Floats) -> None:
        """Add outputs, shape (m, d)."""
        rows = max(1, CACHED // max(1, x.shape[1]))
        for begin in range(0, len(x), rows):
            y = x[begin : begin + rows] - self.centre
            square = y * y
            self.first += y.sum(axis=0)
            self.products += y.T @ y if len(self.first) > 1 else square.sum()  # threads for one number only wait
            self.third += np.einsum("ij,ij->j", square, y)
            self.fourth += np.einsum("ij,ij->j", square, square)
        self.count += len(x)

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

    def shape_scores(self) -> Floats:
        """Scores of skewness and excess kurtosis, shape (2, d), each about standard normal for Gaussians."""
        m, n = self.mean, self.count
        second = np.diag(self.products) / n
        third, fourth = self.third / n, self.fourth / n
        variance = second - m**2
        noisy = np.where(variance > 0.0, variance, math.inf)
        skewness = (third - 3.0 * m * second + 2.0 * m**3) / noisy**1.5
        kurtosis = (fourth - 4.0 * m * third + 6.0 * m**2 * second - 3.0 * m**4) / noisy**2 - 3.0
        scores = np.stack(
            [skewness * math.sqrt(n / 6.0), np.where(variance > 0.0, kurtosis, 0.0) * math.sqrt(n / 24.0)]
        )
        return np.asarray(scores, dtype=np.float64)


def added(sides: Sides | None, low: Floats, high: Floats) -> Sides:
    """Add outputs on each data set, shape (m, d), to their sums, whose centres are the means of the first."""
    sides = sides or (ClassMoments(low.mean(axis=0)), ClassMoments(high.mean(axis=0)))
    for moments, rows in zip(sides, (low, high), strict=True):
        moments.add(rows)
    return sides


def check_law(low: ClassMoments, high: ClassMoments) -> None:
    """Refuse outputs that contradict the law."""
    if min(low.count, high.count) < LEAST:
        return
    for which, moments in ((0, low), (1, high)):
        scores = moments.shape_scores()
        for words, row in zip(("skewness", "kurtosis"), scores, strict=True):
            j = int(np.argmax(np.abs(row)))
            if abs(row[j]) > ODD:
                raise _contradicted(
                    f"the {words} of output {j} on data set {which} is {abs(row[j]):.3g} standard errors off"
                )
    variances = [np.diag(m.scatter) / m.count for m in (low, high)]
    both = (variances[0] > 0.0) & (variances[1] > 0.0)
    if (variances[0] > 0.0).tolist() != (variances[1] > 0.0).tolist():
        raise _contradicted("an output has noise on one data set only")
    if both.any():
        ratio = np.where(both, variances[1], 1.0) / np.where(both, variances[0], 1.0)
        scores = np.log(ratio) / math.sqrt(2.0 / low.count + 2.0 / high.count)
        j = int(np.argmax(np.abs(scores)))
        if abs(scores[j]) > ODD:
            raise _contradicted(f"the variance of output {j} is {ratio[j]:.3g} times as large on data set 1")


def _contradicted(words: str) -> AuditError:
    return AuditError(f"law: gaussian: the outputs contradict it ({words}); use the law 'any'")
