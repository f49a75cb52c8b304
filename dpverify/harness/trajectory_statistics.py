"""Sufficient statistics of a sample of Gaussian trajectories, small whatever the sample is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special
from scipy.linalg import blas

from dpverify.harness.trajectory_kernels import tally

Floats = NDArray[np.float64]

GRID_END, GRID_CELLS = 8.0, 512
GRID = np.linspace(-GRID_END, GRID_END, GRID_CELLS + 1)
"""Where the marginal law of the whitened values is looked at."""
GRID_CDF: Floats = special.ndtr(GRID)


@dataclass(frozen=True)
class TrajectoryStatistics:
    """Sums over n replications of a trajectory of T steps in d coordinates.

    "Whitened" is after division by the Cholesky factor of the exact covariance: iid N(0, 1) where the law holds.

    Attributes
    ----------
    n : int
        Replications.
    gram : ndarray, shape (T, T)
        Inner products of the whitened rows, summed over replications and coordinates.
    sums : ndarray, shape (T, d)
        Sums of the whitened values over replications.
    coordinates : ndarray, shape (d, d)
        Inner products of the whitened coordinates, summed over replications and steps.
    counts : ndarray of int, shape (514,)
        Whitened values between the points of the grid.
    squares : ndarray, shape (T,)
        Sums of the squared values before whitening, over replications and coordinates.
    """

    n: int
    gram: Floats
    sums: Floats
    coordinates: Floats
    counts: NDArray[np.int64]
    squares: Floats

    def __add__(self, other: TrajectoryStatistics) -> TrajectoryStatistics:
        """Join the statistics of two blocks."""
        return TrajectoryStatistics(
            self.n + other.n,
            self.gram + other.gram,
            self.sums + other.sums,
            self.coordinates + other.coordinates,
            self.counts + other.counts,
            self.squares + other.squares,
        )


def cholesky_factor(covariance: Floats) -> Floats:
    """Lower Cholesky factor of a covariance matrix.

    Parameters
    ----------
    covariance : ndarray, shape (T, T)
        Covariance of one coordinate over the steps.

    Returns
    -------
    ndarray, shape (T, T)
        Lower triangular L with ``L @ L.T`` the covariance.

    Raises
    ------
    ValueError
        If the matrix is not square, finite, symmetric and positive definite.
    """
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.shape[0] == 0:
        raise ValueError(f"covariance must be a square matrix, got covariance.shape={covariance.shape}.")
    if not np.all(np.isfinite(covariance)):
        raise ValueError("covariance must be finite, got a NaN or an infinity.")
    if not np.allclose(covariance, covariance.T, rtol=1e-12, atol=0.0):
        raise ValueError("covariance must be symmetric.")
    try:
        factor: Floats = linalg.cholesky(covariance, lower=True)
    except linalg.LinAlgError as error:
        raise ValueError(f"covariance must be positive definite: {error}.") from error
    return factor


def whiten(factor: Floats, sample: Floats) -> Floats:
    """Divide trajectories by the Cholesky factor of their covariance.

    Parameters
    ----------
    factor : ndarray, shape (T, T)
        Lower Cholesky factor.
    sample : ndarray, shape (n, T, d)
        Trajectories.

    Returns
    -------
    ndarray, shape (T, n, d)
        Whitened values, step first.

    Raises
    ------
    ValueError
        If the sample has another shape, or a NaN or an infinity.
    """
    steps = factor.shape[0]
    check_sample(steps, sample)
    n, _, d = sample.shape
    rows = np.array(sample.transpose(1, 0, 2), dtype=np.float64, order="C").reshape(steps, n * d)
    # The transpose of L W = X, because the arrays are then in BLAS's own order: no copy, twice as fast.
    white: Floats = blas.dtrsm(1.0, np.ascontiguousarray(factor).T, rows.T, side=1, lower=0, overwrite_b=1).T
    return white.reshape(steps, n, d)


def check_sample(steps: int, sample: Floats) -> None:
    """Refuse a sample that has not the shape (n, T, d), or an entry that is not finite, with a ValueError."""
    if sample.ndim != 3 or sample.shape[1] != steps:
        raise ValueError(f"sample must have shape (n, {steps}, d), got sample.shape={sample.shape}.")
    if not np.all(np.isfinite(sample)):
        raise ValueError("sample must be finite, got a NaN or an infinity.")


def collect(white: Floats, squares: Floats) -> TrajectoryStatistics:
    """Sum up one block of whitened trajectories.

    Parameters
    ----------
    white : ndarray, shape (T, n, d)
        Whitened values.
    squares : ndarray, shape (T,)
        Sums of the squared values before whitening.

    Returns
    -------
    TrajectoryStatistics
        The block's sums.
    """
    steps, n, d = white.shape
    rows = white.reshape(steps, n * d)
    sums, coordinates, counts = np.zeros((steps, d)), np.zeros((d, d)), np.zeros(GRID.size + 1, dtype=np.int64)
    tally(np.ascontiguousarray(white), GRID_END, GRID_CELLS, sums, coordinates, counts)
    return TrajectoryStatistics(
        n=n, gram=rows @ rows.T, sums=sums, coordinates=coordinates, counts=counts, squares=squares
    )


def simulated_variance(statistics: TrajectoryStatistics) -> list[float]:
    """Mean square of the trajectory at each step.

    Parameters
    ----------
    statistics : TrajectoryStatistics
        Of a whole sample.

    Returns
    -------
    list of float, length T
        In squared units of the trajectory.
    """
    cells = statistics.n * statistics.sums.shape[1]
    return [value / cells for value in statistics.squares.tolist()]
