"""The loss of ``problems.logistic`` on sparse rows: what an example costs is what its row has.

The gradient of an example is ``slope x_i`` and the regularizer's, which is the same for all of them: the kernel of an
example adds the first to what another has written for all. The constants are those of dense rows.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels.csr import Columns, Common, CsrArrays, SparseGradient, add_row, row_product
from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.typing import Vector
from dpverify.problems import logistic_bounds
from dpverify.problems.logistic import psi, psi_slope, slope
from dpverify.problems.rows import radius_of
from dpverify.problems.sparse.rows import CsrRows
from dpverify.problems.sparse.scaling import norm_bounds, sparse_rows_within


@kernel
def loss_and_gradient(rows: CsrArrays, y: Vector, w: Vector, lam: float, out: Vector) -> float:
    """Give F(w) and write its gradient into ``out``, in one pass over the rows. Shapes: ``w``, ``out`` (d,)."""
    starts, columns, values = rows
    total = 0.0
    penalty = 0.0
    n = y.shape[0]
    out[:] = 0.0
    for i in range(n):
        s = 1.0 - 2.0 * y[i]
        z = s * row_product(starts, columns, values, i, w)
        e = math.exp(-abs(z))
        total += max(z, 0.0) + math.log1p(e)  # log(1 + exp(z))
        add_row(starts, columns, values, i, s * (1.0 if z >= 0.0 else e) / (1.0 + e), out)
    for j in range(w.shape[0]):
        penalty += psi(w[j])
        out[j] = out[j] / n + lam * psi_slope(w[j])
    mean: float = total / n
    return mean + lam * penalty


@inner_kernel
def add_example(w: Vector, columns: Columns, values: Vector, y: float, out: Vector) -> None:
    """Add the gradient of one example's loss, without the regularizer, to ``out``; a ``SparseGradient``."""
    z = 0.0
    for k in range(columns.shape[0]):
        z += values[k] * w[columns[k]]
    steep = slope(z, y)
    for k in range(columns.shape[0]):
        out[columns[k]] += steep * values[k]


@inner_kernel
def write_penalty(weight: float, w: Vector, out: Vector) -> None:
    """Write the regularizer's gradient at ``w``, times its weight, into ``out``; a ``Common``."""
    if weight == 0.0:
        for j in range(out.shape[0]):
            out[j] = 0.0
        return
    for j in range(out.shape[0]):
        out[j] = weight * psi_slope(w[j])


class SparseLogistic:
    """Nonconvex-regularized logistic regression on sparse rows; what ``LogisticRegression`` is on dense ones.

    Parameters
    ----------
    x : CsrRows
        n rows of d columns.
    y : (n,) array of float
        Labels, 0 or 1; a ValueError if there are others.
    lam, radius
        As of ``LogisticRegression``.
    """

    def __init__(self, x: CsrRows, y: Vector, lam: float = 0.001, radius: float | None = None) -> None:
        if y.shape != (len(x),) or not len(x):
            raise ValueError(f"y must have shape ({max(len(x), 1)},), got shape {y.shape}.")
        if not ((y == 0.0) | (y == 1.0)).all():
            raise ValueError(f"labels must be 0 or 1, got {np.unique(y)[:5].tolist()}.")
        self.x, self.y = x, np.ascontiguousarray(y, dtype=np.float64)
        self.lam, self.radius = float(lam), radius_of(x, radius, norm_bounds, sparse_rows_within)
        self.start = np.zeros(x.width)
        self.lipschitz = logistic_bounds.lipschitz(self.radius, self.lam, x.width)
        self.smoothness = logistic_bounds.smoothness(self.radius, self.lam)
        self.gap = logistic_bounds.gap_at_zero()

    @property
    def example_gradient(self) -> SparseGradient:
        """Kernel that adds the gradient of one example's loss, without the regularizer."""
        return add_example

    @property
    def common(self) -> Common:
        """Kernel that writes the regularizer's gradient, with the weight ``lam``."""
        return write_penalty

    def loss_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """F and its gradient at ``w``, both of shape (d,), in one pass over the rows."""
        out = np.empty_like(w)
        return loss_and_gradient(self.x.arrays, self.y, w, self.lam, out), out

    def loss(self, w: Vector) -> float:
        """Empirical risk F at ``w``, shape (d,)."""
        return self.loss_and_gradient(w)[0]

    def gradient(self, w: Vector) -> Vector:
        """Gradient of F at ``w``, shape (d,)."""
        return self.loss_and_gradient(w)[1]
