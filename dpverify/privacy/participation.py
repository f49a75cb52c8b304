"""The steps in which one example can take part, and certified bounds of a maximum over all such patterns.

Epoch e = 0, 1, ... consists of the steps eN + 1 .. (e+1)N and uses each of the N examples once; T may cut the last
epoch short. With the ordering "fresh" an example may be anywhere in each epoch. With "once" it has the same place in
all epochs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dpverify.kernels import check
from dpverify.shared_types import ORDERINGS, Ordering

# steps, counted from 1, in which one example is used, in increasing order
Pattern: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Bounds:
    """A number between two certified bounds."""

    lower: float  # the number is from ``lower`` to ``upper``; both are rounded outward
    upper: float
    exact: bool  # whether the bounds differ by floating-point rounding only
    # steps of an example that attains ``lower``; None if unknown or too long
    pattern: Pattern | None = None
    method: str = ""  # how ``upper`` was computed, if there are several methods

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower <= self.upper:
            raise check.ArgumentError(
                "lower",
                self.lower,
                f"must be at least 0 and at most upper={self.upper}",
            )

    @property
    def ratio(self) -> float:
        """``upper / lower``; 1 where both are 0."""
        if self.upper == self.lower:
            return 1.0
        return self.upper / self.lower if self.lower > 0.0 else float("inf")


def check_ordering(ordering: str) -> Ordering:
    """Return the name of an ordering, or raise an ArgumentError."""
    for name in ORDERINGS:
        if ordering == name:
            return name
    raise check.ArgumentError("ordering", ordering, "must be fresh or once")


def patterns(steps: int, examples: int, ordering: Ordering) -> Iterator[Pattern]:
    """Yield every pattern of one example.

    Only an incomplete epoch may lack the example. So for T < N the empty pattern is included.
    """
    T = check.whole(1, steps=steps)
    N = check.whole(1, examples=examples)
    if check_ordering(ordering) == "once":
        for place in range(1, N + 1):
            yield tuple(range(place, T + 1, N))
        return
    epochs: list[list[int | None]] = [
        [*range(begin + 1, min(begin + N, T) + 1)] for begin in range(0, T, N)
    ]
    if T % N:
        epochs[-1].append(None)
    for choice in itertools.product(*epochs):
        yield tuple(step for step in choice if step is not None)


def pattern_count(steps: int, examples: int, ordering: Ordering) -> int:
    """Return the number of patterns; under "once" each place counts, even if several places give the same steps."""
    T = check.whole(1, steps=steps)
    N = check.whole(1, examples=examples)
    if check_ordering(ordering) == "once":
        return N
    epochs, remaining_steps = divmod(T, N)
    return int(N**epochs) * (remaining_steps + 1)
