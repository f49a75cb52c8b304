"""Choice of the problem for a data set (logistic or softmax, dense or sparse), of its gradients and measurements."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.kernels.vector import norm
from dpverify.problems.logistic import (
    BatchGradient,
    LogisticRegression,
    RecursiveGradient,
)
from dpverify.problems.rows import RowScaling, scale_rows
from dpverify.problems.softmax_regression import SoftmaxBatch, SoftmaxRegression
from dpverify.problems.sparse.logistic import (
    SparseBatchGradient,
    SparseLogistic,
    SparseRecursiveGradient,
)
from dpverify.problems.sparse.rows import CsrRows, Rows, scale_sparse

Regression: TypeAlias = LogisticRegression | SparseLogistic | SoftmaxRegression
"""Logistic regression for two classes, on dense or sparse rows; softmax regression for more than two classes."""


def scaled(x: Rows, how: RowScaling) -> Rows:
    """Return the rows, each scaled into the unit ball on its own, or unchanged."""
    return scale_sparse(x, how) if isinstance(x, CsrRows) else scale_rows(x, how)


def logistic_problem(
    x: Rows, y: Vector, *, lam: float, radius: float | None = None
) -> LogisticRegression | SparseLogistic:
    """Return the problem of a data set with two classes, on dense or sparse rows."""
    if isinstance(x, CsrRows):
        return SparseLogistic(x, y, lam=lam, radius=radius)
    return LogisticRegression(x, y, lam=lam, radius=radius)


def regression_problem(
    x: Rows, y: Vector, classes: int = 2, *, lam: float, radius: float | None = None
) -> Regression:
    """Return the problem of a data set, with certified constants; labels are 0..K-1.

    Raises a ValueError if rows or labels are invalid, and an ArgumentError for sparse rows of more than two classes.
    """
    if classes <= 2:
        return logistic_problem(x, y, lam=lam, radius=radius)
    if isinstance(x, CsrRows):
        raise check.ArgumentError(
            "data",
            f"sparse rows of {classes} classes",
            "must be dense for more than two",
        )
    return SoftmaxRegression(x, y, classes, lam=lam, radius=radius)


def batch_gradient(
    problem: Regression, clip: float | None = None
) -> BatchGradient | SparseBatchGradient | SoftmaxBatch:
    """Return the oracle of batch means of clipped gradients, plus the gradient of the regularizer, not clipped."""
    if isinstance(problem, LogisticRegression):
        return BatchGradient(problem, clip)
    if isinstance(problem, SparseLogistic):
        return SparseBatchGradient(problem, clip)
    return SoftmaxBatch(problem, clip)


def recursive_gradient(
    problem: Regression, clip: float | None = None, change_clip: float = math.inf
) -> RecursiveGradient | SparseRecursiveGradient | SoftmaxBatch:
    """Return the oracle for recursive momentum; ``change_clip`` is the clip length of the change of a gradient."""
    if isinstance(problem, LogisticRegression):
        return RecursiveGradient(problem, clip, change_clip)
    if isinstance(problem, SparseLogistic):
        return SparseRecursiveGradient(problem, clip, change_clip)
    return SoftmaxBatch(problem, clip, change_clip)


def measured(problem: Regression, w: Vector) -> tuple[float, float]:
    """Return F and the norm of its gradient at ``w``, shape (d,). Sparse rows take one pass."""
    if isinstance(problem, SparseLogistic):
        loss, gradient = problem.loss_and_gradient(w)
        return loss, norm(gradient)
    return problem.loss(w), gradient_norm(problem, w)


def gradient_norm(problem: Regression, w: Vector) -> float:
    """Return the norm of the gradient of F at ``w``, shape (d,). For the large d of sparse rows, numpy uses threads."""
    gradient = problem.gradient(w)
    return (
        norm(gradient)
        if isinstance(problem, SparseLogistic)
        else float(np.linalg.norm(gradient))
    )


def predicted(problem: Regression, w: Vector, x: Rows) -> Vector:
    """Return the predicted class of each row, shape (m,): the largest score, or for two classes 1 if ``<x, w> > 0``."""
    if isinstance(problem, SoftmaxRegression) and not isinstance(x, CsrRows):
        best: Vector = np.argmax(problem.scores(w, x), axis=1).astype(np.float64)
        return best
    above: Vector = (x @ w > 0).astype(np.float64)
    return above
