"""Nonconvex losses with known constants for all assumptions: quadratics plus a wave, and plateaus.

**Waves.** Quadratics with any spectrum plus a wave:

    F(w) = 1/2 sum_j a_j (w_j**2 + c sin(w_j)**2),      f_i(w) = F(w) + <b_i, w>,      sum_i b_i = 0.

For c = 0, F is the quadratic with the spectrum a; for c > 1, it is not convex. Its only
minimizer is 0, with F(0) = 0, as long as the constants below are positive, which is
true up to c = 4. With ``s(u) = sin(u)/u``, for each coordinate:

* ``F_j' = a_j w_j (1 + c s(2 w_j))`` and ``F_j'' = a_j (1 + c cos(2 w_j))``: F and every f_i are smooth with
  ``beta = (1 + c) max a``, which is attained at 0.
* ``|F_j'|**2 >= 2 mu F_j`` with ``mu = a_j min (1 + c s(2u))**2 / (1 + c s(u)**2)``: the Polyak-Lojasiewicz condition.
  The sum F satisfies it with the smallest a_j.
* ``w_j F_j' >= theta F_j`` with ``theta = min 2 (1 + c s(2u)) / (1 + c s(u)**2)``: weak quasi-convexity, around 0.
* The variance of the gradient of an example is the mean of ``|b_i|**2`` at every w.
* ``|F_j'| <= a_j min((1 + c)|w_j|, |w_j| + c/2)``: a Lipschitz constant within a radius only. (Only constant losses
  have this constant and all others on the whole space.)

Both minima are bounded from below by ball arithmetic on pieces of [0, END], and beyond
END by ``|s(2u)| <= 1/(2u)`` and ``s(u)**2 <= 1/u**2``.

**Plateaus.** Losses on the real line that are quadratic near their minimum and constant
far from it. They are bounded, Lipschitz and smooth. Half of the examples have the sign
s = 1 and half s = -1. With curvature a, reach r and offset b <= a*r

    f_s'(w) = a*w + s*b where |w| <= r; beyond it the slope goes to 0 at the rate a, and
    stays 0.

F is the mean of f_1 and f_-1, with the minimum F(0) = 0. On the whole line, the slope of every f_s is at most a*r + b,
f_s is a-smooth, and it lies between -b^2/(2a) and a*r^2 + 2*b*r + b^2/(2a). The gradient of an example is within b of
the mean gradient. For |w| <= r, F(w) = a*w^2/2, so the Polyak-Lojasiewicz condition holds with a, and weak
quasi-convexity holds with 2; both are attained. Only constant losses satisfy all of these on the whole line.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.kernels import check
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.logistic_bounds import PRECISION, upward

# end of the last piece, and number of pieces
END = 64
PIECES = 1 << 14


@dataclass(frozen=True)
class RegionConstants:
    """Constants of the five assumptions, rounded to the safe side; all but the first hold on the whole space.

    Attributes
    ----------
    lipschitz : float
        L, an upper bound on the norm of every example's gradient for ``|w| <= radius``.
    radius : float
        Radius within which the Lipschitz constant holds.
    smoothness : float
        beta, an upper bound on the norm of every Hessian.
    mu, theta : float
        Lower bounds on the best constants of the Polyak-Lojasiewicz condition and of
        weak quasi-convexity.
    variance : float
        sigma^2, an upper bound on the mean squared distance of an example's gradient
        from the mean gradient.
    """

    lipschitz: float
    radius: float
    smoothness: float
    mu: float
    theta: float
    variance: float


class Waves:
    """Quadratics plus a wave, as defined above; a ``BatchMean``, so that descent can run on it.

    Parameters
    ----------
    curvatures : (d,) array of float
        a, above 0.
    wave : float
        c, at least 0.
    offsets : (n, d) array of float
        b; its columns add up to 0.

    Raises
    ------
    ArgumentError
        If a number is out of range, the columns do not add up to 0, or no positive
        constant can be certified because the wave is too high.
    """

    def __init__(self, curvatures: Vector, wave: float, offsets: Matrix) -> None:
        self.curvatures = check.array(None, curvatures=curvatures)
        if not self.curvatures.min() > 0.0:
            raise check.ArgumentError(
                "curvatures", self.curvatures.min(), "must be positive"
            )
        self.wave = check.not_negative(wave=wave)
        self.offsets = check.array(None, len(self.curvatures), offsets=offsets)
        if self.offsets.sum(axis=0).any():
            raise check.ArgumentError(
                "offsets", self.offsets.sum(axis=0), "must add up to 0 in each column"
            )
        self.mu_share, self.theta = certified_shares(self.wave)

    def loss(self, w: Vector) -> float:
        """Return F at ``w``, shape (d,)."""
        return float(self.curvatures @ (w * w + self.wave * np.sin(w) ** 2)) / 2.0

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        out: Vector = self.curvatures * (w + self.wave / 2.0 * np.sin(2.0 * w))
        return out

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the batch's gradients at ``w`` to ``out``."""
        out[:] = self.gradient(w) + self.offsets[batch].mean(axis=0)

    def constants(self, radius: float) -> RegionConstants:
        """Return the constants; the Lipschitz constant holds for ``|w| <= radius``."""
        a = self.curvatures
        c = self.wave
        R = check.positive(radius=radius)
        with ctx.workprec(PRECISION):
            squares = [
                sum((arb(b) ** 2 for b in row), arb(0)) for row in self.offsets.tolist()
            ]
            largest = arb(float(a.max()))
            least = arb(float(a.min()))
            size = sum((arb(x) ** 2 for x in a.tolist()), arb(0))
            steep = min(
                upward(largest * (1 + arb(c)) * arb(R)),
                upward(largest * arb(R) + arb(c) / 2 * size.sqrt()),
            )
            return RegionConstants(
                lipschitz=upward(
                    arb(steep) + arb(max(upward(square.sqrt()) for square in squares))
                ),
                radius=R,
                smoothness=upward(largest * (1 + arb(c))),
                mu=-upward(-least * arb(self.mu_share)),
                theta=self.theta,
                variance=upward(sum(squares, arb(0)) / len(squares)),
            )


