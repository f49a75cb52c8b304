"""Losses on a line that are quadratics near their minimum and constant far from it: bounded, Lipschitz and smooth.

Half of the examples have the sign s = 1 and half s = -1. With curvature a, reach r and offset b <= a*r

    f_s'(w) = a*w + s*b where |w| <= r; beyond it the slope goes to 0 at the rate a, and stays 0.

The mean of both is F, with the minimum F(0) = 0. On the whole line every f_s has a slope of at most a*r + b, is smooth
with a, and lies between -b^2/(2a) and a*r^2 + 2*b*r + b^2/(2a); the gradient of an example is at most b from the mean
one. Where |w| <= r, F(w) = a*w^2/2: the Polyak-Lojasiewicz condition holds with a, weak quasi-convexity with 2, both
attained. No loss but a constant has all of these on the whole line.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpverify.kernels import check


@dataclass(frozen=True)
class Plateau:
    """The losses above, with their exact constants; an ArgumentError where a number is out of range."""

    curvature: Fraction  # a, above 0
    reach: Fraction  # r, above 0
    offset: Fraction  # b, from 0 to a*r

    def __post_init__(self) -> None:
        for name, value in (("curvature", self.curvature), ("reach", self.reach)):
            if value <= 0:
                raise check.ArgumentError(name, value, "must be positive")
        if not 0 <= self.offset <= self.curvature * self.reach:
            raise check.ArgumentError("offset", self.offset, "must be from 0 to curvature*reach")

    @property
    def lipschitz(self) -> Fraction:
        """Largest slope of an example."""
        return self.curvature * self.reach + self.offset

    @property
    def bound(self) -> Fraction:
        """Largest absolute value of an example's loss."""
        a = self.curvature
        return a * self.reach**2 + 2 * self.offset * self.reach + self.offset**2 / (2 * a)

    @property
    def theta(self) -> Fraction:
        """Constant of weak quasi-convexity where |w| <= reach; that of Polyak and Lojasiewicz is the curvature."""
        return Fraction(2)

    def slope(self, w: Fraction, sign: int) -> Fraction:
        """Slope of an example with this sign at ``w``."""
        beyond = max(abs(w) - self.reach, Fraction(0))
        side = 1 if w > 0 else -1
        at_end = self.curvature * (w - side * beyond) + sign * self.offset
        return side * max(side * at_end - self.curvature * beyond, Fraction(0)) if beyond else at_end
