"""Gradient of logistic regression over a batch of examples, each one's part clipped; no gradient of one is stored."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.clipping import clipped_sum, pad_rows
from dpverify.kernels.jit import kernel
from dpverify.kernels.recursive import recursive_sum
from dpverify.kernels.tape import draw_batch, fill_normal
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm
from dpverify.problems.logistic import LogisticRegression, log1pexp, psi, psi_slope, slope

clipped_logistic = clipped_sum(slope)
recursive_logistic = recursive_sum(slope)


@kernel
def add_penalty(total: Vector, count: int, w: Vector, lam: float, out: Vector) -> None:
    """Write ``total / count`` plus the regularizer's gradient at ``w``, shape (d,), into ``out``."""
    for j in range(out.shape[0]):
        out[j] = total[j] / count + lam * psi_slope(w[j])


@kernel
def logistic_descent(
    rows: Matrix,
    order: Indices,
    size: int,
    clip: float,
    lam: float,
    etas: Vector,
    rhos: Vector,
    std: float,
    padded: Vector,
    total: Vector,
    w: Vector,
    old: Vector,
    mean: Vector,
    batches: Generator,
    noise: Generator,
    iterates: Matrix,
) -> int:
    """Do noisy descent; how many steps until one is not finite.

    Shapes: ``etas``, ``rhos`` (T,); ``iterates`` (0 or T, d). ``w``, ``old`` and ``mean`` have shape (d,); ``old`` is
    the iterate before ``w``.
    """
    d = w.shape[0]
    padded[:] = 0.0
    for t in range(etas.shape[0]):
        for j in range(d):
            padded[j] = w[j]
        if size < order.shape[0]:
            draw_batch(batches, order, size)
        clipped_logistic(rows, order[:size], padded, clip, total)
        add_penalty(total, size, w, lam, mean)
        if std > 0.0:
            fill_normal(noise, padded[:d])
            for j in range(d):
                mean[j] += std * padded[j]
        if not math.isfinite(norm(mean)):
            return t
        for j in range(d):
            held = w[j]
            w[j] -= etas[t] * mean[j] - rhos[t] * (held - old[j])
            old[j] = held
        if iterates.shape[0] > 0:
            for j in range(d):
                iterates[t, j] = w[j]
    return len(etas)


class BatchGradient:
    """Mean over a batch of clipped gradients of the logistic loss, plus the gradient of the regularizer.

    The regularizer's gradient depends on no example. It is added after clipping, so that replacing one example moves
    the mean over B examples by at most 2C/B, whatever the regularizer.

    Parameters
    ----------
    problem : LogisticRegression
        The data are copied, into rows of whole cache lines; an ArgumentError if they do not fit in memory.
    clip : float or None
        C, above 0: to what length each example's gradient of the logistic loss is shortened. None: the bound on rows
        that the problem was made with, beyond which no such gradient reaches, so that nothing is clipped.
    """

    def __init__(self, problem: LogisticRegression, clip: float | None = None) -> None:
        bound = problem.radius if clip is None else check.positive(clip=clip)
        self.clip = bound if bound > 0.0 else 1.0  # all rows are 0
        self._lam, self._d = problem.lam, len(problem.start)
        self._rows = pad_rows(problem.x, problem.y)
        self._w, self._sum = np.zeros(self._rows.shape[1]), np.zeros(self._rows.shape[1])
        self._mean = np.zeros(self._d)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch``, at least one, into ``out``, shape (d,)."""
        self._w[: self._d] = w
        clipped_logistic(self._rows, batch, self._w, self.clip, self._sum)
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
        data = self._rows, order, size, self.clip, self._lam, etas, rhos, std
        return int(logistic_descent(*data, self._w, self._sum, w, old, self._mean, batches, noise, kept))


class RecursiveGradient(BatchGradient):
    """The same, and what the recursive momentum of DP-SRM asks of a batch at two points; see ``kernels.recursive``.

    Parameters
    ----------
    problem, clip
        As in ``BatchGradient``.
    change_clip : float
        C', above 0: to what length the change of each example's gradient is shortened; infinite: nothing is clipped.
    """

    def __init__(self, problem: LogisticRegression, clip: float | None = None, change_clip: float = math.inf) -> None:
        super().__init__(problem, clip)
        self.change_clip = change_clip if change_clip == math.inf else check.positive(change_clip=change_clip)
        self._old, self._penalty = np.zeros_like(self._w), np.zeros(self._d)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) into ``out``."""
        self._w[: self._d] = new
        self._old[: self._d] = old
        recursive_logistic(self._rows, batch, self._w, self._old, gamma, self.clip, self.change_clip, self._sum)
        add_penalty(self._sum, len(batch), new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            self._penalty[:] = 0.0
            add_penalty(self._penalty, 1, old, self._lam, self._penalty)
            out -= (1.0 - gamma) * self._penalty


@kernel
def logistic_losses(
    x: Matrix, y: Vector, w: Vector, direction: Vector, lengths: Vector, clip: float, out: Vector
) -> None:
    """Write the mean of ``min(loss_i(w - length direction), clip)`` for each length; losses without the regularizer."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        a = 0.0
        b = 0.0
        for j in range(x.shape[1]):
            a += x[i, j] * w[j]
            b += x[i, j] * direction[j]
        s = 1.0 - 2.0 * y[i]
        for k in range(lengths.shape[0]):
            out[k] += min(log1pexp(s * (a - lengths[k] * b)), clip)
    out /= x.shape[0]


def line_losses(problem: LogisticRegression, clip: float, w: Vector, direction: Vector, lengths: Vector) -> Vector:
    """Give the mean loss at ``w - length direction`` for each length, each example's cut to [0, clip]; (K,)."""
    out = np.zeros(len(lengths))
    logistic_losses(problem.x, problem.y, w, direction, lengths, clip, out)
    for k, length in enumerate(lengths):
        out[k] += problem.lam * sum(map(psi, (w - length * direction).tolist()))
    return out
