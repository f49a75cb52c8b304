"""The loss of ``problems.logistic`` on sparse rows, and its gradients over batches, clipped for each example.

The cost of an example is proportional to the number of entries of its row. The gradient of an example is the sum of
``slope x_i`` and the regularizer's gradient, which is the same for all examples. One kernel writes the regularizer's
gradient, and another kernel adds ``slope x_i``. The constants are the same as for dense rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.csr import (
    Columns,
    Common,
    CsrArrays,
    SparseGradient,
    add_row,
    row_product,
    sparse_clipped_sum,
    sparse_recursive_sum,
)
from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.tape import draw_batch, fill_normal
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.problems import logistic_bounds
from dpverify.problems.logistic import add_penalty, psi, psi_slope, slope
from dpverify.problems.rows import radius_of
from dpverify.problems.sparse.rows import CsrRows, norm_bounds, sparse_rows_within


@kernel
def loss_and_gradient(
    rows: CsrArrays, y: Vector, w: Vector, lam: float, out: Vector
) -> float:
    """Return F(w) and write its gradient to ``out``, in one pass over the rows. Shapes: ``w``, ``out`` (d,)."""
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
        add_row(
            starts, columns, values, i, s * (1.0 if z >= 0.0 else e) / (1.0 + e), out
        )
    for j in range(w.shape[0]):
        penalty += psi(w[j])
        out[j] = out[j] / n + lam * psi_slope(w[j])
    mean: float = total / n
    return mean + lam * penalty


@inner_kernel
def add_example(
    w: Vector, columns: Columns, values: Vector, y: float, out: Vector
) -> None:
    """Add the gradient of one example's loss, without the regularizer, to ``out``; a ``SparseGradient``."""
    z = 0.0
    for k in range(columns.shape[0]):
        z += values[k] * w[columns[k]]
    steep = slope(z, y)
    for k in range(columns.shape[0]):
        out[columns[k]] += steep * values[k]


@inner_kernel
def write_penalty(weight: float, w: Vector, out: Vector) -> None:
    """Write the regularizer's gradient at ``w``, times its weight, to ``out``; a ``Common``."""
    if weight == 0.0:
        for j in range(out.shape[0]):
            out[j] = 0.0
        return
    for j in range(out.shape[0]):
        out[j] = weight * psi_slope(w[j])


class SparseLogistic:
    """Nonconvex-regularized logistic regression on sparse rows; for dense rows, see ``LogisticRegression``.

    Parameters
    ----------
    x : CsrRows
        n rows of d columns.
    y : (n,) array of float
        Labels, 0 or 1.
    lam, radius
        As in ``LogisticRegression``.

    Raises
    ------
    ValueError
        If a shape or a label is wrong.
    """

    def __init__(
        self, x: CsrRows, y: Vector, lam: float = 0.001, radius: float | None = None
    ) -> None:
        if y.shape != (len(x),) or not len(x):
            raise ValueError(
                f"y must have shape ({max(len(x), 1)},), got shape {y.shape}."
            )
        if not ((y == 0.0) | (y == 1.0)).all():
            raise ValueError(f"labels must be 0 or 1, got {np.unique(y)[:5].tolist()}.")
        self.x, self.y = x, np.ascontiguousarray(y, dtype=np.float64)
        self.lam, self.radius = (
            float(lam),
            radius_of(x, radius, norm_bounds, sparse_rows_within),
        )
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
        """Return F and its gradient at ``w``, shape (d,), computed in one pass over the rows."""
        out = np.empty_like(w)
        return loss_and_gradient(self.x.arrays, self.y, w, self.lam, out), out

    def loss(self, w: Vector) -> float:
        """Return the empirical risk F at ``w``, shape (d,)."""
        return self.loss_and_gradient(w)[0]

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        return self.loss_and_gradient(w)[1]


clipped_sparse = sparse_clipped_sum(slope)
recursive_sparse = sparse_recursive_sum(slope)


