"""Mechanisms as pairs of output laws on neighbouring data, with sampling, composition and certified bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import fmpq

from dpverify.symbolic.exact.numbers import (
    ONE,
    OO,
    ZERO,
    Value,
    ball,
    to_value,
    working_precision,
)
from dpverify.symbolic.laws import build, divergences
from dpverify.symbolic.laws.divergences import BITS
from dpverify.symbolic.laws.law import Law, LawPair

Real: TypeAlias = int | float | Fraction


class CertifiedBounds(NamedTuple):
    """A certified lower and upper bound of a value."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, represented by the laws of its output on two neighbouring data sets.

    The first law is that of the data with an example. The second law is that of the
    data without the example, or with another example in its place. Privacy parameters
    hold for every event and in both directions. Scales of noise are for a query of
    sensitivity 1.

    Attributes
    ----------
    pair : LawPair
        Both laws.

    Examples
    --------
    >>> import dpverify as dv
    >>> steps = dv.Mechanism.gaussian(1).poisson_sampled(0.01).composed(1000)
    >>> bounds = steps.epsilon(1e-5)
    >>> 1.82 < bounds.lower < bounds.upper < 1.84
    True
    """

    pair: LawPair

    @classmethod
    def of(cls, first: Law, second: Law) -> Mechanism:
        """Make the mechanism of two laws."""
        return cls(LawPair(first, second))

    @classmethod
    def _of_noise(cls, noise: Callable[[Value, Value], Law], scale: Real) -> Mechanism:
        """Make the mechanism that adds noise of a family to a query that is 1 with the example and 0 without it."""
        exact = _exact(scale)
        return cls.of(noise(ONE, exact), noise(ZERO, exact))

    @classmethod
    def gaussian(cls, sigma: Real) -> Mechanism:
        """Make Gaussian noise of this standard deviation."""
        return cls._of_noise(build.normal_law, sigma)

    @classmethod
    def laplace(cls, scale: Real) -> Mechanism:
        """Make Laplace noise of this scale."""
        return cls._of_noise(build.laplace_law, scale)

    @classmethod
    def discrete_gaussian(cls, sigma: Real) -> Mechanism:
        """Make discrete Gaussian noise on an integer."""
        return cls._of_noise(build.discrete_normal_law, sigma)

    @classmethod
    def discrete_laplace(cls, scale: Real) -> Mechanism:
        """Make discrete Laplace noise on an integer."""
        return cls._of_noise(build.discrete_laplace_law, scale)

    @classmethod
    def randomized_response(cls, epsilon: Real, choices: int = 2) -> Mechanism:
        """Make randomized response with this epsilon and this number of choices."""
        with working_precision(BITS):
            reports = [
                build.response_law(fmpq(choices), _exact(epsilon), answer)
                for answer in (ZERO, ONE)
            ]
        return cls.of(*reports)

    def poisson_sampled(self, rate: Real) -> Mechanism:
        """Sample each example with a probability. The neighbouring data sets are with an example and without it."""
        return Mechanism(build.poisson_sampled(self.pair, _exact(rate)))

    def batch_sampled(self, size: int, examples: int) -> Mechanism:
        """Draw a batch without replacement. One example is replaced, and all others are equal to its replacement."""
        return Mechanism(build.batch_sampled(self.pair, fmpq(size), fmpq(examples)))

    def composed(self, times: int) -> Mechanism:
        """Release ``times`` outputs on the same data."""
        return Mechanism(build.self_composed(self.pair, fmpq(times)))

    def joined(self, *others: Mechanism) -> Mechanism:
        """Release the outputs of this mechanism and of other mechanisms on the same data."""
        return Mechanism(build.joined(self.pair, *(other.pair for other in others)))

    def delta(self, epsilon: Real) -> CertifiedBounds:
        """Bound the smallest delta at epsilon >= 0."""
        return _bounds(
            divergences.privacy_delta(
                self.pair.first, self.pair.second, _exact(epsilon)
            )
        )

    def epsilon(self, delta: Real) -> CertifiedBounds:
        """Bound the smallest epsilon at delta > 0."""
        return _bounds(
            divergences.privacy_epsilon(
                self.pair.first, self.pair.second, _exact(delta)
            )
        )

    def renyi(self, order: Real) -> CertifiedBounds:
        """Bound the Renyi divergence at an order above 1."""
        return _bounds(
            divergences.privacy_renyi(self.pair.first, self.pair.second, _exact(order))
        )

    def zcdp(self) -> CertifiedBounds:
        """Bound the smallest rho of zero-concentrated differential privacy."""
        return _bounds(divergences.privacy_zcdp(self.pair.first, self.pair.second))

    def pure_epsilon(self) -> CertifiedBounds:
        """Bound the smallest epsilon with delta = 0, which is infinite if there is none."""
        return _bounds(divergences.pure_epsilon(self.pair.first, self.pair.second))


def _exact(number: Real) -> Value:
    return to_value(Fraction(number))


def _bounds(value: Value) -> CertifiedBounds:
    """Return floats on both sides of a value."""
    with working_precision(BITS):
        enclosure = ball(value)
        if enclosure == OO:
            return CertifiedBounds(math.inf, math.inf)
        lower = math.nextafter(float(enclosure.lower()), -math.inf)
        return CertifiedBounds(
            lower, math.nextafter(float(enclosure.upper()), math.inf)
        )
