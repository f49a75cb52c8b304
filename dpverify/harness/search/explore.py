"""Points of a domain found at random: more of them where a score is high, and the simplest that has a property.

A point is named by bits, as ``Sampler.point`` reads them. Where a score is driven up they come from one generator; what
is shrunk, Hypothesis draws, without a database and a clock, and as booleans: into others it mixes constants of loaded
modules, so that a seed would not fix them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import hypothesis
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from dpverify.harness.search.candidates import MODE_BITS, PAYLOAD_BITS
from dpverify.harness.search.domain import BITS_PER_SYMBOL, Sampler
from dpverify.harness.search.rationals import Values

BEST = 8  # how many of the best points are changed
TRIES = 10  # how many names are tried for each point that is asked for: some lead out of the domain
NEW = 0.5  # share of the names that are new
SMALL = 0.5  # share of the new payloads that are made small, since these are the simple values and those next to ends

Words = tuple[int, ...]  # of each symbol, its bits as a number


def drive_up(
    sampler: Sampler,
    score: Callable[[Values], float | None],
    examples: int,
    seed: int,
    done: Callable[[], bool] = lambda: False,
) -> None:
    """Visit points of the domain, the simplest first, until there are so many, or ``done``."""
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
                best = sorted([*best, (value, words)], key=lambda candidate: -candidate[0])[:BEST]
        if visited >= examples or done() or not words:
            return
        words = _changed(rng, rng.choice(best)[1]) if best and rng.random() >= NEW else tuple(_new(rng) for _ in words)


def _new(rng: Random) -> int:
    """The bits of a symbol."""
    mode = rng.getrandbits(MODE_BITS)
    payload = rng.getrandbits(PAYLOAD_BITS)
    return mode << PAYLOAD_BITS | (payload >> rng.randrange(PAYLOAD_BITS) if rng.random() < SMALL else payload)


def _changed(rng: Random, words: Words) -> Words:
    """A name with another value of one symbol, now and then of a second one, or with a payload next to its own."""
    changed = list(words)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(changed))
        near = (changed[place] + rng.choice((-2, -1, 1, 2))) % (1 << BITS_PER_SYMBOL)
        changed[place] = near if rng.random() < 0.25 else _new(rng)
    return tuple(changed)


class _FoundError(Exception):
    """Raised at a point that has the property, so that Hypothesis shrinks it."""


SHORTER = 200  # most points that Hypothesis tries to make simpler; ours, ``search.simplify``, goes on from there


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


def shrink(sampler: Sampler, has_property: Callable[[Values], bool], examples: int, seed: int) -> Values | None:
    """Find a point with a property, and make it as simple as Hypothesis can. The simplest point found, or None."""
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
            raise _FoundError

    try:
        visit()
    except _FoundError:
        return simplest[0]
    except Unsatisfiable:
        return None
    return None
