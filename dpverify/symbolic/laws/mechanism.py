"""Mechanisms as pairs of output laws on neighbouring data, with sampling, composition and certified bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import arb, fmpq

from dpverify.symbolic.exact.numbers import (
    ONE,
    OO,
    ZERO,
    DomainError,
    UnsupportedError,
    Value,
    WorkLimitError,
    ball,
    spend,
    to_ball,
    to_value,
    working_precision,
)
from dpverify.symbolic.laws import build, divergences, law
from dpverify.symbolic.laws.build import at_least_1
from dpverify.symbolic.laws.discrete import Finite
from dpverify.symbolic.laws.divergences import BITS
from dpverify.symbolic.laws.law import Law, LawPair, as_line, check_probability, line

MOST_HISTOGRAMS = 100_000


def poisson_sampled(pair: LawPair, rate: Value) -> LawPair:
    """Return the pair for Poisson sampling with a rate.

    The neighbouring data sets are with the example and without it.
    """
    check_probability("the rate of poisson_sampled", rate)
    return LawPair(law.mixture(rate, pair.first, pair.second), pair.second)


def batch_sampled(pair: LawPair, size: Value, examples: Value) -> LawPair:
    """Return the pair for a batch of b of n examples, drawn without replacement.

    One example is replaced, and all others are equal to its replacement.
    """
    whole = at_least_1("batch_sampled", "n", examples)
    drawn = at_least_1("batch_sampled", "b", size)
    if drawn > whole:
        raise DomainError(f"batch_sampled needs b <= n, got b={drawn} and n={whole}.")
    return poisson_sampled(pair, fmpq(drawn, whole))


def self_composed(pair: LawPair, times: Value) -> LawPair:
    """Return the pair for ``times`` outputs of the mechanism on the same data."""
    count = at_least_1("self_composed", "k", times)
    return LawPair(law.repeated(pair.first, count), law.repeated(pair.second, count))


def joined(*pairs: LawPair) -> LawPair:
    """Return the pair for the outputs of several mechanisms on the same data."""
    return LawPair(
        law.product(*(p.first for p in pairs)), law.product(*(p.second for p in pairs))
    )


def shuffled(pair: LawPair, others: Law, reports: Value) -> LawPair:
    """Return the pair for a histogram of n reports: one report has a law of the pair, all others have another law.

    Let R be the law of the others. If the one report has the law P, a histogram h is ``(sum of h_j*P(j)/R(j))/n`` times
    as probable as under n reports of R. Answers with equal ratios are counted together, since the sum does not
    distinguish them.
    """
    count = at_least_1("shuffled", "n", reports)
    masses = [
        as_line(report).atoms(0, 0) for report in (pair.first, pair.second, others)
    ]
    if not all(
        as_line(report).is_finite for report in (pair.first, pair.second, others)
    ):
        raise DomainError("shuffled needs reports with finitely many values.")
    groups: list[tuple[Value, Value, Value]] = []
    for point in sorted({*masses[0], *masses[1]} | set(masses[2])):
        first, second, other = (mass.get(point, ZERO) for mass in masses)
        if other == 0 and not (first == 0 and second == 0):
            raise UnsupportedError(
                "shuffled needs others who may report whatever the pair does."
            )
        if other != 0:
            _add_to_group(groups, first, second, other)
    size = math.comb(count + len(groups) - 1, len(groups) - 1)
    if size > MOST_HISTOGRAMS:
        raise WorkLimitError(
            f"shuffled takes {size} histograms; at most {MOST_HISTOGRAMS} are summed."
        )
    spend(20 * size * len(groups))
    with working_precision(BITS):
        return _histograms(groups, count)


def _add_to_group(
    groups: list[tuple[Value, Value, Value]], first: Value, second: Value, other: Value
) -> None:
    """Merge an answer into the group with masses proportional to its own under the three laws, or start a group."""
    for i, (a, b, c) in enumerate(groups):
        times = c / other
        if _same_ratio(a, first, times) and _same_ratio(b, second, times):
            groups[i] = (a + first, b + second, c + other)
            return
    groups.append((first, second, other))


def _same_ratio(total: Value, part: Value, times: Value) -> bool:
    if isinstance(total, fmpq) and isinstance(part, fmpq) and isinstance(times, fmpq):
        return bool(total == part * times)
    difference = to_ball(total) - to_ball(part) * to_ball(times)
    return bool(abs(difference) <= abs(to_ball(total)) * arb(2) ** -60)


def _histograms(groups: list[tuple[Value, Value, Value]], count: int) -> LawPair:
    ratios = [
        (to_ball(first / other), to_ball(second / other))
        for first, second, other in groups
    ]
    chances = [to_ball(other) for _, _, other in groups]
    results: list[tuple[Value, Value]] = []
    powers = [[arb(1)] for _ in chances]
    for chance, column in zip(chances, powers, strict=True):
        for i in range(1, count + 1):
            column.append(column[-1] * chance / i)
    # This is (n - 1)!: the n! of the histogram over the n of the formula. The radius
    # covers the ratios of merged answers, which agree within 2**-60.
    scale = arb(count).gamma() * arb(1, count * arb(2) ** -58)

    def extend(group: int, left: int, product: arb, sums: tuple[arb, arb]) -> None:
        first, second = ratios[group]
        if group == len(groups) - 1:
            weight = product * powers[group][left] * scale
            results.append(
                (weight * (sums[0] + left * first), weight * (sums[1] + left * second))
            )
            return
        for used in range(left + 1):
            totals = (sums[0] + used * first, sums[1] + used * second)
            extend(group + 1, left - used, product * powers[group][used], totals)

    extend(0, count, arb(1), (arb(0), arb(0)))
    points = tuple(map(fmpq, range(len(results))))
    laws = (
        line(Finite(points, tuple(column))) for column in zip(*results, strict=True)
    )
    return LawPair(*laws)


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
        return Mechanism(poisson_sampled(self.pair, _exact(rate)))

    def batch_sampled(self, size: int, examples: int) -> Mechanism:
        """Draw a batch without replacement. One example is replaced, and all others are equal to its replacement."""
        return Mechanism(batch_sampled(self.pair, fmpq(size), fmpq(examples)))

    def composed(self, times: int) -> Mechanism:
        """Release ``times`` outputs on the same data."""
        return Mechanism(self_composed(self.pair, fmpq(times)))

    def joined(self, *others: Mechanism) -> Mechanism:
        """Release the outputs of this mechanism and of other mechanisms on the same data."""
        return Mechanism(joined(self.pair, *(other.pair for other in others)))

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
