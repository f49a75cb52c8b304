"""Gradient of logistic regression over a batch of examples, each one's part clipped; no gradient of one is stored."""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.clipping import clipped_sum, pad_rows
from dpverify.kernels.jit import kernel
from dpverify.kernels.recursive import recursive_sum
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.logistic import LogisticRegression, psi_slope, slope

clipped_logistic, recursive_logistic = clipped_sum(slope), recursive_sum(slope)


@kernel
def add_penalty(total: Vector, count: int, w: Vector, lam: float, out: Vector) -> None:
    """Write ``total / count`` plus the regularizer's gradient at ``w``, shape (d,), into ``out``."""
    for j in range(out.shape[0]):
        out[j] = total[j] / count + lam * psi_slope(w[j])


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

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch``, at least one, into ``out``, shape (d,)."""
        self._w[: self._d] = w
        clipped_logistic(self._rows, batch, self._w, self.clip, self._sum)
        add_penalty(self._sum, len(batch), w, self._lam, out)


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
        self._w[: self._d], self._old[: self._d] = new, old
        recursive_logistic(self._rows, batch, self._w, self._old, gamma, self.clip, self.change_clip, self._sum)
        add_penalty(self._sum, len(batch), new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            self._penalty[:] = 0.0
            add_penalty(self._penalty, 1, old, self._lam, self._penalty)
            out -= (1.0 - gamma) * self._penalty
