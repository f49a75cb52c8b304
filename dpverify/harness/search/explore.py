"""Generate points of a domain: corners and steps uphill, which are deterministic, random points, and simplest points.

The random search tries more points near high scores. Shrinking finds the simplest point with a property. Bits encode a
point, as ``Sampler.point`` reads them. Our own generator draws the bits of points that drive a score up. Hypothesis
draws the bits of points that are shrunk, without a database and a time limit. They are booleans, because Hypothesis
mixes constants of loaded modules into other types, so that a seed would not determine them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import hypothesis
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from dpverify.harness.search.candidates import (
    MODE_BITS,
    PAYLOAD_BITS,
    PAYLOADS,
    Interval,
    Values,
    complexity,
    simplest,
    value_at,
)
from dpverify.harness.search.domain import BITS_PER_SYMBOL, Sampler

CORNERS = ((0, 0), (1, 1), (1, 0), (4, 0), (1, 2), (1, 3), (2, 20), (6, PAYLOADS - 1))
"""The simplest value, both ends, an earlier symbol or its reciprocal, near each end, near a power of two, far out."""
MAX_CORNERS = 1024
# largest number of bits of a climbed value,
# which stops a ratio that grows without bound
LONGEST = 96


def corners(sampler: Sampler) -> Iterator[Values]:
    """Yield up to 1024 points at which every symbol is simple, at an end, next to an end, or far out."""
    kinds = len(CORNERS)
    while kinds > 1 and kinds ** len(sampler.symbols) > MAX_CORNERS:
        kinds -= 1

    def extend(env: Values, names: tuple[str, ...]) -> Iterator[Values]:
        if not names:
            if sampler.admits(env):
                yield env
            return
        interval = sampler.interval(names[0], env)
        values = {
            value_at(interval, mode, payload, list(env.values())): None
            for mode, payload in CORNERS[:kinds]
        }
        for value in values:
            if value is not None:
                yield from extend({**env, names[0]: value}, names[1:])

    yield from extend({}, sampler.symbols)


def completions(sampler: Sampler, start: Values) -> Iterator[Values]:
    """Yield up to two points with given values. The other symbols are as simple, or as large, as possible."""
    for mode, payload in CORNERS[0], CORNERS[2]:
        point = dict(start)
        for symbol in sampler.symbols[len(start) :]:
            value = value_at(
                sampler.interval(symbol, point), mode, payload, list(point.values())
            )
            if value is None:
                break
            point[symbol] = value
        if len(point) == len(sampler.symbols) and sampler.in_domain(point):
            yield point


def climb(
    sampler: Sampler, score: Callable[[Values], float | None], start: Values, steps: int
) -> Values:
    """Walk uphill, one symbol at a time, and return the best point reached."""
    best = start
    best_score = score(start) or 0.0
    has_moved = True
    while has_moved and steps > 0:
        has_moved = False
        for symbol in sampler.symbols:
            for point in _moves(sampler, best, symbol):
                if steps <= 0:
                    return best
                if (
                    point == best
                    or not all(map(_is_short, point.values()))
                    or not sampler.admits(point)
                ):
                    continue
                steps -= 1
                if (
                    value_score := score(point)
                ) is not None and value_score > best_score:
                    best = point
                    best_score = value_score
                    has_moved = True
    return best


def _is_short(value: Fraction) -> bool:
    return complexity(value) <= LONGEST


def _moves(sampler: Sampler, point: Values, symbol: str) -> Iterator[Values]:
    """Yield points that differ in one symbol, or in two so that their product or quotient stays the same."""
    for value in _neighbours(sampler.interval(symbol, point), point[symbol]):
        yield {**point, symbol: value}
    for partner in sampler.symbols:
        if partner != symbol:
            for factor in (2, Fraction(1, 2)):
                yield {
                    **point,
                    symbol: 2 * point[symbol],
                    partner: factor * point[partner],
                }


def _neighbours(interval: Interval, value: Fraction) -> Iterator[Fraction]:
    """Yield values near a value, and the ends of the interval."""
    if interval.integer:
        n = int(value)
        below = 1 << max(0, n.bit_length() - 1)
        above = 1 << n.bit_length()
        near = {
            n - 1,
            n + 1,
            2 * n,
            n // 2,
            2 * n + 1,
            below,
            above,
            below - 1,
            above - 1,
            below + 1,
            above + 1,
        }
        yield from (Fraction(m) for m in sorted(near))
    else:
        for factor in (2, 16, 1024):
            for end, opposite_end in (
                (interval.lo, interval.hi),
                (interval.hi, interval.lo),
            ):
                middle = (
                    value + (end - value) / factor
                    if end is not None
                    else value * (1 + Fraction(1, factor))
                )
                room = (
                    abs(middle - value) / 8
                    if opposite_end is not None
                    else abs(middle - value) / 4
                )
                rounded = simplest(Interval(middle - room, middle + room))
                if rounded is not None:
                    yield rounded
    yield from (end for end in (interval.lo, interval.hi) if end is not None)


BEST = 8  # number of the best points that are changed
# number of encodings tried per requested point, because some lead out of the domain
TRIES = 10
NEW = 0.5  # share of the encodings that are drawn anew
# share of new payloads that are made small, which
# gives simple values and values next to ends
SMALL = 0.5

Words = tuple[int, ...]  # for each symbol, its bits as a number


def drive_up(
    sampler: Sampler,
    score: Callable[[Values], float | None],
    examples: int,
    seed: int,
    done: Callable[[], bool] = lambda: False,
) -> None:
    """Score points of the domain, the simplest first, until ``examples`` points are visited or ``done()`` is true."""
    rng = Random(seed)
    visited = 0
    words: Words = (0,) * len(sampler.symbols)
    tried = set[Words]()
    best = list[tuple[float, Words]]()
    for _ in range(TRIES * examples):
        point = None if words in tried else sampler.named(words)
        tried.add(words)
        if point is not None:
            value = score(point)
            visited += 1
            if value is not None:
                best = sorted(
                    [*best, (value, words)], key=lambda candidate: -candidate[0]
                )[:BEST]
        if visited >= examples or done() or not words:
            return
        words = (
            _changed(rng, rng.choice(best)[1])
            if best and rng.random() >= NEW
            else tuple(_new(rng) for _ in words)
        )


def _new(rng: Random) -> int:
    """Draw the bits of a symbol."""
    mode = rng.getrandbits(MODE_BITS)
    payload = rng.getrandbits(PAYLOAD_BITS)
    return mode << PAYLOAD_BITS | (
        payload >> rng.randrange(PAYLOAD_BITS) if rng.random() < SMALL else payload
    )


def _changed(rng: Random, words: Words) -> Words:
    """Change one or two symbols of an encoding, to new bits or to adjacent ones."""
    changed = list(words)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(changed))
        near = (changed[place] + rng.choice((-2, -1, 1, 2))) % (1 << BITS_PER_SYMBOL)
        changed[place] = near if rng.random() < 0.25 else _new(rng)
    return tuple(changed)


class _PropertyMetError(Exception):
    """Raised at a point that has the property, so that Hypothesis shrinks it."""


# largest number of points that Hypothesis tries to simplify; ``search.search``
# continues from there
SHORTER = 200


def _settings(examples: int, *phases: hypothesis.Phase) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate, *phases],
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
    )


def shrink(
    sampler: Sampler, has_property: Callable[[Values], bool], examples: int, seed: int
) -> Values | None:
    """Find a point with a property and simplify it with Hypothesis. Return the simplest point found, or None."""
    simplest: list[Values] = []
    shorter = 0

    @hypothesis.seed(seed)
    @_settings(examples, hypothesis.Phase.shrink)
    @hypothesis.given(st.tuples(*[st.booleans()] * sampler.bits))
    def visit(bits: tuple[bool, ...]) -> None:
        nonlocal shorter
        point = sampler.point(bits)
        if point is None:
            hypothesis.reject()
        shorter += bool(simplest)
        if point in simplest or (shorter <= SHORTER and has_property(point)):
            simplest[:] = [point]
            raise _PropertyMetError

    try:
        visit()
    except _PropertyMetError:
        return simplest[0]
    except Unsatisfiable:
        return None
    return None
