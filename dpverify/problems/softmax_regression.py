"""Softmax regression for two or more classes, with the nonconvex regularizer of ``problems.logistic``.

    F(W) = (1/n) sum_i [ log(sum_k exp(<w_k, x_i>)) - <w_{y_i}, x_i> ] + lam * sum_kj
    W_kj**2 / (1 + W_kj**2)

W has a row of p weights for each of K classes. An iterate has the rows of W one after the other, shape (K p,). The
constants are derived in ``problems.logistic_bounds``. The batch gradient clips the gradient of each example.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.problems import logistic_bounds
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import psi, psi_slope
from dpverify.problems.rows import check_rows, radius_of, row_norm_bounds, rows_within


@lru_cache(maxsize=32)
def softmax_gradient(lam: float, classes: int) -> ExampleGradient:
    """Return the kernel ``gradient(w, x_row, y, out)``: ``x_row`` (p,), ``w`` and ``out`` (K p,), y in 0..K-1."""

    @inner_kernel
    def gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        p = w.shape[0] // classes
        largest = -math.inf
        # the first number of each row of ``out`` stores the score of the class
        for k in range(classes):
            z = 0.0
            for j in range(p):
                z += x_row[j] * w[k * p + j]
            out[k * p] = z
            largest = max(largest, z)
        total = 0.0
        for k in range(classes):
            out[k * p] = math.exp(out[k * p] - largest)
            total += out[k * p]
        for k in range(classes):
            steep = out[k * p] / total
            if k == y:
                steep -= 1.0
            for j in range(p):
                out[k * p + j] = steep * x_row[j] + lam * psi_slope(w[k * p + j])

    return gradient


class SoftmaxRegression:
    """Nonconvex-regularized softmax regression on a data set; a ``Problem``.

    Parameters
    ----------
    x, y : (n, p) and (n,) array of float
        Rows and labels, integers in 0..K-1.
    classes : int
        K, at least 2; some classes may have no example.
    lam : float
        Weight of the regularizer, at least 0.
    radius : float or None
        B, an upper bound on the norm of every possible row. None uses the largest norm
        in this data set. The constants then depend on the data, and hold for a
        neighbour only if its new row is not longer.

    Raises
    ------
    ValueError
        If shapes or entries are wrong.
    """

    def __init__(
        self,
        x: Matrix,
        y: Vector,
        classes: int,
        lam: float = 0.001,
        radius: float | None = None,
    ) -> None:
        check_rows(x, y)
        if not np.isin(y, np.arange(classes)).all():
            raise ValueError(
                f"labels must be whole numbers in 0..{classes - 1}, got {np.unique(y)[:5].tolist()}."
            )
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.classes, self.lam = int(classes), float(lam)
        self.radius = radius_of(x, radius, row_norm_bounds, rows_within)
        self.start = np.zeros(classes * x.shape[1])
        self.lipschitz = logistic_bounds.softmax_lipschitz(
            self.radius, self.lam, x.shape[1], self.classes
        )
        self.smoothness = logistic_bounds.softmax_smoothness(self.radius, self.lam)
        self.gap = logistic_bounds.softmax_gap_at_zero(self.classes)
        self._labels = self.y.astype(np.int64)

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return softmax_gradient(self.lam, self.classes)

    def scores(self, w: Vector, x: Matrix) -> Matrix:
        """Return ``<w_k, x_i>`` for each row of ``x`` (m, p) and each class, shape (m, K)."""
        scores: Matrix = x @ w.reshape(self.classes, -1).T
        return scores

    def loss(self, w: Vector) -> float:
        """Return the empirical risk F at ``w``, shape (K p,)."""
        z = self.scores(w, self.x)
        largest = z.max(axis=1)
        terms = (
            np.log(np.exp(z - largest[:, None]).sum(axis=1))
            + largest
            - z[np.arange(len(z)), self._labels]
        )
        return float(terms.mean()) + self.lam * math.fsum(map(psi, w.tolist()))

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (K p,)."""
        gradient: Vector = (
            self.slopes(w, np.arange(len(self.x))).T @ self.x / len(self.x)
        ).ravel()
        return gradient + self.penalty_gradient(w)

    def slopes(self, w: Vector, batch: Indices) -> Matrix:
        """Return ``p - e_y`` for each example of a batch, shape (B, K)."""
        z = self.scores(w, self.x[batch])
        weights: Matrix = np.exp(z - z.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        weights[np.arange(len(batch)), self._labels[batch]] -= 1.0
        return weights

    def penalty_gradient(self, w: Vector) -> Vector:
        """Return the gradient of the regularizer at ``w``, which depends on no example; shape (K p,)."""
        return self.lam * np.array(list(map(psi_slope, w.tolist())))


class SoftmaxBatch(ExampleGradients):
    """``ExampleGradients`` of the softmax loss; the regularizer's gradient is added after clipping."""

    def __init__(
        self,
        problem: SoftmaxRegression,
        clip: float | None = None,
        change_clip: float = math.inf,
    ) -> None:
        def gradients(w: Vector, batch: Indices) -> Matrix:
            rows: Matrix = (
                problem.slopes(w, batch)[:, :, None] * problem.x[batch][:, None, :]
            )
            return rows.reshape(len(batch), -1)

        super().__init__(gradients, math.inf if clip is None else clip, change_clip)
        self._penalty = problem.penalty_gradient

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch`` to ``out``, shape (d,)."""
        super().__call__(w, batch, out)
        out += self._penalty(w)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""
        super().change(new, old, batch, gamma, out)
        out += self._penalty(new) - (1.0 - gamma) * self._penalty(old)
