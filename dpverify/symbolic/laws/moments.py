"""Tails and moments of the law of one number, as balls or exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    DomainError,
    UnsupportedError,
    Value,
    spend,
    to_ball,
    working_precision,
)
from dpverify.symbolic.laws.components import (
    Component,
    Exponential,
    Finite,
    Laplace,
    Normal,
    OnIntegers,
    Uniform,
)
from dpverify.symbolic.laws.divergences import BITS
from dpverify.symbolic.laws.law import Law, as_line

_SMALL = arb(2) ** -100  # largest tail of a sum, relative to the sum
_MOST_TERMS = 200_000
_PARTS_OF_A_TERM = 6


def tail_of(base: Law, x: Value) -> Value:
    """Return the probability of at least x."""
    line = as_line(base)
    with working_precision(BITS):
        if not line.is_discrete:
            return line.above(to_ball(x))
        return sum(
            (weight * _discrete_tail(component, x) for weight, component in line.parts),
            start=ZERO,
        )


def _discrete_tail(component: Component, x: Value) -> Value:
    if isinstance(component, Finite):
        pairs = zip(component.points, component.masses, strict=True)
        return sum(
            (mass for point, mass in pairs if _is_at_least(point, x)), start=ZERO
        )
    if not isinstance(component, OnIntegers):
        raise DomainError("a continuous law has no masses.")
    start = elementary.ceil(x)
    first = elementary.as_int("tail_of", "ceil(x)", start)
    if first <= component.mean:
        return 1 - _sum_beyond(component, fmpq(first - 1), -1, 0)
    return _sum_beyond(component, fmpq(first), 1, 0)


def _is_at_least(point: fmpq, x: Value) -> bool:
    if point >= x:
        return True
    if point < x:
        return False
    raise UnsupportedError(f"whether {point} is at least {x}.")


def _sum_beyond(component: OnIntegers, start: fmpq, side: int, power: int) -> arb:
    """Return the sum of ``|i|**power`` times the mass over the integers from a start outwards.

    Beyond the mean and 0 the logarithm of a term is concave, so the ratio of successive terms decreases.
    """
    total = arb(0)
    place = start
    before = None
    for _ in range(_MOST_TERMS):
        spend(_PARTS_OF_A_TERM)
        term = to_ball(component.mass(place)) * abs(arb(place)) ** power
        total += term
        is_outside = side * place > max(side * component.mean, ZERO) + 1
        if before is not None and is_outside and term < before:
            ratio = term / before
            tail = (term * ratio / (1 - ratio)).upper()
            if tail <= _SMALL * total:
                return total + tail * arb(0.5, 0.5)
        before = term
        place += side
    raise UnsupportedError(
        f"a sum over the integers has more than {_MOST_TERMS} terms."
    )


def moment_of(base: Law, power: Value) -> Value:
    """Return the expectation of the number to an integer power."""
    order = elementary.as_int("moment_of", "k", power)
    if order < 0:
        raise DomainError(f"moment_of needs k >= 0, got {order}.")
    with working_precision(BITS):
        parts = as_line(base).parts
        return sum(
            (weight * _moment(component, order) for weight, component in parts),
            start=ZERO,
        )


def _moment(component: Component, order: int) -> Value:
    if isinstance(component, Finite):
        spend(len(component.points))
        pairs = zip(component.points, component.masses, strict=True)
        return sum((mass * point**order for point, mass in pairs), start=ZERO)
    if isinstance(component, OnIntegers):
        return _expanded(
            component.mean, ONE, [_centred(component, j) for j in range(order + 1)]
        )
    if isinstance(component, Uniform):
        powers = component.high ** (order + 1) - component.low ** (order + 1)
        return powers / ((order + 1) * (component.high - component.low))
    if isinstance(component, Normal):
        double = [
            ONE if j == 0 else fmpq(math.prod(range(1, j, 2))) if j % 2 == 0 else ZERO
            for j in range(order + 1)
        ]
        return _expanded(component.mean, component.deviation, double)
    if isinstance(component, Laplace):
        factorials = [
            fmpq(math.factorial(j)) if j % 2 == 0 else ZERO for j in range(order + 1)
        ]
        return _expanded(component.mean, component.scale, factorials)
    if isinstance(component, Exponential):
        return _expanded(
            component.start,
            component.scale,
            [fmpq(math.factorial(j)) for j in range(order + 1)],
        )
    raise UnsupportedError("the moments of this law are not known.")


def _centred(component: OnIntegers, order: int) -> Value:
    """Return the moment around the mean, which is 0 for an odd order."""
    if order == 0:
        return ONE
    return (
        ZERO
        if order % 2
        else 2 * _sum_beyond(type(component)(ZERO, component.scale), fmpq(1), 1, order)
    )


def _expanded(mean: Value, scale: Value, standard: Sequence[Value]) -> Value:
    """Return the moment of ``mean + scale*X`` from the moments of X."""
    order = len(standard) - 1
    terms = (
        math.comb(order, j) * mean ** (order - j) * scale**j * standard[j]
        for j in range(order + 1)
    )
    return sum(terms, start=ZERO)


def mean_of(base: Law) -> Value:
    """Return the expectation."""
    return moment_of(base, ONE)


def variance_of(base: Law) -> Value:
    """Return the variance."""
    with working_precision(BITS):
        return moment_of(base, fmpq(2)) - mean_of(base) ** 2


def absolute_moment_of(base: Law, power: Value) -> Value:
    """Return the expectation of the absolute value to an integer power.

    An odd power needs a finite law, or a law that is symmetric about 0.
    """
    order = elementary.as_int("absolute_moment_of", "k", power)
    if order >= 0 and order % 2 == 0:
        return moment_of(base, power)
    with working_precision(BITS):
        parts = as_line(base).parts
        return sum(
            (weight * _absolute(component, order) for weight, component in parts),
            start=ZERO,
        )


def _absolute(component: Component, order: int) -> Value:
    if order < 0:
        raise DomainError(f"absolute_moment_of needs k >= 0, got {order}.")
    if isinstance(component, Finite):
        pairs = zip(component.points, component.masses, strict=True)
        return sum((mass * abs(point) ** order for point, mass in pairs), start=ZERO)
    if isinstance(component, Normal) and component.mean == 0:
        half = arb(order + 1) / 2
        return (
            to_ball(component.deviation) ** order
            * arb(2) ** (arb(order) / 2)
            * half.gamma()
            / arb.pi().sqrt()
        )
    if isinstance(component, Laplace) and component.mean == 0:
        return component.scale**order * math.factorial(order)
    if isinstance(component, OnIntegers) and component.mean == 0:
        return 2 * _sum_beyond(component, fmpq(1), 1, order)
    raise UnsupportedError(
        "an odd absolute moment is known for finite laws and for those symmetric about 0."
    )