@lru_cache(maxsize=32)
def certified_shares(wave: float) -> tuple[float, float]:
    """Return lower bounds on ``min (1 + c s(2u))^2/(1 + c s(u)^2)`` and ``min 2 (1 + c s(2u))/(1 + c s(u)^2)``."""
    with ctx.workprec(PRECISION):
        c = arb(wave)
        end = arb(END)
        half = arb(END) / (2 * PIECES)
        # beyond the last piece; at u = 0 both expressions are larger
        slope = 1 - c / (2 * end)
        size = 1 + c / end**2
        both = [(slope, size)]
        for k in range(PIECES):
            u = (2 * k + 1) * half + arb(0, half.upper())
            both.append((1 + c * (2 * u).sinc(), 1 + c * u.sinc() ** 2))
        if not all(slope > 0 for slope, _ in both):
            raise check.ArgumentError(
                "wave",
                wave,
                "must be so low that no second place has the gradient 0: try 4",
            )
        mu = max(upward(-(slope**2) / size) for slope, size in both)
        theta = max(upward(-2 * slope / size) for slope, size in both)
    return -mu, -theta


@dataclass(frozen=True)
class Plateau:
    """Plateaus, as defined above, with their exact constants; an ArgumentError if a number is out of range."""

    curvature: Fraction  # a, above 0
    reach: Fraction  # r, above 0
    offset: Fraction  # b, from 0 to a*r

    def __post_init__(self) -> None:
        for name, value in (("curvature", self.curvature), ("reach", self.reach)):
            if value <= 0:
                raise check.ArgumentError(name, value, "must be positive")
        if not 0 <= self.offset <= self.curvature * self.reach:
            raise check.ArgumentError(
                "offset", self.offset, "must be from 0 to curvature*reach"
            )

    @property
    def lipschitz(self) -> Fraction:
        """Largest slope of an example."""
        return self.curvature * self.reach + self.offset

    @property
    def bound(self) -> Fraction:
        """Largest absolute value of an example's loss."""
        a = self.curvature
        return (
            a * self.reach**2 + 2 * self.offset * self.reach + self.offset**2 / (2 * a)
        )

    @property
    def theta(self) -> Fraction:
        """Constant of weak quasi-convexity for |w| <= reach; the Polyak-Lojasiewicz constant is the curvature."""
        return Fraction(2)

    def slope(self, w: Fraction, sign: int) -> Fraction:
        """Return the slope at ``w`` of an example with this sign."""
        beyond = max(abs(w) - self.reach, Fraction(0))
        side = 1 if w > 0 else -1
        at_end = self.curvature * (w - side * beyond) + sign * self.offset
        return (
            side * max(side * at_end - self.curvature * beyond, Fraction(0))
            if beyond
            else at_end
        )
