r"""Binary logistic regression with the nonconvex regularizer of the DP-SRM paper (Wang et al. 2019, section 6.1).

    F(w) = (1/n) sum_i [ -y_i log phi(<x_i, w>) - (1 - y_i) log(1 - phi(<x_i, w>)) ] + lam * sum_j w_j**2 / (1 + w_j**2)

with ``phi(z) = 1 / (1 + exp(-z))`` and labels y in {0, 1}. The paper prints "min" of ``y log phi + (1-y) log(1-phi)``
plus the regularizer: the log-likelihood without its minus sign, which has no minimum. We minimise the negative
log-likelihood, which is what the name of the problem and the paper's experiments mean.

Written with ``s = 1 - 2y``, the loss of an example is ``log(1 + exp(s z))`` and its slope ``s * phi(s z)``: no
difference of nearly equal numbers is taken. The constants are derived in ``problems.logistic_bounds``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.typing import ExampleGradient, Matrix, Vector
from dpverify.problems import logistic_bounds
from dpverify.problems.rows import check_rows, radius_of, row_norm_bounds, rows_within


@kernel
def sigmoid(z: float) -> float:
    """``1 / (1 + exp(-z))`` without overflow or a branch; between 0 and 1 after rounding too."""
    e = math.exp(-abs(z))
    return (1.0 if z >= 0.0 else e) / (1.0 + e)


@kernel
def slope(z: float, y: float) -> float:
    """Derivative of an example's loss by z = <x, w>; y in {0, 1}."""
    s = 1.0 - 2.0 * y
    return s * sigmoid(s * z)


@kernel
def log1pexp(z: float) -> float:
    """``log(1 + exp(z))`` without overflow."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@kernel
def psi(t: float) -> float:
    """``t**2 / (1 + t**2)``, the regularizer of one coordinate; 1 where t**2 overflows."""
    u = t * t
    return u / (1.0 + u) if u < 1.0 else 1.0 / (1.0 + 1.0 / u)


@kernel
def psi_slope(t: float) -> float:
    """``2 t / (1 + t**2)**2``, the derivative of ``psi``."""
    q = 1.0 + t * t
    return 2.0 * t / q / q


@kernel
def empirical_loss(w: Vector, x: Matrix, y: Vector, lam: float) -> float:
    """F(w); ``w`` (d,), ``x`` (n, d), ``y`` (n,) in {0, 1}."""
    total = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        total += log1pexp((1.0 - 2.0 * y[i]) * z)
    penalty = 0.0
    for j in range(w.shape[0]):
        penalty += psi(w[j])
    mean: float = total / x.shape[0]
    return mean + lam * penalty


@kernel
def empirical_gradient(w: Vector, x: Matrix, y: Vector, lam: float, out: Vector) -> None:
    """Write the gradient of F at ``w`` into ``out``, shape (d,)."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        z = 0.0
        for j in range(x.shape[1]):
            z += x[i, j] * w[j]
        steep = slope(z, y[i])
        for j in range(x.shape[1]):
            out[j] += steep * x[i, j]
    for j in range(w.shape[0]):
        out[j] = out[j] / x.shape[0] + lam * psi_slope(w[j])


@lru_cache(maxsize=32)
def example_gradient(lam: float) -> ExampleGradient:
    """Make the kernel ``gradient(w, x_row, y, out)`` of one example; y in {0, 1}, all vectors of shape (d,)."""

    @inner_kernel
    def gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        z = 0.0
        for j in range(w.shape[0]):
            z += x_row[j] * w[j]
        steep = slope(z, y)
        for j in range(w.shape[0]):
            out[j] = steep * x_row[j] + lam * psi_slope(w[j])

    return gradient


class LogisticRegression:
    """Nonconvex-regularized logistic regression on a data set; a ``Problem``.

    Parameters
    ----------
    x, y : (n, d) and (n,) array of float
        Rows and labels, 0 or 1; a ValueError if shapes or entries are wrong.
    lam : float
        Weight of the regularizer, at least 0; the paper uses 0.001.
    radius : float or None
        B, a bound on the norm of every row that could occur. None: the largest norm in this data set; the constants
        then depend on the data, and hold for a neighbour only if its new row is no longer than that.
    """

    def __init__(self, x: Matrix, y: Vector, lam: float = 0.001, radius: float | None = None) -> None:
        check_rows(x, y)
        if not np.isin(y, (0.0, 1.0)).all():
            raise ValueError(f"labels must be 0 or 1, got {np.unique(y)[:5].tolist()}.")
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.lam = float(lam)
        self.radius = radius_of(x, radius, row_norm_bounds, rows_within)
        self.start = np.zeros(x.shape[1])
        self.lipschitz = logistic_bounds.lipschitz(self.radius, self.lam, x.shape[1])
        self.smoothness = logistic_bounds.smoothness(self.radius, self.lam)
        self.gap = logistic_bounds.gap_at_zero()

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return example_gradient(self.lam)

    def loss(self, w: Vector) -> float:
        """Empirical risk F at ``w``, shape (d,)."""
        return empirical_loss(w, self.x, self.y, self.lam)

    def gradient(self, w: Vector) -> Vector:
        """Gradient of F at ``w``, shape (d,)."""
        out = np.empty_like(w)
        empirical_gradient(w, self.x, self.y, self.lam, out)
        return out