@kernel
def sparse_descent(
    rows: CsrArrays,
    y: Vector,
    lengths: Vector,
    order: Indices,
    size: int,
    clip: float,
    lam: float,
    etas: Vector,
    rhos: Vector,
    std: float,
    unit: Vector,
    total: Vector,
    w: Vector,
    old: Vector,
    mean: Vector,
    batches: Generator,
    noise: Generator,
    iterates: Matrix,
) -> int:
    """Do steps of noisy descent as ``logistic_descent`` does; ``unit`` has shape (d,)."""
    d = w.shape[0]
    for t in range(etas.shape[0]):
        if size < order.shape[0]:
            draw_batch(batches, order, size)
        clipped_sparse(rows, y, lengths, order[:size], w, clip, total)
        add_penalty(total, size, w, lam, mean)
        if std > 0.0:
            fill_normal(noise, unit)
            for j in range(d):
                mean[j] += std * unit[j]
        if not math.isfinite(norm(mean)):
            return t
        for j in range(d):
            held = w[j]
            w[j] -= etas[t] * mean[j] - rhos[t] * (held - old[j])
            old[j] = held
        if iterates.shape[0] > 0:
            iterates[t] = w
    return len(etas)


class SparseBatchGradient:
    """``BatchGradient`` on sparse rows, which are not copied; ``clip`` is as in ``BatchGradient``."""

    def __init__(self, problem: SparseLogistic, clip: float | None = None) -> None:
        bound = problem.radius if clip is None else check.positive(clip=clip)
        self.clip = bound if bound > 0.0 else 1.0  # all rows are 0
        self._lam, d = problem.lam, len(problem.start)
        self._data = problem.x.arrays, problem.y, norm_bounds(problem.x)
        self._sum, self._mean, self._unit = np.zeros(d), np.zeros(d), np.zeros(d)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over a ``batch`` of at least one example to ``out``, shape (d,)."""
        clipped_sparse(*self._data, batch, w, self.clip, self._sum)
        add_penalty(self._sum, len(batch), w, self._lam, out)

    def descend(
        self,
        order: Indices,
        size: int,
        etas: Vector,
        rhos: Vector,
        std: float,
        w: Vector,
        old: Vector,
        batches: Generator,
        noise: Generator,
        iterates: Matrix,
    ) -> int:
        """Do steps of noisy descent, as specified by ``CompiledDescent``."""
        rows, y, lengths = self._data
        data = rows, y, lengths, order, size, self.clip, self._lam, etas, rhos, std
        return int(
            sparse_descent(
                *data,
                self._unit,
                self._sum,
                w,
                old,
                self._mean,
                batches,
                noise,
                iterates,
            )
        )


class SparseRecursiveGradient(SparseBatchGradient):
    """``RecursiveGradient`` on sparse rows; ``change_clip`` is as in ``RecursiveGradient``."""

    def __init__(
        self,
        problem: SparseLogistic,
        clip: float | None = None,
        change_clip: float = math.inf,
    ) -> None:
        super().__init__(problem, clip)
        self.change_clip = (
            change_clip
            if change_clip == math.inf
            else check.positive(change_clip=change_clip)
        )

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""
        recursive_sparse(
            *self._data, batch, new, old, gamma, self.clip, self.change_clip, self._sum
        )
        add_penalty(self._sum, len(batch), new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            self._mean[:] = 0.0
            add_penalty(self._mean, 1, old, self._lam, self._mean)
            out -= (1.0 - gamma) * self._mean


def sparse_line_losses(
    problem: SparseLogistic, clip: float, w: Vector, direction: Vector, lengths: Vector
) -> Vector:
    """Return the clipped mean loss at ``w - length direction`` for each length, shape (K,), as ``line_losses`` does."""
    sign = 1.0 - 2.0 * problem.y
    at = problem.x @ w
    along = problem.x @ direction
    losses = [
        np.minimum(np.logaddexp(0.0, sign * (at - length * along)), clip).mean()
        for length in lengths
    ]
    penalties = [sum(map(psi, (w - length * direction).tolist())) for length in lengths]
    return np.array(losses) + problem.lam * np.array(penalties)
