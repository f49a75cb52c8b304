"""Functions on laws that formulas may call, by name: among them tails and moments, as balls or exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, fmpq

from dpverify.ledger.formula import Formula
from dpverify.ledger.formula.tree import SIGNATURES
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
from dpverify.symbolic.laws import build, divergences, law, mechanism
from dpverify.symbolic.laws.components import (
    Component,
    Exponential,
    Laplace,
    Normal,
    Uniform,
)
from dpverify.symbolic.laws.discrete import Finite, OnIntegers
from dpverify.symbolic.laws.divergences import BITS
from dpverify.symbolic.laws.law import Law, LawPair, as_line

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


Closure = Callable[[dict[str, Any]], Any]


def delta_of(pair: LawPair, epsilon: Value) -> Value:
    """Return the smallest delta at epsilon that holds in both directions."""
    return divergences.privacy_delta(pair.first, pair.second, epsilon)


def epsilon_of(pair: LawPair, delta: Value) -> Value:
    """Return the smallest epsilon >= 0 at delta that holds in both directions."""
    return divergences.privacy_epsilon(pair.first, pair.second, delta)


def renyi_of(pair: LawPair, order: Value) -> Value:
    """Return the larger Renyi divergence of both directions."""
    return divergences.privacy_renyi(pair.first, pair.second, order)


def zcdp_of(pair: LawPair) -> Value:
    """Return the smallest rho of zero-concentrated differential privacy."""
    return divergences.privacy_zcdp(pair.first, pair.second)


def pure_epsilon_of(pair: LawPair) -> Value:
    """Return the smallest epsilon with delta = 0."""
    return divergences.pure_epsilon(pair.first, pair.second)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, names in (
        (
            build,
            "laplace_law normal_law exponential_law uniform_law discrete_normal_law discrete_laplace_law",
        ),
        (
            build,
            "binomial_law response_law finite_law point_law above_threshold_law shifted scaled repeated",
        ),
        (mechanism, "poisson_sampled batch_sampled self_composed joined shuffled"),
        (law, "mixture product"),
        (divergences, "hockey_stick total_variation renyi kl zcdp max_divergence"),
    )
    for name in names.split()
} | {
    "tail_of": tail_of,
    "moment_of": moment_of,
    "absolute_moment_of": absolute_moment_of,
    "mean_of": mean_of,
    "variance_of": variance_of,
    "neighbours": LawPair,
    "delta_of": delta_of,
    "epsilon_of": epsilon_of,
    "renyi_of": renyi_of,
    "zcdp_of": zcdp_of,
    "pure_epsilon_of": pure_epsilon_of,
}

# of the divergences and moments in progress, the outermost first
_memos: list[dict[Formula, Any]] = []


def returns_law(name: str) -> bool:
    """Test whether a function returns a law or a pair. Equal formulas in its arguments share one value object."""
    return name in SIGNATURES and SIGNATURES[name].value != "number"


def with_shared_value(node: Formula, closure: Closure) -> Closure:
    """Return a closure that computes a number once for all laws of a divergence, so that they share one ball."""

    def value(env: dict[str, Any]) -> Any:
        if not _memos:
            return closure(env)
        memo = _memos[-1]
        if node not in memo:
            memo[node] = closure(env)
        return memo[node]

    return value


def apply_with_shared_values(
    function: Callable[..., Any], closures: tuple[Closure, ...]
) -> Closure:
    """Return a closure that applies a divergence or a moment to laws that share their numbers."""

    def value(env: dict[str, Any]) -> Any:
        _memos.append({})
        try:
            arguments = [closure(env) for closure in closures]
        finally:
            _memos.pop()
        return function(*arguments)

    return value
