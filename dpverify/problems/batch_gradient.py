"""Gradient of logistic regression over a batch of examples, each one's part clipped; no gradient of one is stored."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.clipping import clipped_sum, pad_rows
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.logistic import LogisticRegression, psi_slope, slope

clipped_logistic = clipped_sum(slope)


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
