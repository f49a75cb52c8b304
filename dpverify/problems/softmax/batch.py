"""Gradient of softmax regression over a batch of examples, each one's part clipped; see ``batch_gradient``."""

from __future__ import annotations

import math

from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.softmax.loss import SoftmaxRegression


class SoftmaxBatch(ExampleGradients):
    """``ExampleGradients`` of the softmax loss; the regularizer's gradient is added after clipping."""

    def __init__(self, problem: SoftmaxRegression, clip: float | None = None, change_clip: float = math.inf) -> None:
        def gradients(w: Vector, batch: Indices) -> Matrix:
            rows: Matrix = problem.slopes(w, batch)[:, :, None] * problem.x[batch][:, None, :]
            return rows.reshape(len(batch), -1)

        super().__init__(gradients, math.inf if clip is None else clip, change_clip)
        self._penalty = problem.penalty_gradient

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch`` into ``out``, shape (d,)."""
        super().__call__(w, batch, out)
        out += self._penalty(w)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) into ``out``."""
        super().change(new, old, batch, gamma, out)
        out += self._penalty(new) - (1.0 - gamma) * self._penalty(old)
