"""Divergences between the laws of two single numbers, as balls.

They are sums over atoms, or integrals over the reach of both laws. The part outside of the reach is enclosed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from flint import acb, arb, fmpq

from dpverify.symbolic.exact.numbers import (
    OO,
    DomainError,
    UnsupportedError,
    Value,
    spend,
    to_ball,
)
from dpverify.symbolic.laws.components import (
    Component,
    Laplace,
    LogDensity,
    Normal,
    same,
)
from dpverify.symbolic.laws.discrete import DiscreteLaplace, DiscreteNormal, Finite
from dpverify.symbolic.laws.intervals import (
    REACH,
    RatioCell,
    RatioPiece,
    beyond,
    ends,
    joint,
    largest_of,
    pieces,
    signed_cells,
    terms_at,
    up_to,
    widened,
    window,
)
from dpverify.symbolic.laws.law import LineLaw

Integrand: TypeAlias = Callable[[acb, acb], acb]
"""A function of both log densities."""

_PARTS_OF_AN_INTEGRAL = 40_000
_SPLITS = 4000


def hockey_stick(first: LineLaw, second: LineLaw, epsilon: Value) -> arb:
    """Return the largest ``P(S) - exp(epsilon)*Q(S)`` over all events S."""
    _check_kinds(first, second)
    level = to_ball(epsilon)
    factor = level.exp()
    outside = up_to(arb(2) ** (1 - REACH))
    if first.is_discrete:
        low, high = window(first)
        masses = first.atoms(low, high)
        others = second.atoms(low, high)
        terms = (
            (mass - factor * others.get(point, 0)).max(arb(0))
            for point, mass in _balls(masses)
        )
        return sum(terms, start=arb(0)) + (0 if first.is_finite else outside)
    total = outside
    for part in pieces(first, second, *first.reach(REACH)):
        cells = [part] if isinstance(part, RatioCell) else signed_cells(part, level)
        total += sum(
            (_excess(first, second, cell, level, factor) for cell in cells),
            start=arb(0),
        )
    return total.max(arb(0))


def _excess(
    first: LineLaw, second: LineLaw, cell: RatioCell, level: arb, factor: arb
) -> arb:
    """Return the integral of the positive part of ``p - exp(epsilon)*q`` over a cell."""
    if cell.highest <= level:
        return arb(0)
    spend(40)
    mass = first.between(cell.left, cell.right)
    if cell.lowest == OO:
        return mass
    if cell.lowest >= level:
        return mass - factor * second.between(cell.left, cell.right)
    share = -(level - cell.highest).expm1()
    return up_to((mass * share).upper())


def renyi(first: LineLaw, second: LineLaw, order: Value) -> arb:
    """Return the Renyi divergence of an order above 1, infinite if the sum or the integral is infinite."""
    _check_kinds(first, second)
    if not order > 1:
        raise DomainError(f"a Renyi divergence needs an order z > 1, got {order}.")
    z = to_ball(order)
    closed = _closed_renyi(first, second, z)
    if closed is not None:
        return closed
    if first.is_discrete:
        low, high, outside = ends(first, second, z)
        total = outside
        for mass, other in _masses(first, second, low, high):
            if other == 0:
                return OO
            total += (z * mass.log() + (1 - z) * other.log()).exp()
        return total.log() / (z - 1)
    power = _integral(
        first, second, z, lambda top, bottom: (z * top + (1 - z) * bottom).exp()
    )
    return power if power == OO else power.log() / (z - 1)


def kl(first: LineLaw, second: LineLaw) -> arb:
    """Return the Kullback-Leibler divergence.

    Outside of a wide interval, ``p*log(p/q)`` is between ``p - q`` and ``p**2/q - p``.
    """
    _check_kinds(first, second)
    two = arb(2)
    if first.is_discrete:
        low, high, outside = ends(first, second, two)
        total = outside - up_to(arb(2) ** (1 - REACH)) * (0 if second.is_finite else 1)
        for mass, other in _masses(first, second, low, high):
            if other == 0:
                return OO
            total += mass * (mass / other).log()
        return total
    integral = _integral(
        first, second, two, lambda top, bottom: top.exp() * (top - bottom)
    )
    return integral if integral == OO else integral - up_to(arb(2) ** (1 - REACH))


def max_divergence(first: LineLaw, second: LineLaw) -> Value:
    """Return the largest ``log(P(S)/Q(S))``, infinite if it is not bounded."""
    _check_kinds(first, second)
    closed = _closed_max_divergence(first, second)
    if closed is not None:
        return closed
    if first.is_discrete and first.is_finite:
        others = second.atoms(*window(first))
        ratios = [
            OO if others.get(point, 0) == 0 else (mass / others[point]).log()
            for point, mass in _balls(first.atoms(0, 0))
            if not is_zero(mass)
        ]
        return largest_of(ratios)
    if first.is_discrete and second.is_finite:
        return OO
    if any(
        isinstance(component, Finite)
        for law in (first, second)
        for _, component in law.parts
    ):
        raise UnsupportedError(
            "the largest ratio of a mixture of a finite law and an infinite one is not known."
        )
    low, high = joint(first, second)
    best = []
    at_kinks = arb(0)
    for part in pieces(first, second, low, high):
        if isinstance(part, RatioCell):
            best += [OO] if part.lowest == OO else []
            at_kinks = arb(0, arb(2) ** -60)
            continue
        best.append(_top_of(part))
        for side, end, outer in ((-1, part.left, low), (1, part.right, high)):
            if end == outer:
                best.append(beyond(part, end, side))
    return largest_of(best) + at_kinks


def _top_of(piece: RatioPiece) -> arb:
    """Return the largest log ratio on a piece."""
    todo = [(piece.left, piece.right)]
    best: list[arb] = []
    for _ in range(_SPLITS):
        if not todo:
            break
        left, right = todo.pop()
        cell, is_monotone = piece.over(left, right)
        if is_monotone or cell.highest - cell.lowest < arb(2) ** -40:
            best.append(
                piece.at(left).max(piece.at(right))
                if is_monotone
                else cell.lowest.union(cell.highest)
            )
            continue
        middle = ((left + right) / 2).mid()
        todo += [(left, middle), (middle, right)]
    cells = [piece.over(left, right)[0] for left, right in todo]
    return largest_of(best + [cell.lowest.union(cell.highest) for cell in cells])


def _closed_renyi(first: LineLaw, second: LineLaw, z: arb) -> arb | None:
    left = single(first)
    right = single(second)
    if (
        isinstance(left, Normal)
        and isinstance(right, Normal)
        and same(left.deviation, right.deviation)
    ):
        return z * (to_ball(left.mean - right.mean) / to_ball(left.deviation)) ** 2 / 2
    if (
        isinstance(left, Laplace)
        and isinstance(right, Laplace)
        and same(left.scale, right.scale)
    ):
        mu = abs(to_ball(left.mean - right.mean)) / to_ball(left.scale)
        total = (
            z / (2 * z - 1) * ((z - 1) * mu).exp()
            + (z - 1) / (2 * z - 1) * (-z * mu).exp()
        )
        return total.log() / (z - 1)
    return None


def _closed_max_divergence(first: LineLaw, second: LineLaw) -> Value | None:
    """Return distance over scale of two Laplace or two discrete Laplace laws of the same scale, otherwise None."""
    left = single(first)
    right = single(second)
    if (
        isinstance(left, Laplace | DiscreteLaplace)
        and type(left) is type(right)
        and same(left.scale, right.scale)
    ):
        distance = left.mean - right.mean
        return (distance if distance >= 0 else -distance) / left.scale
    return None


def closed_zcdp(first: LineLaw, second: LineLaw) -> Value | None:
    """Return the largest ``D_z/z`` of two normal or two discrete normal laws of the same scale, otherwise None.

    Two discrete normal laws differ by an integer shift. For them ``D_z <= z*shift**2/(2*s**2)``, with equality if
    ``z*shift`` is an integer.
    """
    left = single(first)
    right = single(second)
    if (
        isinstance(left, Normal)
        and isinstance(right, Normal)
        and same(left.deviation, right.deviation)
    ):
        return ((left.mean - right.mean) / left.deviation) ** 2 / 2
    if (
        isinstance(left, DiscreteNormal)
        and isinstance(right, DiscreteNormal)
        and same(left.scale, right.scale)
    ):
        return ((left.mean - right.mean) / left.scale) ** 2 / 2
    return None


def single(law: LineLaw) -> Component | None:
    """Return the component of a law that is not a mixture, otherwise None."""
    return law.parts[0][1] if len(law.parts) == 1 else None


def _integral(first: LineLaw, second: LineLaw, z: arb, integrand: Integrand) -> arb:
    """Integrate a function of both log densities over the support of the first law, including the Renyi tails."""
    low, high = joint(first, second)
    total = arb(0)
    for side, end in ((-1, low), (1, high)):
        moved_end, outside = widened(first, second, z, end, side, (high - low).mid())
        if outside == OO:
            return OO
        total += outside
        low, high = (moved_end, high) if side < 0 else (low, moved_end)
    for part in pieces(first, second, low, high):
        if isinstance(part, RatioCell):
            if part.lowest == OO:
                return OO
            total += _over_sliver(first, second, part, z)
            continue
        spend(_PARTS_OF_AN_INTEGRAL)
        function = _complex(part, integrand)
        middle = acb.integral(
            function,
            acb(part.left),
            acb(part.right),
            abs_tol=arb(2) ** -80,
            rel_tol=arb(2) ** -60,
        )
        if not middle.real.is_finite():
            raise UnsupportedError("an integral of two densities did not converge.")
        total += middle.real
    return total


def _over_sliver(first: LineLaw, second: LineLaw, sliver: RatioCell, z: arb) -> arb:
    """Return a ball around 0 that contains the integral over a sliver around an inexact kink."""
    width = sliver.right - sliver.left
    whole = sliver.left.union(sliver.right)
    bound = arb(0)
    for side in (sliver.left - width, sliver.right + width):
        tops = terms_at(first, side)
        bottoms = terms_at(second, side)
        if tops and not bottoms:
            return OO
        for top in tops:
            peak = min(
                (
                    (z * top.at(whole) + (1 - z) * bottom.at(whole)).upper()
                    for bottom in bottoms
                ),
                key=arb.mid,
            )
            bound += peak.exp() * arb(len(tops)) ** z * (1 + abs(peak))
    return arb(0, (2 * width * bound).upper())


def _complex(piece: RatioPiece, integrand: Integrand) -> Callable[[acb, bool], acb]:
    def value(x: acb, is_analytic: bool) -> acb:
        top = _complex_log_sum(piece.tops, x, is_analytic)
        bottom = _complex_log_sum(piece.bottoms, x, is_analytic)
        return integrand(top, bottom)

    return value


def _complex_log_sum(terms: Sequence[LogDensity], x: acb, is_analytic: bool) -> acb:
    exponents = [acb(term.a) + x * (acb(term.b) + x * acb(term.c)) for term in terms]
    if len(exponents) == 1:
        return exponents[0]
    base = exponents[0]
    return base + sum(((e - base).exp() for e in exponents), start=acb(0)).log(
        analytic=is_analytic
    )


def _balls(masses: dict[fmpq, Value]) -> Iterator[tuple[fmpq, arb]]:
    spend(8 * len(masses))
    return ((point, to_ball(mass)) for point, mass in masses.items())


def _masses(
    first: LineLaw, second: LineLaw, low: int, high: int
) -> Iterator[tuple[arb, arb]]:
    """Yield the nonzero masses of the first law, each with the second law's mass at the same point."""
    others = second.atoms(low, high)
    for point, mass in _balls(first.atoms(low, high)):
        if not is_zero(mass):
            yield mass, to_ball(others.get(point, arb(0)))


def is_zero(mass: arb) -> bool:
    """Test whether a ball is exactly 0. A wider ball that contains 0 is not."""
    return bool(mass == 0)


def _check_kinds(first: LineLaw, second: LineLaw) -> None:
    if first.is_discrete != second.is_discrete:
        raise DomainError(
            "two laws are compared only if both are continuous or both are discrete."
        )
