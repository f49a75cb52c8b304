"""Whether a sample of trajectories follows a Gaussian law over all steps at once: seven exact tests that share alpha.

Whitened by the exact covariance, the rows, one per step, are iid standard normal vectors, whose lengths, inner
products, signs, sums and values have exact laws. A fault shows first in the row at which it enters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.harness.statistics.effects import correlation_power, opposite_signs_power, scale_power
from dpverify.harness.statistics.exact_tests import (
    TestOutcome,
    distribution_test,
    normal_test,
    opposite_signs_test,
    pair_scores,
    scale_test,
)
from dpverify.harness.statistics.pieces import Floats
from dpverify.harness.statistics.trajectory_sums import GRID_CDF, Pairs, TrajectoryStatistics

SHARE = 1.0 / 7.0  # part of alpha that each of the seven tests is given
SECONDS_PER_PAIR = {"products": 2e-11, "signs": 2e-12}
"""Core seconds that two values of different steps take, roughly: one product in a large matrix product, or one bit."""
SECONDS_PER_NUMBER = 3e-8  # of drawing and whitening a number; more than it took


def trajectory_tests(statistics: TrajectoryStatistics, alpha: float) -> list[TestOutcome]:
    """Test in all seven ways; pairs are left out where there is only one step or coordinate."""
    steps, d = statistics.sums.shape
    n = statistics.n
    part = alpha * SHARE
    along = statistics.lengths.sum(axis=1)
    across = statistics.lengths.sum(axis=0)
    means = statistics.sums.ravel() / np.sqrt(n)
    outcomes = [
        scale_test("scale of all", np.array([along.sum()]), n * d * steps, part, lambda _: "all steps together"),
        scale_test("scale of a step", along, n * d, part, lambda i: f"t={i + 1}"),
        scale_test("scale of a coordinate", across, n * steps, part, lambda i: f"coordinate {i + 1}"),
        normal_test("mean", means, part, lambda i: f"t={i // d + 1}, coordinate {i % d + 1}"),
    ]
    if steps > 1:
        outcomes.append(_pairs("pair of steps", "t", statistics.gram, statistics.opposite, n * d, part))
    if d > 1:
        products = statistics.coordinates
        opposite = statistics.opposite_coordinates
        outcomes.append(_pairs("pair of coordinates", "coordinate", products, opposite, n * steps, part))
    outcomes.append(distribution_test("marginal law", statistics.counts, GRID_CDF, part))
    return outcomes


def _pairs(
    name: str, what: str, products: Floats | None, opposite: NDArray[np.int64] | None, values: int, alpha: float
) -> TestOutcome:
    """Test pairs of rows of so many values, by inner products or by opposite signs."""
    if products is not None:
        scores, first, second = pair_scores(products)
        return normal_test(name, scores, alpha, lambda i: f"{what} {first[i] + 1} and {what} {second[i] + 1}")
    if opposite is None:
        raise ValueError(f"{name}: statistics must have inner products or opposite signs, got neither.")

    def label(place: int) -> str:
        later = (math.isqrt(8 * place + 1) + 1) // 2
        return f"{what} {place - later * (later - 1) // 2 + 1} and {what} {later + 1}"

    return opposite_signs_test(name, opposite, values, alpha, label)


@dataclass(frozen=True)
class TrajectoryEffect:
    """Faults of a trajectory that must be seen, each wherever it is declared."""

    rows: int  # steps T
    columns: int  # coordinates d
    scale: float | None = None  # all standard deviations this many times their value
    row_scale: float | None = None  # one whitened row's standard deviation this many times its value
    correlation: float | None = None  # one pair of whitened rows with this correlation
    pairs: Pairs = "products"  # how pairs are compared, as the judge is told

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ValueError(f"rows and columns must be at least 1, got rows={self.rows}, columns={self.columns}.")
        if self.scale is None and self.row_scale is None and self.correlation is None:
            raise ValueError("an effect must declare scale, row_scale or correlation, got none of them.")
        for name, value in (("scale", self.scale), ("row_scale", self.row_scale)):
            if value is not None and (value <= 0.0 or value == 1.0):
                raise ValueError(f"{name} must be above 0 and not 1, got {name}={value}.")
        if self.correlation is not None and (not abs(self.correlation) < 1.0 or self.correlation == 0.0):
            raise ValueError(f"correlation must lie in (-1, 1) and not be 0, got correlation={self.correlation}.")
        if self.correlation is not None and self.rows < 2:
            raise ValueError(f"correlation needs at least 2 rows, got rows={self.rows}.")

    @property
    def text(self) -> str:
        """The faults in words."""
        parts = []
        if self.scale is not None:
            parts.append(f"all standard deviations times {self.scale:g}")
        if self.row_scale is not None:
            parts.append(f"the standard deviation of one whitened step times {self.row_scale:g}")
        if self.correlation is not None:
            parts.append(f"one pair of whitened steps with correlation {self.correlation:g}")
        return ", or ".join(parts)

    @property
    def values(self) -> int:
        """Floats that one replication takes."""
        return self.rows * self.columns

    @property
    def seconds(self) -> float:
        """Core seconds that one replication takes, roughly; whitening and the comparison of all steps count."""
        return (SECONDS_PER_NUMBER + SECONDS_PER_PAIR[self.pairs] * self.rows) * self.values

    def power(self, n: int, alpha: float) -> float:
        """Power against the hardest of the declared faults, each by the one test made for it."""
        part = alpha * SHARE
        powers = []
        if self.scale is not None:
            powers.append(scale_power(self.scale, n * self.values, part))
        if self.row_scale is not None:
            powers.append(scale_power(self.row_scale, n * self.columns, part / self.rows))
        if self.correlation is not None:
            power = correlation_power if self.pairs == "products" else opposite_signs_power
            powers.append(power(self.correlation, n * self.columns, part / (self.rows * (self.rows - 1) // 2)))
        return min(powers)
