"""Loops over a sample of trajectories: division by a sparse factor, and what is summed of every whitened value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector

TOGETHER = 8
"""Replications that are whitened side by side: together they stay in a near cache, and fill whole cache lines."""


@kernel
def divide_sparse(
    starts: Indices, places: Indices, weights: Vector, sample: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Multiply each trajectory with a sparse matrix, the inverse of a factor, and put the steps first.

    Parameters
    ----------
    starts : (T + 1,) array of int
        Row t of the matrix has the entries ``starts[t]`` to ``starts[t + 1] - 1``.
    places, weights : (entries,) array
        Column and value of each entry.
    sample : (n, T, d) array of float
        Trajectories.
    out : (T, n, d) array of float
        Receives the products.
    """
    n, T, d = sample.shape
    for begin in range(0, n, TOGETHER):
        for t in range(T):
            for i in range(begin, min(begin + TOGETHER, n)):
                for j in range(d):
                    out[t, i, j] = 0.0
                for entry in range(starts[t], starts[t + 1]):
                    weight, s = weights[entry], places[entry]
                    for j in range(d):
                        out[t, i, j] += weight * sample[i, s, j]


@kernel
def tally(
    white: NDArray[np.float64], end: float, cells: int, sums: Matrix, coordinates: Matrix, counts: Indices
) -> None:
    """Add up whitened values by step and coordinate, their products by pair of coordinates, and their places on a grid.

    Parameters
    ----------
    white : (T, n, d) array of float
        Whitened values, all finite.
    end : float
        The grid goes from -end to end.
    cells : int
        Cells between its points. A value's cell is arithmetic: 0 up to the first point, cells + 1 beyond the last.
    sums : (T, d) array of float
        Receives sums over replications.
    coordinates : (d, d) array of float
        Receives inner products of coordinates.
    counts : (cells + 2,) array of int
        Receives how many values lie in each cell.
    """
    T, n, d = white.shape
    finer = cells / (2.0 * end)
    for t in range(T):
        for i in range(n):
            for j in range(d):
                x = white[t, i, j]
                sums[t, j] += x
                place = 0 if x <= -end else cells + 1
                if abs(x) <= end:
                    place = math.ceil((x + end) * finer)
                counts[place] += 1
            for a in range(d):
                x = white[t, i, a]
                for b in range(d):
                    coordinates[a, b] += x * white[t, i, b]
