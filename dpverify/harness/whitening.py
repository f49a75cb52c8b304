"""Division of trajectories by the factor of their covariance: in O(T) operations where the inverse is sparse.

The factor's inverse says how each step is predicted from those before it. In a tree, a step follows from one other
step, so that a row of the inverse has two entries that are not 0; they come from the exact covariance, not from the
kernel that is tested.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dpverify.harness.trajectory_kernels import divide_sparse
from dpverify.harness.trajectory_statistics import check_sample, cholesky_factor, whiten

Floats = NDArray[np.float64]

ROUNDING = 1e-13
"""Entries of the inverse below this, relative to the largest of their row, are rounding errors of 0."""

SPARSE = 16
"""A row of a sparse inverse has at most this many entries on average."""

_kept: list[tuple[Floats, Whitening]] = []


@dataclass(frozen=True)
class Whitening:
    """How to whiten trajectories of one covariance.

    Attributes
    ----------
    factor : ndarray, shape (T, T)
        Lower Cholesky factor.
    entries : tuple of ndarray or None
        Its inverse, row after row: starts, columns and values; None where that is not sparse.
    """

    factor: Floats
    entries: tuple[NDArray[np.int64], NDArray[np.int64], Floats] | None

    def whiten(self, sample: Floats) -> Floats:
        """Divide trajectories by the factor.

        Parameters
        ----------
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
        if self.entries is None:
            return whiten(self.factor, sample)
        check_sample(len(self.factor), sample)
        n, steps, d = sample.shape
        out = np.empty((steps, n, d))
        divide_sparse(*self.entries, np.ascontiguousarray(sample, dtype=np.float64), out)
        return out


def whitening(covariance: Floats) -> Whitening:
    """Factor a covariance; the last two are remembered, since all blocks of a check ask for the same one.

    Parameters
    ----------
    covariance : ndarray, shape (T, T)
        Covariance of one coordinate over the steps.

    Returns
    -------
    Whitening
        Its factor, and the inverse where that is sparse.

    Raises
    ------
    ValueError
        If the matrix is not square, finite, symmetric and positive definite.
    """
    for known, made in _kept:
        if np.array_equal(known, covariance):
            return made
    made = Whitening(factor := cholesky_factor(covariance), _sparse_inverse(factor))
    _kept[:] = [(covariance.copy(), made), *_kept[:1]]
    return made


def _sparse_inverse(factor: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats] | None:
    inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    present = np.abs(inverse) > ROUNDING * np.abs(inverse).max(axis=1, keepdims=True)
    if present.sum() > SPARSE * len(factor):
        return None
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return starts, np.nonzero(present)[1].astype(np.int64), inverse[present]
