"""Points simpler than a given one: a symbol moved alone, with one that belongs to it, with all after it, or with any.

The symbols that come after one in the sampler's order may have to follow it: an end of a node follows its level. They
keep their values where they may, and take the simplest where not.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from dpverify.harness.search.candidates import value_at
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.rationals import Interval, complexity, simplest

Values = dict[str, Fraction]
SIMPLER = 48
"""How many of the simplest values of a symbol are tried before a point counts as simplest."""
OF_TWO = 8
"""How many of the simplest values of each of two symbols are tried, and of one that others follow."""
ROOMS = (Fraction(1), Fraction(1, 4), Fraction(1, 16), Fraction(1, 64), Fraction(1, 256))
"""How far from a real, as a share of it, a simpler one is looked for."""


def by_one(sampler: Sampler, point: Values, symbol: str) -> Iterator[Values]:
    """Points in which a symbol is simpler: alone, with another moved along, and with all after it made to fit.

    Points that may be longer than the given one, or not admitted.
    """
    interval, value = sampler.interval(symbol, point), point[symbol]
    members, smaller = _simplest_members(interval), tuple(_smaller(interval, value))
    for simpler in (*members, *smaller):
        yield {**point, symbol: simpler}
    for simpler in smaller:
        for other, along in point.items():
            if other != symbol:
                yield {**point, symbol: simpler, other: along + simpler - value}
                if simpler and value:
                    yield {**point, symbol: simpler, other: along * value / simpler}
                    yield {**point, symbol: simpler, other: along * simpler / value}
    for simpler in dict.fromkeys((*members[:OF_TWO], *smaller)):
        if simpler != value and (fitted := _fitted(sampler, point, symbol, simpler)) is not None:
            yield fitted


def by_two(sampler: Sampler, point: Values) -> Iterator[Values]:
    """Points in which two symbols have one of their simplest values each, and all after them are made to fit.

    Points that may be longer than the given one, or not admitted.
    """
    bits = sum(map(complexity, point.values()))
    for place, first in enumerate(sampler.symbols):
        for value in _simplest_members(sampler.interval(first, point))[:OF_TWO]:
            fitted = _fitted(sampler, point, first, value) if value != point[first] else None
            if fitted is None:
                continue
            before = sum(complexity(fitted[symbol]) for symbol in sampler.symbols[: place + 1])
            for second in sampler.symbols[place + 1 :]:
                for other in _simplest_members(sampler.interval(second, fitted))[:OF_TWO]:
                    if other != fitted[second] and before + complexity(other) <= bits:
                        both = _fitted(sampler, fitted, second, other)
                        if both is not None:
                            yield both
                before += complexity(fitted[second])


def _fitted(sampler: Sampler, point: Values, symbol: str, value: Fraction) -> Values | None:
    """Set a symbol; those after it keep their values where they may, and take the simplest where not."""
    fitted, changed = {**point, symbol: value}, {symbol}
    for name in sampler.symbols[sampler.symbols.index(symbol) + 1 :]:
        if changed.isdisjoint(sampler.reads[name]):
            continue
        interval = sampler.interval(name, fitted)
        if fitted[name] not in interval:
            simplest_value = value_at(interval, 0, 0, ())
            if simplest_value is None:
                return None
            fitted[name] = simplest_value
            changed.add(name)
    return fitted


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
