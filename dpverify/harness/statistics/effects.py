"""The smallest fault that a Monte-Carlo check must detect, and the sample size for it, fixed before sampling.

The sample size follows from bounds on the tails of a variable, which also give a confidence limit for its mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from scipy import special

from dpverify.harness.statistics import exact_tests as chi_square
from dpverify.harness.statistics.exact_tests import opposite_signs_limit


@dataclass(frozen=True)
class SubGaussian:
    """Tails no heavier than Gaussian tails.

    For ||N(0, S)||, ``scale`` is the square root of the largest eigenvalue of S.
    """

    # s with ``E exp(a (X - E X)) <= exp(a**2 s**2
    # / 2)`` for all a; in units of X, above 0
    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"scale must be finite and above 0, got scale={self.scale}."
            )

    def radius(self, n: int, variance: float, alpha: float) -> float:
        """Return the one-sided radius ``scale * sqrt(2 log(1/alpha) / n)``; the sample variance is not used."""
        return self.scale * math.sqrt(2.0 * math.log(1.0 / alpha) / n)

    def worst_radius(self, n: int, alpha: float) -> float:
        """Return the radius at the largest possible sample variance, which is known before sampling."""
        return self.radius(n, 0.0, alpha)

    # one-sided deviation of the sample mean, exceeded with probability at most alpha
    deviation = worst_radius


@dataclass(frozen=True)
class Bounded:
    """Values in an interval. The limit is the empirical Bernstein bound of Maurer and Pontil (2009, theorem 4)."""

    lo: float  # ends of the interval, in units of the variable
    hi: float

    def __post_init__(self) -> None:
        if not (
            math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi
        ):
            raise ValueError(
                f"lo and hi must be finite with lo < hi, got lo={self.lo}, hi={self.hi}."
            )

    def radius(self, n: int, variance: float, alpha: float) -> float:
        """Return the one-sided distance between sample mean and mean that is exceeded with probability at most alpha.

        It is ``sqrt(2 variance log(2/alpha) / n) + 7 (hi - lo) log(2/alpha) / (3 (n - 1))``, with the sample variance
        of divisor ``n - 1``; infinite for n < 2.
        """
        if n < 2:
            return math.inf
        log_term = math.log(2.0 / alpha)
        return math.sqrt(2.0 * variance * log_term / n) + 7.0 * (
            self.hi - self.lo
        ) * log_term / (3.0 * (n - 1))

    def worst_radius(self, n: int, alpha: float) -> float:
        """Return the radius at the largest possible sample variance, which is known before sampling."""
        largest = (self.hi - self.lo) ** 2 / 4.0 * n / max(1, n - 1)
        return self.radius(n, largest, alpha)

    def deviation(self, n: int, beta: float) -> float:
        """Return the one-sided deviation exceeded with probability at most beta (Hoeffding's inequality)."""
        return (self.hi - self.lo) * math.sqrt(math.log(1.0 / beta) / (2.0 * n))


Tail = SubGaussian | Bounded


def proportion_limits(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Return Clopper-Pearson limits of a probability; each is wrong in at most a share alpha of all samples."""
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(
            f"successes must lie in 0..n and n be at least 1, got successes={successes}, n={n}."
        )
    lower = (
        0.0
        if successes == 0
        else float(special.betaincinv(successes, n - successes + 1, alpha))
    )
    upper = (
        1.0
        if successes == n
        else float(special.betainccinv(successes + 1, n - successes, alpha))
    )
    return lower, upper


SECONDS_PER_FLOAT = 1e-7  # approximate core seconds for drawing and summing a float
# largest number of replications; an effect that needs more is refused
LARGEST_SAMPLE = 10**12


class Effect(Protocol):
    """A fault of a declared size."""

    @property
    def text(self) -> str:
        """Description of the fault: "all standard deviations 1.02 times too large"."""

    @property
    def values(self) -> int:
        """Number of floats of one replication."""
        return 1

    @property
    def seconds(self) -> float:
        """Approximate core seconds of one replication, used if the plan does not declare them."""
        return SECONDS_PER_FLOAT * self.values

    def power(self, n: int, alpha: float) -> float:
        """Return the probability, or a lower bound of it, that n replications refute the fault at level alpha."""


def smallest_sample(effect: Effect, alpha: float, power: float) -> int:
    """Return the smallest number of replications with the requested power."""
    high = 1
    while effect.power(high, alpha) < power:
        high *= 2
        if high > LARGEST_SAMPLE:
            raise ValueError(
                f"effect must be seen with at most {LARGEST_SAMPLE} replications, got effect={effect.text}."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if effect.power(middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def scale_power(ratio: float, dof: float, alpha: float) -> float:
    """Return the exact power of the two-sided chi-square test against standard deviations ``ratio`` times too large."""
    above = chi_square.chi_square_upper_tail(
        chi_square.chi_square_upper_quantile(alpha / 2.0, dof) / ratio**2, dof
    )
    below = chi_square.chi_square_lower_tail(
        chi_square.chi_square_lower_quantile(alpha / 2.0, dof) / ratio**2, dof
    )
    return above + below


def correlation_power(correlation: float, length: float, alpha: float) -> float:
    """Return a lower bound of the power of the pair test against two correlated rows.

    With correlation r the score is ``r ||w_i|| + sqrt(1 - r**2) Z``. The power is at least the probability that
    ``||w_i||`` is not short, times the probability that the score of such a row exceeds the threshold.
    """
    r = abs(correlation)
    threshold = -float(special.ndtri(alpha / 2.0))
    best = 0.0
    for shortfall in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        norm = math.sqrt(chi_square.chi_square_lower_quantile(shortfall, length))
        reach = float(special.ndtr((r * norm - threshold) / math.sqrt(1.0 - r * r)))
        best = max(best, (1.0 - shortfall) * reach)
    return best


def opposite_signs_power(correlation: float, length: int, alpha: float) -> float:
    """Return the exact power against rows with correlation r.

    Opposite signs have probability ``arccos(r) / pi`` (Sheppard).
    """
    limit = opposite_signs_limit(length, alpha)
    if limit < 0:
        return 0.0
    chance = math.acos(correlation) / math.pi
    return float(
        special.bdtr(limit, length, chance)
        + special.bdtrc(length - limit - 1, length, chance)
    )


@dataclass(frozen=True)
class MeanEffect(Effect):
    """A mean moved by ``shift``, for :class:`MeanLaw` and :class:`MeanBound`."""

    shift: float  # size of the fault, in units of the statistic, above 0
    tail: Tail  # bound on the tails of the statistic
    values: int = 1  # floats of one replication

    def __post_init__(self) -> None:
        if not (math.isfinite(self.shift) and self.shift > 0):
            raise ValueError(
                f"shift must be finite and above 0, got shift={self.shift}."
            )

    @property
    def text(self) -> str:
        """Description of the fault."""
        return f"a mean off by {self.shift:.6g}"

    def power(self, n: int, alpha: float) -> float:
        """Return a lower bound of the power: the shift must cover the radius and the deviation of the sample mean."""
        room = self.shift - self.tail.worst_radius(n, alpha / 2.0)
        if room <= 0.0:
            return 0.0
        return 1.0 - _largest_error(lambda beta: self.tail.deviation(n, beta) <= room)


@dataclass(frozen=True)
class ProportionEffect(Effect):
    """A probability moved up from ``null`` by ``shift``, for :class:`ProportionBound`."""

    null: float  # the largest probability that the claim allows, in [0, 1)
    shift: float  # size of the fault; ``null + shift <= 1``

    def __post_init__(self) -> None:
        if not (0.0 <= self.null < 1.0 and 0.0 < self.shift <= 1.0 - self.null):
            raise ValueError(
                f"null must lie in [0, 1) and shift in (0, 1 - null], got null={self.null}, shift={self.shift}."
            )

    @property
    def text(self) -> str:
        """Description of the fault."""
        return f"a probability of {self.null + self.shift:.6g} where at most {self.null:.6g} is claimed"

    def power(self, n: int, alpha: float) -> float:
        """Return the exact power of the exact binomial test."""
        if self.null == 0.0:
            needed = 1
        else:
            needed = int(special.bdtrik(1.0 - alpha, n, self.null)) + 1
            while needed <= n and special.bdtrc(needed - 1, n, self.null) > alpha:
                needed += 1
            if needed > n:
                return 0.0
        return float(special.bdtrc(needed - 1, n, self.null + self.shift))


def _largest_error(covered: Callable[[float], bool]) -> float:
    """Return the smallest beta (up to a factor of 1.1) that is covered, or 1 if none is."""
    beta = 1.0
    while beta > 1e-12 and covered(beta / 1.1):
        beta /= 1.1
    return beta


FLOATS_PER_BLOCK = 1 << 22  # floats of one block of replications: 32 MB for any n


@dataclass(frozen=True)
class Plan:
    """Plan of a Monte-Carlo check.

    The power 0.9999 takes 1.4 times the replications of 0.99. With it, one control of the declared size in 10,000 is
    missed.
    """

    effect: Effect  # the smallest fault that must be detected
    alpha: float = 1e-6  # probability of refuting a true statement
    power: float = 0.9999  # probability of detecting the effect, at least 0.99
    # Core seconds of one replication. They are declared, not measured, because the
    # sample must not depend on the clock.
    seconds_each: float | None = None
    # replications of one block; by default as many as fit in 32 MB
    block: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie in (0, 1), got alpha={self.alpha}.")
        if not 0.99 <= self.power < 1.0:
            raise ValueError(f"power must lie in [0.99, 1), got power={self.power}.")
        if self.block is not None and self.block < 1:
            raise ValueError(f"block must be at least 1, got block={self.block}.")
        if self.seconds_each is not None and not self.seconds_each > 0.0:
            raise ValueError(
                f"seconds_each must be above 0, got seconds_each={self.seconds_each}."
            )

    @cached_property
    def n(self) -> int:
        """Number of replications, computed from the effect, alpha and the power."""
        return smallest_sample(self.effect, self.alpha, self.power)

    @cached_property
    def reached_power(self) -> float:
        """Power with n replications, or a lower bound if the exact value is not known."""
        return self.effect.power(self.n, self.alpha)

    @cached_property
    def block_size(self) -> int:
        """Number of replications of one block."""
        return min(self.n, self.block or max(1, FLOATS_PER_BLOCK // self.effect.values))

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n // self.block_size)

    def size_of(self, block: int) -> int:
        """Return the number of replications of a block, counted from 0. The last block may be smaller."""
        return min(self.block_size, self.n - block * self.block_size)

    def seconds(self, runs: int) -> float:
        """Return the declared core seconds if the sample is drawn ``runs`` times: once, and once per control."""
        return (self.seconds_each or self.effect.seconds) * self.n * runs
