"""A slope that ends in a valley: a family of losses with the worst case of each term of the utility theorems.

The loss depends only on the first coordinate u of w. The mean loss falls with slope s
for a distance D from the start, then bends as fast as smoothness L allows, and rises
again with a slope of at most r:

    F'(u) = min(s, max(-r, s + L (u + D))),          w_1 = 0.

For r = 0 the loss is constant below ``u = -D - s/L``. Example n has the loss
``F(u) + a_n u``. The offsets a_n are -a, 0 or a, with mean 0. So
``F(w_1) - inf F = s D + s^2/(2L)``, every gradient is at most ``max(s, r) + a``, and
all Hessians lie between 0 and L. This gives exact R, G and L.

- ``a = 0``: identical examples. The errors of the momentum are its start-up bias, its lag and the privacy noise.
- D at least the distance of the whole run: a ramp that no run can leave.
- ``s`` much smaller than a: antipodal gradients. Sampling noise determines the steps.
- ``r = s``, D small and L large: curvature. Steps of fixed length overshoot the valley.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.typing import ExampleGradient, Matrix, Vector

# positions in the row of an example
SLOPE = 0
DROP = 1
SMOOTHNESS = 2
RISE = 3
OFFSET = 4


@kernel
def slope_at(u: float, row: Vector) -> float:
    """Return F'(u); ``row``, shape (4,) or (5,), begins with s, D, L and r."""
    slope: float = row[SLOPE]
    bent: float = slope + row[SMOOTHNESS] * (u + row[DROP])
    rise: float = row[RISE]
    return min(slope, max(-rise, bent))


@inner_kernel
def example_gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    """Write the gradient of one example, shape (d,), to ``out``; ``x_row`` has s, D, L, r and a_n."""
    for j in range(w.shape[0]):
        out[j] = 0.0
    out[0] = slope_at(w[0], x_row) + x_row[OFFSET]


@dataclass(frozen=True)
class Slope:
    """A slope that ends in a valley; a ``Problem``."""

    examples: int  # N and d, at least 1
    dimension: int
    slope: float  # s, above 0, in units of the gradient
    drop: float  # D, at least 0, a length
    smoothness: float  # L, above 0, in units of the gradient per length
    rise: float = 0.0  # r, at least 0, in units of the gradient
    # a, at least 0, in units of the gradient; if N is odd, one example has offset 0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("examples", "dimension"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} must be at least 1, got {name}={getattr(self, name)}."
                )
        for name in ("slope", "smoothness"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be positive and finite, got {name}={getattr(self, name)}."
                )
        for name in ("drop", "rise", "offset"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be at least 0 and finite, got {name}={getattr(self, name)}."
                )

    @property
    def offsets(self) -> Vector:
        """The offsets a_n, shape (N,); they add up to 0 exactly."""
        signs = np.where(np.arange(self.examples) % 2, -1.0, 1.0)
        if self.examples % 2:
            signs[-1] = 0.0
        return self.offset * signs

    @property
    def numbers(self) -> Vector:
        """The argument ``row`` of ``slope_at``, shape (4,)."""
        return np.array([self.slope, self.drop, self.smoothness, self.rise])

    @property
    def x(self) -> Matrix:
        """Rows s, D, L, r, a_n, shape (N, 5)."""
        return np.column_stack(
            [np.tile(self.numbers, (self.examples, 1)), self.offsets]
        )

    @property
    def y(self) -> Vector:
        """Labels, which are not used."""
        return np.zeros(self.examples)

    @property
    def start(self) -> Vector:
        """w_1 = 0, shape (d,)."""
        return np.zeros(self.dimension)

    @property
    def lipschitz(self) -> float:
        """G: ``max(s, r) + a``, attained."""
        return max(self.slope, self.rise) + self.offset

    @property
    def gap(self) -> float:
        """R: ``F(w_1) - inf F = s D + s^2/(2L)``, up to the rounding of three operations."""
        return self.slope * self.drop + self.slope**2 / (2.0 * self.smoothness)

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return example_gradient

    def loss(self, w: Vector) -> float:
        """Return F at ``w``, shape (d,), with ``inf F = 0``."""
        s = self.slope
        smooth = self.smoothness
        rise = self.rise
        # distance from the lowest point, or from the flat part
        low = float(w[0]) + self.drop + s / smooth
        if low >= s / smooth:
            return s * low - s**2 / (2.0 * smooth)
        return (
            smooth * low**2 / 2.0
            if low >= -rise / smooth
            else -rise * low - rise**2 / (2.0 * smooth)
        )

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        out = np.zeros(self.dimension)
        out[0] = min(
            self.slope,
            max(-self.rise, self.slope + self.smoothness * (float(w[0]) + self.drop)),
        )
        return out
