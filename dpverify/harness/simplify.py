"""Make a counterexample simple: few digits, small numbers, one symbol at a time and two that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

from dpverify.harness.candidates import value_at
from dpverify.harness.domain import Sampler
from dpverify.harness.rationals import Interval, complexity, simplest

Values = dict[str, Fraction]
SIMPLER = 48
"""How many of the simplest values of a symbol are tried before a point counts as simplest."""
TRIES = 3000
"""How many points are tried at most."""
ROOMS = (Fraction(1), Fraction(1, 4), Fraction(1, 16), Fraction(1, 64), Fraction(1, 256))
"""How far from a real, as a share of it, a simpler one is looked for."""


def size(point: Mapping[str, Fraction]) -> tuple[int, ...]:
    """How long a point is to write down; ties go to the smaller denominators, then to the smaller numerators."""
    values = [point[symbol] for symbol in sorted(point)]
    bits = sum(complexity(v) for v in values)
    return bits, *(v.denominator for v in values), *(abs(v.numerator) for v in values)


def simplify(sampler: Sampler, wanted: Callable[[Values], bool], start: Values, tries: int = TRIES) -> Values:
    """Replace values by simpler ones as long as the point keeps its property.

    Parameters
    ----------
    sampler : Sampler
        Knows which points are admitted.
    wanted : callable
        The property; it holds at the start.
    start : dict
        An admitted point.
    tries : int
        Most points that are tried.

    Returns
    -------
    dict
        A point with the property that none of the moves makes simpler, or the simplest that was reached.
    """
    best, length, moved = start, size(start), True
    while moved:
        moved = False
        for symbol in sampler.symbols:
            for change in _moves(sampler, best, symbol):
                # Most moves make the point longer: its bits alone say so.
                bits = length[0] + sum(complexity(value) - complexity(best[name]) for name, value in change.items())
                if bits > length[0]:
                    continue
                point = {**best, **change}
                if (shorter := size(point)) >= length:
                    continue
                if tries <= 0:
                    return best
                tries -= 1
                if sampler.admits(point) and wanted(point):
                    best, length, moved = point, shorter, True
                    break
    return best


def _moves(sampler: Sampler, point: Values, symbol: str) -> Iterator[Values]:
    """Yield changes of a point: a simpler value of one symbol; then with another symbol moved along."""
    interval, value = sampler.interval(symbol, point), point[symbol]
    for simpler in (*_simplest_members(interval), *_smaller(interval, value)):
        yield {symbol: simpler}
    for smaller in _smaller(interval, value):
        for other, along in point.items():
            if other != symbol:
                yield {symbol: smaller, other: along + smaller - value}
                if smaller and value:
                    yield {symbol: smaller, other: along * value / smaller}
                    yield {symbol: smaller, other: along * smaller / value}


@lru_cache(maxsize=1024)
def _simplest_members(interval: Interval) -> tuple[Fraction, ...]:
    members = (value_at(interval, 0, payload, ()) for payload in range(SIMPLER))
    return tuple(dict.fromkeys(member for member in members if member is not None))


def _smaller(interval: Interval, value: Fraction) -> Iterator[Fraction]:
    """Yield values near one that are shorter to write down, or smaller by a power of two."""
    if not interval.integer:
        for room in ROOMS:
            for end in (value * (1 + room), value * (1 - room)):
                near = simplest(Interval(min(value, end), max(value, end)))
                if near is not None:
                    yield near
        steps = (1 << k for k in reversed(range(value.denominator.bit_length() - 1)))
        yield from (Fraction(value.numerator, value.denominator - step) for step in steps)
    yield from (value - (1 << k) for k in reversed(range(value.numerator.bit_length())))
