"""Division of trajectories by the factor of their covariance: in O(T) operations where the inverse is sparse.

The inverse predicts each step from those before it: in a tree from one other, so that a row has two entries that are
not 0. They come from the exact covariance, not from the kernel that is tested.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from dpverify.harness.statistics.pieces import Floats
from dpverify.harness.statistics.trajectory_kernels import divide_sparse

Entries = tuple[NDArray[np.int64], NDArray[np.int64], Floats]

ROUNDING = 1e-13  # entries of the inverse below this, relative to the largest of their row, are rounding errors of 0
SPARSE = 16  # a row of a sparse inverse has at most this many entries on average

_kept: list[tuple[Floats, Floats, Whitening]] = []


@dataclass(frozen=True)
class Whitening:
    """How to whiten trajectories of one covariance."""

    factor: Floats  # lower Cholesky factor
    entries: Entries | None  # its inverse, row after row: starts, columns and values; None where that is not sparse

    def whiten(self, sample: Floats) -> Floats:
        """Divide trajectories by the factor. Whitened values; NaN where the trajectories are not finite."""
        self.check(sample)
        out = np.empty(sample.shape)
        self.whiten_into(np.ascontiguousarray(sample, dtype=np.float64), out)
        return out

    def whiten_into(self, sample: Floats, out: Floats) -> None:
        """Write the whitened values into ``out``; both contiguous, of shape (n, T, d)."""
        if self.entries is None:
            out[:] = _solve(self.factor, sample)
        else:
            divide_sparse(*self.entries, sample, out)

    def step(self, sample: Floats, t: int) -> Floats:
        """Whiten one step."""
        if self.entries is None:
            return self.whiten(sample)[:, t]
        starts, places, weights = self.entries
        row = slice(starts[t], starts[t + 1])
        whitened: Floats = np.tensordot(sample[:, places[row]], weights[row], axes=(1, 0))
        return whitened

    def check(self, sample: Floats) -> None:
        """Refuse a sample that has not the shape (n, T, d), with a ValueError."""
        steps = len(self.factor)
        if sample.ndim != 3 or sample.shape[1] != steps:
            raise ValueError(f"sample must have shape (n, {steps}, d), got sample.shape={sample.shape}.")


def whitening(covariance: Floats) -> Whitening:
    """Factor a covariance; the last two are remembered, since all blocks of a check ask for the same one."""
    frozen = not covariance.flags.writeable
    for remembered, values, result in _kept:
        if (frozen and remembered is covariance) or np.array_equal(values, covariance):
            return result
    result = Whitening(factor := cholesky_factor(covariance), _sparse_inverse(factor))
    values = covariance.copy()
    _kept[:] = [(covariance if frozen else values, values, result), *_kept[:1]]
    return result


def cholesky_factor(covariance: Floats) -> Floats:
    """Lower Cholesky factor of a covariance matrix. Lower triangular L with ``L @ L.T`` the covariance."""
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


def _sparse_inverse(factor: Floats) -> Entries | None:
    inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    present = np.abs(inverse) > ROUNDING * np.abs(inverse).max(axis=1, keepdims=True)
    np.fill_diagonal(present, True)
    if present.sum() > SPARSE * len(factor):
        return None
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return starts, np.nonzero(present)[1].astype(np.int64), inverse[present]


def _solve(factor: Floats, sample: Floats) -> Floats:
    """Divide by a factor whose inverse is dense."""
    n, steps, d = sample.shape
    rows = np.array(sample.transpose(1, 0, 2), dtype=np.float64, order="C").reshape(steps, n * d)
    # The transpose of L W = X, because the arrays are then in BLAS's own order: no copy, twice as fast.
    white: Floats = blas.dtrsm(1.0, np.ascontiguousarray(factor).T, rows.T, side=1, lower=0, overwrite_b=1).T
    return white.reshape(steps, n, d).transpose(1, 0, 2)
