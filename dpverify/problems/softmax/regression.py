"""Logistic regression for two classes and softmax regression for more: which of them a data set needs."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.batch_gradient import RecursiveGradient
from dpverify.problems.example_gradients import BatchOracle, ExampleGradients
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.softmax.loss import SoftmaxRegression

Regression: TypeAlias = LogisticRegression | SoftmaxRegression


def regression_problem(x: Matrix, y: Vector, classes: int, *, lam: float, radius: float | None = None) -> Regression:
    """Make the problem of a data set: logistic regression for two classes, softmax regression for more.

    Parameters
    ----------
    x, y : (n, p) and (n,) array of float
        Rows and labels, 0..K-1.
    classes : int
        K, at least 2.
    lam, radius
        As for ``LogisticRegression``.

    Returns
    -------
    LogisticRegression or SoftmaxRegression
        With certified constants.

    Raises
    ------
    ValueError
        If rows or labels are wrong.
    """
    if classes == 2:
        return LogisticRegression(x, y, lam=lam, radius=radius)
    return SoftmaxRegression(x, y, classes, lam=lam, radius=radius)


def batch_gradient(problem: Regression, clip: float | None = None, change_clip: float = math.inf) -> BatchOracle:
    """Make the mean over a batch of clipped gradients, plus the gradient of the regularizer, which is not clipped.

    Parameters
    ----------
    problem : LogisticRegression or SoftmaxRegression
        The loss and its data.
    clip : float or None
        To what length each example's gradient of the loss without the regularizer is shortened. None: no clipping.
    change_clip : float
        The same for the change of an example's gradient between two points, which recursive momentum asks for.

    Returns
    -------
    BatchOracle
        What descent and recursive momentum ask of a batch.
    """
    if isinstance(problem, SoftmaxRegression):
        return _SoftmaxBatch(problem, math.inf if clip is None else clip, change_clip)
    return RecursiveGradient(problem, clip, change_clip)


class _SoftmaxBatch(ExampleGradients):
    """``ExampleGradients`` of the softmax loss; the regularizer's gradient is added after clipping."""

    def __init__(self, problem: SoftmaxRegression, clip: float, change_clip: float) -> None:
        def gradients(w: Vector, batch: Indices) -> Matrix:
            rows: Matrix = problem.slopes(w, batch)[:, :, None] * problem.x[batch][:, None, :]
            return rows.reshape(len(batch), -1)

        super().__init__(gradients, clip, change_clip)
        self._penalty = problem.penalty_gradient

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient at ``w`` over the examples in ``batch`` into ``out``, shape (d,)."""
        super().__call__(w, batch, out)
        out += self._penalty(w)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean over ``batch`` of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) into ``out``."""
        super().change(new, old, batch, gamma, out)
        out += self._penalty(new) - (1.0 - gamma) * self._penalty(old)


def predicted(problem: Regression, w: Vector, x: Matrix) -> Vector:
    """Predict a class for each row: the one with the largest score, or 1 where ``<x, w>`` is above 0.

    Parameters
    ----------
    problem : LogisticRegression or SoftmaxRegression
        The loss.
    w : (d,) array of float
        An iterate.
    x : (m, p) array of float
        Rows.

    Returns
    -------
    (m,) array of float
        Classes, 0..K-1.
    """
    if isinstance(problem, SoftmaxRegression):
        best: Vector = np.argmax(problem.scores(w, x), axis=1).astype(np.float64)
        return best
    above: Vector = (x @ w > 0).astype(np.float64)
    return above
