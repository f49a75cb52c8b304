"""In which steps one example can take part, and what a certified maximum over all such patterns looks like.

Epoch e = 0, 1, ... owns the steps eN + 1 .. (e+1)N and uses each of the N examples once; the last epoch may be cut
short by T. Under "fresh" an example may be anywhere in each epoch, under "once" it is at the same place in all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dpverify.kernels import check
from dpverify.shared_types import ORDERINGS, Ordering

Pattern: TypeAlias = tuple[int, ...]  # Steps, counted from 1, at which one example is used, in rising order


@dataclass(frozen=True)
class Bounds:
    """A number between two certified bounds."""

    lower: float  # the number is at least ``lower`` and at most ``upper``; both are rounded outward
    upper: float
    exact: bool  # whether nothing but the rounding of floating point lies between the two
    pattern: Pattern | None = None  # steps of one that reaches ``lower``; None where it would be too long to write down
    method: str = ""  # how ``upper`` was found, where there is more than one way

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower <= self.upper:
            raise check.ArgumentError("lower", self.lower, f"must be at least 0 and at most upper={self.upper}")

    @property
    def ratio(self) -> float:
        """``upper / lower``; 1 where both are 0."""
        if self.upper == self.lower:
            return 1.0
        return self.upper / self.lower if self.lower > 0.0 else float("inf")


def check_ordering(ordering: str) -> Ordering:
    """Take the name of an ordering."""
    for name in ORDERINGS:
        if ordering == name:
            return name
    raise check.ArgumentError("ordering", ordering, "must be fresh or once")


def patterns(steps: int, examples: int, ordering: Ordering) -> Iterator[Pattern]:
    """Give every pattern of one example; only an epoch cut short may lack it: for T < N the empty one is among them."""
    T = check.whole(1, steps=steps)
    N = check.whole(1, examples=examples)
    if check_ordering(ordering) == "once":
        for place in range(1, N + 1):
            yield tuple(range(place, T + 1, N))
        return
    epochs: list[list[int | None]] = [[*range(begin + 1, min(begin + N, T) + 1)] for begin in range(0, T, N)]
    if T % N:
        epochs[-1].append(None)
    for choice in itertools.product(*epochs):
        yield tuple(step for step in choice if step is not None)


def pattern_count(steps: int, examples: int, ordering: Ordering) -> int:
    """Count what :func:`patterns` gives, with those that are the same steps under "once" counted once per place."""
    T = check.whole(1, steps=steps)
    N = check.whole(1, examples=examples)
    if check_ordering(ordering) == "once":
        return N
    epochs, remaining_steps = divmod(T, N)
    return int(N**epochs) * (remaining_steps + 1)
