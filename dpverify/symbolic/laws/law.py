"""A law as a mixture of components, and products of laws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flint import arb, fmpq

from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    Datum,
    DomainError,
    UndecidedError,
    Value,
    WorkLimitError,
    spend,
    to_ball,
)
from dpverify.symbolic.laws.components import Component
from dpverify.symbolic.laws.discrete import Finite, OnIntegers

MOST_POINTS = 200_000
_PARTS_OF_A_POINT = 16


class Law(Datum):
    """Base of the laws of one number or of several independent numbers."""


@dataclass(frozen=True)
class LineLaw(Law):
    """A mixture of components, all continuous or all discrete; the weights add up to 1."""

    parts: tuple[tuple[Value, Component], ...]

    @property
    def is_discrete(self) -> bool:
        """Whether the law has masses instead of a density."""
        return self.parts[0][1].is_discrete

    def kinks(self) -> list[Value]:
        """Return the kinks of all components."""
        return [kink for _, component in self.parts for kink in component.kinks()]

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return ends such that less than ``2**-bits`` of the probability is outside on each side."""
        ends = [component.reach(bits) for _, component in self.parts]
        low, high = ends[0]
        for left, right in ends[1:]:
            low = low if low <= left else left
            high = high if high >= right else right
        return low, high

    def below(self, x: arb) -> arb:
        """Return the probability of at most x under a continuous law."""
        return _total(
            to_ball(weight) * component.below(x) for weight, component in self.parts
        )

    def above(self, x: arb) -> arb:
        """Return the probability of at least x under a continuous law."""
        return _total(
            to_ball(weight) * component.above(x) for weight, component in self.parts
        )

    def between(self, left: arb, right: arb) -> arb:
        """Return the probability of an interval under a continuous law."""
        return _total(
            to_ball(weight) * component.between(left, right)
            for weight, component in self.parts
        )

    @property
    def is_finite(self) -> bool:
        """Whether the law has finitely many points."""
        return all(isinstance(component, Finite) for _, component in self.parts)

    def atoms(self, low: int, high: int) -> dict[fmpq, Value]:
        """Return all masses of the finite components, and the masses of other components between two integers."""
        masses: dict[fmpq, Value] = {}
        if not self.is_finite and high - low > MOST_POINTS:
            raise WorkLimitError(
                f"a law on the integers needs {high - low} points; at most {MOST_POINTS} are summed."
            )
        for weight, component in self.parts:
            if isinstance(component, Finite):
                spend(len(component.points))
                pairs: Iterable[tuple[fmpq, Value]] = zip(
                    component.points, component.masses, strict=True
                )
            elif isinstance(component, OnIntegers):
                spend(_PARTS_OF_A_POINT * (high - low + 1))
                pairs = (
                    (fmpq(i), component.mass(fmpq(i))) for i in range(low, high + 1)
                )
            else:
                raise DomainError("a continuous law has no masses.")
            for point, mass in pairs:
                masses[point] = masses.get(point, ZERO) + weight * mass
        return masses

    def map(self, change: str, by: Value) -> LineLaw:
        """Return the law with each component ``moved`` or ``stretched``."""
        return LineLaw(
            tuple(
                (weight, getattr(component, change)(by))
                for weight, component in self.parts
            )
        )


@dataclass(frozen=True)
class Product(Law):
    """The law of independent numbers: laws with their multiplicities."""

    factors: tuple[tuple[LineLaw, int], ...]


@dataclass(frozen=True)
class LawPair(Datum):
    """The laws of a mechanism's output on two neighbouring data sets.

    One has an example, which is removed or replaced in the other.
    """

    first: Law
    second: Law


def line(component: Component) -> LineLaw:
    """Return the law of one component."""
    return LineLaw(((ONE, component),))


def mixture(weight: Value, first: Law, second: Law) -> LineLaw:
    """Return the law that is the first law with probability ``weight``, and otherwise the second law."""
    check_probability("the weight of a mixture", weight)
    laws = as_line(first), as_line(second)
    if laws[0].is_discrete != laws[1].is_discrete:
        raise DomainError("a mixture needs two continuous laws or two discrete ones.")
    weights = weight, ONE - weight
    weighted = zip(weights, laws, strict=True)
    pairs = [
        (share * inner, component)
        for share, law in weighted
        for inner, component in law.parts
    ]
    totals: list[tuple[Value, Component]] = []
    for share, component in pairs:
        earlier = next(
            (i for i, (_, known) in enumerate(totals) if known == component), None
        )
        if earlier is None:
            totals.append((share, component))
        else:
            totals[earlier] = totals[earlier][0] + share, component
    return LineLaw(
        tuple((share, component) for share, component in totals if share != 0)
    )


def as_line(law: Law) -> LineLaw:
    """Return the law of a single number. Raise a DomainError for a product."""
    if isinstance(law, LineLaw):
        return law
    if isinstance(law, Product) and len(law.factors) == 1 and law.factors[0][1] == 1:
        return law.factors[0][0]
    raise DomainError("this needs the law of a single number, got a product.")


def factors_of(law: Law) -> tuple[tuple[LineLaw, int], ...]:
    """Return the laws of the independent numbers of a law, with their multiplicities."""
    return law.factors if isinstance(law, Product) else ((as_line(law), 1),)


def product(*laws: Law) -> Law:
    """Return the law of independent numbers with these laws."""
    return Product(tuple(factor for law in laws for factor in factors_of(law)))


def repeated(law: Law, times: int) -> Law:
    """Return the law of ``times`` independent numbers with the same law."""
    return Product(tuple((factor, count * times) for factor, count in factors_of(law)))


def paired(first: Law, second: Law) -> list[tuple[LineLaw, LineLaw, int]]:
    """Return the pairs of corresponding factors of two products with their multiplicities.

    Pairs of equal laws are omitted.
    """
    left = list(factors_of(first))
    right = list(factors_of(second))
    pairs: list[tuple[LineLaw, LineLaw, int]] = []
    while left and right:
        factor, times = left.pop(0)
        other, other_times = right.pop(0)
        count = min(times, other_times)
        if count and factor != other:
            pairs.append((factor, other, count))
        left[:0] = [(factor, times - count)] if times > count else []
        right[:0] = [(other, other_times - count)] if other_times > count else []
    if left or right:
        raise DomainError(
            "two laws are compared only if both have equally many numbers."
        )
    return pairs


def check_probability(name: str, value: Value) -> None:
    """Raise an error unless the value is in [0, 1]."""
    if value < 0 or value > 1:
        raise DomainError(f"{name} must be in [0, 1], got {value}.")
    if not (value >= 0 and value <= 1):
        raise UndecidedError(f"whether {name} is in [0, 1], for {value}.")


def check_positive(name: str, value: Value) -> None:
    """Raise an error unless the value is above 0."""
    if value <= 0:
        raise DomainError(f"{name} must be above 0, got {value}.")
    if not value > 0:
        raise UndecidedError(f"whether {name} is above 0, for {value}.")


def _total(values: Iterable[arb]) -> arb:
    return sum(values, start=arb(0))
