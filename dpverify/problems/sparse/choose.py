"""What follows for problems and gradients from whether rows are dense or sparse; ``build`` has the rule."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from dpverify.kernels.typing import Vector
from dpverify.kernels.vector import norm
from dpverify.problems.batch_gradient import BatchGradient, RecursiveGradient
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.rows import RowScaling, scale_rows
from dpverify.problems.sparse.batches import SparseBatchGradient, SparseRecursiveGradient
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.problems.sparse.scaling import scale_sparse

Logistic: TypeAlias = LogisticRegression | SparseLogistic
"""Logistic regression on dense or on sparse rows."""


def scaled(x: Rows, how: RowScaling) -> Rows:
    """Bring every row by itself into the unit ball, or leave it as it is."""
    return scale_sparse(x, how) if isinstance(x, CsrRows) else scale_rows(x, how)


def logistic(x: Rows, y: Vector, *, lam: float, radius: float | None = None) -> Logistic:
    """Make the problem on these rows."""
    kind = SparseLogistic if isinstance(x, CsrRows) else LogisticRegression
    return kind(x, y, lam=lam, radius=radius)  # type: ignore[arg-type]  # each gets the rows that it takes


def batch_gradient(problem: Logistic, clip: float | None = None) -> BatchGradient | SparseBatchGradient:
    """Make the clipped mean over a batch."""
    return (
        BatchGradient(problem, clip) if isinstance(problem, LogisticRegression) else SparseBatchGradient(problem, clip)
    )


def recursive_gradient(
    problem: Logistic, clip: float | None = None, change_clip: float = math.inf
) -> RecursiveGradient | SparseRecursiveGradient:
    """Make the same with what recursive momentum asks besides."""
    if isinstance(problem, LogisticRegression):
        return RecursiveGradient(problem, clip, change_clip)
    return SparseRecursiveGradient(problem, clip, change_clip)


def measured(problem: Logistic, w: Vector) -> tuple[float, float]:
    """F and the norm of its gradient at ``w``, shape (d,); of sparse rows in one pass."""
    if isinstance(problem, LogisticRegression):
        return problem.loss(w), gradient_norm(problem, w)
    loss, gradient = problem.loss_and_gradient(w)
    return loss, norm(gradient)


def gradient_norm(problem: Logistic, w: Vector) -> float:
    """Norm of the gradient of F at ``w``, shape (d,); where d is large, numpy would start threads for it."""
    if isinstance(problem, LogisticRegression):
        return float(np.linalg.norm(problem.gradient(w)))
    return norm(problem.gradient(w))
