"""Gradient of logistic regression over a batch of sparse rows, each one's part clipped; see ``batch_gradient``."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.csr import CsrArrays, sparse_clipped_sum, sparse_recursive_sum
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import draw_batch, fill_normal
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.problems.batch_gradient import add_penalty
from dpverify.problems.logistic import psi, slope
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.scaling import norm_bounds

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
    """Do noisy descent; how many steps until one is not finite. As ``logistic_descent``; ``unit`` has shape (d,)."""
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
    """``BatchGradient`` on sparse rows, which are not copied; ``clip`` is as there."""

    def __init__(self, problem: SparseLogistic, clip: float | None = None) -> None:
        bound = problem.radius if clip is None else check.positive(clip=clip)
        self.clip = bound if bound > 0.0 else 1.0  # all rows are 0
        self._lam, d = problem.lam, len(problem.start)
        self._data = problem.x.arrays, problem.y, norm_bounds(problem.x)
        self._sum, self._mean, self._unit = np.zeros(d), np.zeros(d), np.zeros(d)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch``, at least one, into ``out``, shape (d,)."""
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
        kept: Matrix,
    ) -> int:
        """Do steps of noisy descent, as ``CompiledDescent`` says."""
        rows, y, lengths = self._data
        data = rows, y, lengths, order, size, self.clip, self._lam, etas, rhos, std
        return int(sparse_descent(*data, self._unit, self._sum, w, old, self._mean, batches, noise, kept))


class SparseRecursiveGradient(SparseBatchGradient):
    """``RecursiveGradient`` on sparse rows; ``change_clip`` is as there."""

    def __init__(self, problem: SparseLogistic, clip: float | None = None, change_clip: float = math.inf) -> None:
        super().__init__(problem, clip)
        self.change_clip = change_clip if change_clip == math.inf else check.positive(change_clip=change_clip)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) into ``out``."""
        recursive_sparse(*self._data, batch, new, old, gamma, self.clip, self.change_clip, self._sum)
        add_penalty(self._sum, len(batch), new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            self._mean[:] = 0.0
            add_penalty(self._mean, 1, old, self._lam, self._mean)
            out -= (1.0 - gamma) * self._mean


def sparse_line_losses(problem: SparseLogistic, clip: float, w: Vector, direction: Vector, lengths: Vector) -> Vector:
    """Give what ``line_losses`` gives, on sparse rows: the mean loss at ``w - length direction``, cut; shape (K,)."""
    sign = 1.0 - 2.0 * problem.y
    at = problem.x @ w
    along = problem.x @ direction
    losses = [np.minimum(np.logaddexp(0.0, sign * (at - length * along)), clip).mean() for length in lengths]
    penalties = [sum(map(psi, (w - length * direction).tolist())) for length in lengths]
    return np.array(losses) + problem.lam * np.array(penalties)
