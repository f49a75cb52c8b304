"""Merging points for an upper bound: whatever was there is beaten, in all three numbers, by something that is kept."""

import numpy as np
from numpy.typing import NDArray

from dpverify.papers.tran2022.accounting.algorithm_2.frontier import (
    gather,
    thin,
    thin_exactly,
)
from tests.for_each import for_each

FLOORS = (0.05, 0.05)


def points(seed: int, n: int) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(0.5, 2.0, n),
        rng.uniform(0.1, 3.0, n),
        rng.uniform(1.0, 9.0, n),
    ]


def all_beaten(
    before: list[NDArray[np.float64]], kept: list[NDArray[np.float64]]
) -> bool:
    beaten = np.ones((before[0].size, kept[0].size), dtype=bool)
    for old, new in zip(before, kept, strict=True):
        beaten &= new[None, :] >= old[:, None]
    return bool(beaten.any(axis=1).all())


@for_each("merge", [gather, thin])
@for_each(("n", "close"), [(600, 1.0), (2000, 0.5), (5000, 0.3)])
def test_merged_points_beat_what_they_stand_for(
    merge: object, n: int, close: float
) -> None:
    assert callable(merge)
    before = points(n, n)
    S, R, Q = (part.copy() for part in before)
    kept = merge(n, S, R, Q, np.arange(n), close, *FLOORS, True)
    assert kept < n
    assert all_beaten(before, [part[:kept] for part in (S, R, Q)])


@for_each("n", [2, 40, 300])
def test_without_merging_only_points_that_another_beats_go(n: int) -> None:
    before = points(n, n)
    S, R, Q = (part.copy() for part in before)
    code = np.arange(n)
    kept = thin_exactly(n, S, R, Q, code)
    assert all_beaten(before, [part[:kept] for part in (S, R, Q)])
    assert all(
        np.array_equal(part[:kept], old[code[:kept]])
        for part, old in zip((S, R, Q), before, strict=True)
    )
