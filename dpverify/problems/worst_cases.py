"""Small problems with exact constants, on which one term of an error bound is as large as possible.

The loss of every example is a clipped quadratic around a centre c:

    f(w, c) = L*r**2/2 where r <= G/L,   G*r - G**2/(2L) beyond,   r = ‖w - c‖.

It is convex, its gradient has norm ``min(L*r, G)``, and its Hessian lies between 0 and L. So it is G-Lipschitz and
L-smooth, and both constants are attained. The centres determine the worst case. The start is always w_1 = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.kernels import check
from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.problems.logistic_bounds import PRECISION, upward


@lru_cache(maxsize=32)
def signed_gradient(G: float, L: float) -> ExampleGradient:
    """Write y times L (w - x_row), clipped to length G, to ``out``; y is 1 or -1."""
    G, L = check.positive(G=G), check.positive(L=L)

    @inner_kernel
    def gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        r = 0.0
        for j in range(w.shape[0]):
            out[j] = w[j] - x_row[j]
            r += out[j] * out[j]
        r = math.sqrt(r)
        slope = y * (L if L * r <= G else G / r)
        for j in range(w.shape[0]):
            out[j] *= slope

    return gradient


class ClippedQuadratic:
    """Clipped quadratics around centres; a ``Problem``. Shapes: ``centres`` (n, d)."""

    def __init__(self, centres: Matrix, G: float, L: float, gap: float) -> None:
        self.x = np.ascontiguousarray(centres, dtype=np.float64)
        self.y = np.ones(len(self.x))
        self.start = np.zeros(self.x.shape[1])
        self.lipschitz, self.smoothness = check.positive(G=G), check.positive(L=L)
        self.gap = gap

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return signed_gradient(self.lipschitz, self.smoothness)

    def loss(self, w: Vector) -> float:
        """Return the empirical risk F at ``w``, shape (d,)."""
        G = self.lipschitz
        L = self.smoothness
        r = np.linalg.norm(w - self.x, axis=1)
        return float(np.where(L * r <= G, L * r**2 / 2, G * r - G**2 / (2 * L)).mean())

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        away = w - self.x
        r = np.linalg.norm(away, axis=1)
        G = self.lipschitz
        L = self.smoothness
        mean: Vector = (
            away * np.where(L * r <= G, L, G / np.maximum(r, G / L))[:, None]
        ).mean(axis=0)
        return mean


def identical(n: int, d: int, G: float, L: float, distance: float) -> ClippedQuadratic:
    """Return a problem with all n centres at ``distance`` on the first axis.

    If ``distance > G/L``, the gradient has the constant norm G and a constant direction, so the only error of a
    momentum that starts at 0 is its start-up bias. Otherwise the problem is a ramp: the gradient changes by L per unit
    of distance, the largest drift for a momentum that lags behind. ``inf F = 0``, so ``gap = F(0)``, rounded up.
    """
    centres = np.zeros((n, d))
    centres[:, 0] = distance
    with ctx.workprec(PRECISION):
        g = arb(G)
        ell = arb(L)
        r = arb(distance)
        gap = upward(ell * r**2 / 2 if ell * r <= g else g * r - g**2 / (2 * ell))
    return ClippedQuadratic(centres, G, L, gap)


def antipodal(n: int, d: int, G: float, L: float) -> ClippedQuadratic:
    """Return a problem with half of the centres at ``G/L`` and half at ``-G/L`` on the first axis.

    At w_1 = 0 the gradients of the examples are G and -G and cancel. By symmetry and convexity, F is at its minimum.
    The error of a sampled gradient is only sampling noise, the largest that G allows.
    """
    if n < 2 or n % 2:
        raise ValueError(f"n must be even and at least 2, got n={n}.")
    centres = np.zeros((n, d))
    centres[:, 0] = np.where(np.arange(n) % 2, -G / L, G / L)
    return ClippedQuadratic(centres, G, L, 0.0)


def clipped_pulls(
    centres: Matrix, signs: Vector, largest_norm: float
) -> Callable[[Vector, Indices], Matrix]:
    """Return the gradients, as a function, for centres (n, d) and L = 1: sign times w - centre, clipped to ``most``."""

    def gradients(w: Vector, batch: Indices) -> Matrix:
        displacement = w - centres[batch]
        length = np.linalg.norm(displacement, axis=1, keepdims=True)
        pulls: Matrix = (
            signs[batch, np.newaxis]
            * displacement
            * np.minimum(1.0, largest_norm / np.maximum(length, 1e-300))
        )
        return pulls

    return gradients
