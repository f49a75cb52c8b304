"""Which states of two neighbouring blocks of steps go together, so that every epoch has its visit exactly once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

State: TypeAlias = tuple[bool, bool]
"""Whether the epoch of a block's first step, and that of its last step, have their visit inside the block."""


def pairings(
    left: Iterable[State], right: Iterable[State], offset: int, left_length: int, right_length: int, N: int
) -> dict[State, list[tuple[State, State]]]:
    """Give, for each state of a block, the states of its two parts that make it.

    An epoch that both parts share has its visit in one of them at most. No epoch that lies within the block, or ends
    with it, goes without a visit: adding one never lowers a sum of nonnegative weights.

    From states of the whole to lists of pairs of states.
    """
    right = list(right)
    middle, end = offset + left_length, offset + left_length + right_length
    shared = middle % N != 0
    left_within, right_within = middle <= N, middle // N * N + N >= end
    pairs: dict[State, list[tuple[State, State]]] = {}
    for a in left:
        for b in right:
            used = a[1] or b[0]
            if shared and a[1] and b[0]:
                continue
            if shared and not used and not left_within and not right_within:
                continue
            first = used if shared and left_within else a[0]
            last = used if shared and right_within else b[1]
            if not first and offset == 0 and end >= N:
                continue
            if not last and end % N == 0 and end - offset >= N:
                continue
            pairs.setdefault((first, last), []).append((a, b))
    return pairs
