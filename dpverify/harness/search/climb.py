"""Deterministic companions of the random search: corners of the domain, and steps uphill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from dpverify.harness.search.candidates import PAYLOADS, value_at
from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.rationals import Interval, Values, complexity, simplest

CORNERS = ((0, 0), (1, 1), (1, 0), (4, 0), (1, 2), (1, 3), (2, 20), (6, PAYLOADS - 1))
"""The simplest, both ends, one over the symbol before (or equal to it), next to the ends, a power of two, far out."""
MAX_CORNERS = 1024
LONGEST = 96  # bits of the longest number that is climbed to: a ratio that grows without bound is stopped somewhere


def corners(sampler: Sampler) -> Iterator[Values]:
    """Points, at most 1024, at which every symbol is simple, at an end, next to one, or far out."""
    kinds = len(CORNERS)
    while kinds > 1 and kinds ** len(sampler.symbols) > MAX_CORNERS:
        kinds -= 1

    def extend(env: Values, names: tuple[str, ...]) -> Iterator[Values]:
        if not names:
            if sampler.admits(env):
                yield env
            return
        interval = sampler.interval(names[0], env)
        values = {value_at(interval, mode, payload, list(env.values())): None for mode, payload in CORNERS[:kinds]}
        for value in values:
            if value is not None:
                yield from extend({**env, names[0]: value}, names[1:])

    yield from extend({}, sampler.symbols)


def completions(sampler: Sampler, start: Values) -> Iterator[Values]:
    """At most two points with given values, the other symbols being as simple, or as large, as they can be."""
    for mode, payload in CORNERS[0], CORNERS[2]:
        point = dict(start)
        for symbol in sampler.symbols[len(start) :]:
            value = value_at(sampler.interval(symbol, point), mode, payload, list(point.values()))
            if value is None:
                break
            point[symbol] = value
        if len(point) == len(sampler.symbols) and sampler.in_domain(point):
            yield point


def climb(sampler: Sampler, score: Callable[[Values], float | None], start: Values, steps: int) -> Values:
    """Walk uphill, one symbol at a time. The best point reached."""
    best = start
    best_score = score(start) or 0.0
    moved = True
    while moved and steps > 0:
        moved = False
        for symbol in sampler.symbols:
            for point in _moves(sampler, best, symbol):
                if steps <= 0:
                    return best
                if point == best or not all(map(_is_short, point.values())) or not sampler.admits(point):
                    continue
                steps -= 1
                if (value_score := score(point)) is not None and value_score > best_score:
                    best = point
                    best_score = value_score
                    moved = True
    return best


def _is_short(value: Fraction) -> bool:
    return complexity(value) <= LONGEST


def _moves(sampler: Sampler, point: Values, symbol: str) -> Iterator[Values]:
    """Points that differ in one symbol; and in two, so that a product or a quotient stays as it is."""
    for value in _neighbours(sampler.interval(symbol, point), point[symbol]):
        yield {**point, symbol: value}
    for partner in sampler.symbols:
        if partner != symbol:
            for factor in (2, Fraction(1, 2)):
                yield {**point, symbol: 2 * point[symbol], partner: factor * point[partner]}


def _neighbours(interval: Interval, value: Fraction) -> Iterator[Fraction]:
    """Values near one, and the ends."""
    if interval.integer:
        n = int(value)
        below = 1 << max(0, n.bit_length() - 1)
        above = 1 << n.bit_length()
        near = {n - 1, n + 1, 2 * n, n // 2, 2 * n + 1, below, above, below - 1, above - 1, below + 1, above + 1}
        yield from (Fraction(m) for m in sorted(near))
    else:
        for factor in (2, 16, 1024):
            for end, opposite_end in ((interval.lo, interval.hi), (interval.hi, interval.lo)):
                middle = value + (end - value) / factor if end is not None else value * (1 + Fraction(1, factor))
                room = abs(middle - value) / 8 if opposite_end is not None else abs(middle - value) / 4
                rounded = simplest(Interval(middle - room, middle + room))
                if rounded is not None:
                    yield rounded
    yield from (end for end in (interval.lo, interval.hi) if end is not None)
