"""Statistics of a sample of Gaussian trajectories, small whatever the sample is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.int64)
Pairs: TypeAlias = Literal["products", "signs"]
"""How pairs of steps are compared: by inner products, or, many times faster, by how often their signs are opposite."""

GRID_END, GRID_CELLS = 8.0, 512
GRID = np.linspace(-GRID_END, GRID_END, GRID_CELLS + 1)
"""Where the marginal law of the whitened values is looked at."""
GRID_CDF: Floats = special.ndtr(GRID)


@dataclass(frozen=True)
class TrajectoryStatistics:
    """Sums over n runs of T steps in d coordinates; whitened, their values are iid N(0, 1) under the exact law."""

    n: int  # replications
    lengths: Floats  # sums of the squared whitened values over replications
    sums: Floats  # sums of the whitened values over replications
    squares: Floats  # sums of the squared values before whitening, over replications and coordinates
    # inner products of the whitened steps, summed over replications and coordinates, and of the whitened coordinates,
    # summed over replications and steps; None where signs are compared
    gram: Floats | None
    coordinates: Floats | None
    # How often two whitened steps have opposite signs, over replications and coordinates, and two coordinates, over
    # replications and steps. The steps s < t, counted from 0, are at place ``t (t - 1) / 2 + s``; so are coordinates.
    # None where there are inner products.
    opposite: NDArray[np.int64] | None
    opposite_coordinates: NDArray[np.int64] | None
    counts: NDArray[np.int64]  # whitened values between the points of the grid, of a share of the replications

    def __add__(self, other: TrajectoryStatistics) -> TrajectoryStatistics:
        """Join the statistics of two blocks."""
        return TrajectoryStatistics(
            self.n + other.n,
            self.lengths + other.lengths,
            self.sums + other.sums,
            self.squares + other.squares,
            _joined(self.gram, other.gram),
            _joined(self.coordinates, other.coordinates),
            _joined(self.opposite, other.opposite),
            _joined(self.opposite_coordinates, other.opposite_coordinates),
            self.counts + other.counts,
        )


def _joined(some: NDArray[Number] | None, others: NDArray[Number] | None) -> NDArray[Number] | None:
    return None if some is None or others is None else some + others


def simulated_variance(statistics: TrajectoryStatistics) -> list[float]:
    """Mean square of the trajectory at each step."""
    cells = statistics.n * statistics.sums.shape[1]
    return [value / cells for value in statistics.squares.tolist()]
