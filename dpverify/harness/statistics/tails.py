"""What is known of a variable's tails, and the confidence limit for its mean that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special


@dataclass(frozen=True)
class SubGaussian:
    """Tails no heavier than a Gaussian's, as of ||N(0, S)|| with ``scale`` the root of S's largest eigenvalue."""

    scale: float  # s with ``E exp(a (X - E X)) <= exp(a**2 s**2 / 2)`` for all a; in units of X, above 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be finite and above 0, got scale={self.scale}.")

    def radius(self, n: int, variance: float, alpha: float) -> float:
        """One-sided radius at alpha, ``scale * sqrt(2 log(1/alpha) / n)``; the sample variance is not used."""
        return self.scale * math.sqrt(2.0 * math.log(1.0 / alpha) / n)

    def worst_radius(self, n: int, alpha: float) -> float:
        """Radius at the largest sample variance there can be; known before the sample is drawn."""
        return self.radius(n, 0.0, alpha)

    deviation = worst_radius  # how far the sample mean strays on one side, except with probability alpha


@dataclass(frozen=True)
class Bounded:
    """Values in an interval; the limit is the empirical Bernstein bound of Maurer and Pontil (2009, theorem 4)."""

    lo: float  # ends of the interval, in units of the variable
    hi: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi):
            raise ValueError(f"lo and hi must be finite with lo < hi, got lo={self.lo}, hi={self.hi}.")

    def radius(self, n: int, variance: float, alpha: float) -> float:
        """How far the sample mean may lie on one side of the mean, except with probability alpha.

        ``sqrt(2 variance log(2/alpha) / n) + 7 (hi - lo) log(2/alpha) / (3 (n - 1))``, with the sample variance of
        divisor ``n - 1``; infinite for n < 2.
        """
        if n < 2:
            return math.inf
        log_term = math.log(2.0 / alpha)
        return math.sqrt(2.0 * variance * log_term / n) + 7.0 * (self.hi - self.lo) * log_term / (3.0 * (n - 1))

    def worst_radius(self, n: int, alpha: float) -> float:
        """Radius at the largest sample variance there can be; known before the sample is drawn."""
        largest = (self.hi - self.lo) ** 2 / 4.0 * n / max(1, n - 1)
        return self.radius(n, largest, alpha)

    def deviation(self, n: int, beta: float) -> float:
        """How far the sample mean strays on one side, except with probability beta (Hoeffding's inequality)."""
        return (self.hi - self.lo) * math.sqrt(math.log(1.0 / beta) / (2.0 * n))


Tail = SubGaussian | Bounded


def proportion_limits(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Clopper-Pearson limits of a probability, each of which is wrong in at most a share alpha of all samples."""
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..n and n be at least 1, got successes={successes}, n={n}.")
    lower = 0.0 if successes == 0 else float(special.betaincinv(successes, n - successes + 1, alpha))
    upper = 1.0 if successes == n else float(special.betainccinv(successes + 1, n - successes, alpha))
    return lower, upper
