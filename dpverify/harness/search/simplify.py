"""Make a counterexample simple: few digits, small numbers.

A symbol is moved alone, with another, or with all after it in the sampler's order, which may have to follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

from dpverify.harness.search.candidates import value_at
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.rationals import Interval, Values, complexity, simplest

TRIES = 3000  # how many points are tried at most
SIMPLER = 48  # how many of the simplest values of a symbol are tried before a point counts as simplest
OF_TWO = 8  # how many of the simplest values of each of two symbols are tried, and of one that others follow
# How far from a real, as a share of it, a simpler one is looked for.
ROOMS = (Fraction(1), Fraction(1, 4), Fraction(1, 16), Fraction(1, 64), Fraction(1, 256))


def size(point: Mapping[str, Fraction]) -> tuple[int, ...]:
    """How long a point is to write down; ties go to the smaller denominators, then to the smaller numerators."""
    values = [point[symbol] for symbol in sorted(point)]
    bits = sum(complexity(v) for v in values)
    return bits, *(v.denominator for v in values), *(abs(v.numerator) for v in values)


def simplify(sampler: Sampler, has_property: Callable[[Values], bool], start: Values, tries: int = TRIES) -> Values:
    """Replace values by simpler ones as long as the point keeps its property."""
    best, length = start, size(start)
    tried: set[tuple[Fraction, ...]] = set()

    def moved(points: Iterable[Values]) -> bool:
        """Go to the first of the points that is simpler and has the property."""
        nonlocal best, length
        for point in points:
            # Most moves make the point longer: its bits alone say so.
            if sum(map(complexity, point.values())) > length[0] or (shorter := size(point)) >= length:
                continue
            if (values := tuple(point[symbol] for symbol in sampler.symbols)) in tried:
                continue
            if len(tried) >= tries:
                return False
            tried.add(values)
            if sampler.admits(point) and has_property(point):
                best = point
                length = shorter
                return True
        return False

    # A sum, not any: each symbol has its turn in every round, whether the one before it was moved or not.
    while sum(moved(by_one(sampler, best, symbol)) for symbol in sampler.symbols) or moved(by_two(sampler, best)):
        pass
    return best


def by_one(sampler: Sampler, point: Values, symbol: str) -> Iterator[Values]:
    """Points in which a symbol is simpler: alone, with another moved along, and with all after it made to fit."""
    interval = sampler.interval(symbol, point)
    value = point[symbol]
    members = _simplest_members(interval)
    smaller = tuple(_smaller(interval, value))
    for simpler in (*members, *smaller):
        yield {**point, symbol: simpler}
    for simpler in smaller:
        for partner, along in point.items():
            if partner != symbol:
                yield {**point, symbol: simpler, partner: along + simpler - value}
                if simpler and value:
                    yield {**point, symbol: simpler, partner: along * value / simpler}
                    yield {**point, symbol: simpler, partner: along * simpler / value}
    for simpler in dict.fromkeys((*members[:OF_TWO], *smaller)):
        if simpler != value and (fitted := _fitted(sampler, point, symbol, simpler)) is not None:
            yield fitted


def by_two(sampler: Sampler, point: Values) -> Iterator[Values]:
    """Points in which two symbols have one of their simplest values each, and all after them are made to fit."""
    bits = sum(map(complexity, point.values()))
    for place, first in enumerate(sampler.symbols):
        for value in _simplest_members(sampler.interval(first, point))[:OF_TWO]:
            fitted = _fitted(sampler, point, first, value) if value != point[first] else None
            if fitted is None:
                continue
            before = sum(complexity(fitted[symbol]) for symbol in sampler.symbols[: place + 1])
            for second in sampler.symbols[place + 1 :]:
                for second_value in _simplest_members(sampler.interval(second, fitted))[:OF_TWO]:
                    if second_value != fitted[second] and before + complexity(second_value) <= bits:
                        point_of_two = _fitted(sampler, fitted, second, second_value)
                        if point_of_two is not None:
                            yield point_of_two
                before += complexity(fitted[second])


def _fitted(sampler: Sampler, point: Values, symbol: str, value: Fraction) -> Values | None:
    """Set a symbol; those after it keep their values where they may, and get the simplest where not."""
    fitted = {**point, symbol: value}
    changed = {symbol}
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
