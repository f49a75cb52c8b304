"""Certified bounds of a sum over nodes: what the accountants of both algorithms share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.blocks import TooManyPointsError
from dpverify.privacy.participation import Bounds, Pattern

LONGEST_PATTERN: Final = 100_000
"""Patterns of more visits than this are not written down."""

ONE_EPOCH: Final = 1 << 22
"""Runs of up to this many steps within one epoch, where both orderings are the same, are done place by place."""

MOST_BLOCKS: Final = 500_000
"""About how many blocks of different content may be looked at."""

EXACT: Final = 1.0 + 1e-10
"""Bounds whose ratio is no more than this differ by their margin against rounding only."""

SAFETY: Final = 2.0**-40
"""Relative margin against rounding; see the notes."""


def checked_accuracy(accuracy: float) -> float:
    """Take an upper over a lower bound that is asked for."""
    if not check.positive(accuracy=accuracy) > 1.0:
        raise check.ArgumentError("accuracy", accuracy, "must be above 1")
    return accuracy


def outward(lower: float, upper: float, *, exact: bool, pattern: Pattern | None) -> Bounds:
    """Give bounds that are certain in spite of rounding: all terms are nonnegative, so a relative margin is enough."""
    return Bounds(lower * (1.0 - SAFETY), upper * (1.0 + SAFETY), exact, pattern)


def between(lower: float, upper: float, pattern: Pattern | None) -> Bounds:
    """Give bounds from what a pattern reaches and what none exceeds, up to rounding."""
    return outward(lower, max(lower, upper), exact=upper <= lower * EXACT, pattern=pattern)


def best_place(values: Vector, steps: int, examples: int) -> Bounds:
    """Give the largest value of a place, exactly: the example is there in every epoch."""
    place = int(np.argmax(values))
    value = float(values[place])
    pattern = tuple(range(place + 1, steps + 1, examples)) if steps // examples <= LONGEST_PATTERN else None
    return outward(value, value, exact=True, pattern=pattern)


def best_of(one: Bounds, two: Bounds) -> Bounds:
    """Join two pairs of bounds of one number."""
    better = max((two, one), key=lambda bounds: bounds.lower)
    upper = max(min(one.upper, two.upper), better.lower)
    return Bounds(better.lower, upper, exact=upper <= better.lower * EXACT, pattern=better.pattern)


def different_blocks(steps: int, examples: int) -> int:
    """About how many blocks of different content a run has."""
    T, N = steps, examples
    return sum(min(1 << k, N, (T >> k) + 1, T // N + 2 if 1 << k < N else T) for k in range(T.bit_length()))


def check_blocks(steps: int, examples: int) -> None:
    """Refuse a run with too many blocks."""
    blocks = different_blocks(steps, examples)
    if blocks > MOST_BLOCKS:
        rule = f"make about {blocks} blocks of different content, more than {MOST_BLOCKS}: no bound in reasonable time"
        raise check.ArgumentError("steps and examples", f"({steps}, {examples})", rule)


def refine(best: Bounds, attempts: Iterable[Callable[[], Bounds]], accuracy: float) -> Bounds:
    """Join bounds with those of ever finer attempts, until they are close enough; some attempts are given up."""
    for attempt in attempts:
        try:
            found = attempt()
        except TooManyPointsError:
            continue
        best = best_of(best, found)
        if best.exact or best.ratio <= accuracy:
            break
    return best
