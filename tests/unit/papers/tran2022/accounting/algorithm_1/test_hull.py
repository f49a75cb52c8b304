"""Hulls of points, the tree made of them against one that keeps all points that none beats, and long runs."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.algorithm_1 import fresh, hull
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    pattern_value,
    tree_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.algorithm_1.fresh import FreshTree
from dpverify.papers.tran2022.accounting.blocks import (
    INSIDE,
    OUTSIDE,
    Codes,
    State,
    bounds_of,
    pairings,
)
from dpverify.privacy.participation import Bounds
from tests.for_each import for_each

Points = list[tuple[float, float]]


def falling(rng: np.random.Generator, size: int) -> tuple[Vector, Vector, Codes]:
    s = np.sort(rng.uniform(0, 3, size))[::-1].copy()
    return s, (18.0 - 2.0 * s * s) * rng.uniform(0.999, 1.0, size), np.arange(size)


def chain(
    rng: np.random.Generator, size: int, squared: float = 0.0
) -> tuple[Vector, Vector, Codes]:
    s, q, code = falling(rng, size)
    kept = hull.keep_upper_hull(size, s, q, code, np.empty(size), squared)
    return s[:kept], q[:kept], np.arange(kept)


@for_each("squared", [0.0, 1.0])
def test_no_point_that_was_dropped_is_better_for_any_increasing_convex_future(
    squared: float,
) -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 10, 200):
        s, q, code = falling(rng, size)
        S, Q = s.copy(), q.copy()
        kept = hull.keep_upper_hull(size, S, Q, code, np.empty(size), squared)
        assert np.array_equal(s[code[:kept]], S[:kept])
        assert np.array_equal(q[code[:kept]], Q[:kept])
        for _ in range(200):
            a, b = rng.exponential(1.0, (2, 3)) * rng.integers(0, 2, (2, 3))

            def future(x: Vector, a: Vector = a, b: Vector = b) -> Vector:
                worth: Vector = squared * x * x + ((np.outer(x, a) + b) ** 2).sum(
                    axis=1
                )
                return worth

            assert (q + future(s)).max() <= (Q[:kept] + future(S[:kept])).max() * (
                1 + 1e-14
            )


def test_a_point_that_lies_above_the_chord_by_the_last_digit_stays() -> None:
    """All that is computed is exact; in the middle the chord has the height 1 + 2^-52, and the point 2^-52 more."""
    S, Q = np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0 + 2.0**-51, 2.0 + 2.0**-51])
    assert hull.keep_upper_hull(3, S, Q, np.arange(3), np.empty(3), 0.0) == 3


def test_the_sums_of_two_hulls_hold_the_hull_of_all_sums() -> None:
    rng = np.random.default_rng(6)
    for sizes in ((1, 1), (1, 9), (30, 40), (200, 3)):
        (sa, qa, _), (sb, qb, cb) = chain(rng, sizes[0], 1.0), chain(rng, sizes[1])
        sa, qa = 0.3 * sa, qa + sa * sa
        room = len(sa) + len(sb) + 1
        S, Q, code = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
        first = 1, np.array([1.0]), np.array([2.0]), np.array([7])
        n = hull.add_sums(
            *first, len(sa), sa, qa, len(sb), sb, qb, cb, 5 << 40, S, Q, code
        )
        assert n == room - 1
        assert (np.diff(S[:n]) <= 0.0).all()
        for k in range(n):
            if code[k] != 7:
                assert code[k] >> 40 == 5
                i, j = int(code[k]) >> 20 & fresh.PLACE, int(code[k]) & fresh.PLACE
                assert (S[k], Q[k]) == (sa[i] + sb[j], qa[i] + qb[j])
        every = np.add.outer(sa, sb).ravel(), np.add.outer(qa, qb).ravel()
        for slope in rng.exponential(2.0, 300):
            assert (every[1] + slope * every[0]).max() <= (
                Q[:n] + slope * S[:n]
            ).max() * (1 + 1e-14)


@for_each("close", [0.5, 0.05, 1e-3])
def test_close_points_become_one_that_beats_all_or_one_of_them(close: float) -> None:
    s, q, _ = chain(np.random.default_rng(7), 4000)
    assert len(s) > 20
    for upper in (True, False):
        S, Q, code = s.copy(), q.copy(), np.arange(len(s))
        kept = hull.merge_close(len(s), S, Q, code, close, upper)
        assert kept < len(s) or close < 0.01
        points = list(zip(S[:kept], Q[:kept], strict=True))
        if upper:
            assert all(
                any(a >= x and b >= y for a, b in points)
                for x, y in zip(s, q, strict=True)
            )
        else:
            assert points == [(s[i], q[i]) for i in code[:kept]]


def beaten_by_none(points: Points) -> Points:
    kept: Points = []
    for s, q in sorted(points, key=lambda point: (-point[0], -point[1])):
        if not kept or q > kept[-1][1]:
            kept.append((s, q))
    return kept


def largest_by_pairs(T: int, N: int, alpha: float) -> float:
    """The same programme with all points that no other beats, and all their sums, block by block."""

    def block(begin: int, length: int) -> dict[State, Points]:
        if length == 1:
            return {INSIDE: [(1.0, 0.0)]} | ({} if N == 1 else {OUTSIDE: [(0.0, 0.0)]})
        half = length // 2
        left, right, decay = (
            block(begin, half),
            block(begin + half, half),
            (1.0 - alpha) ** half,
        )
        return {
            state: beaten_by_none(
                [
                    (decay * s + t, q + s * s + r)
                    for a, b in pairs
                    for s, q in left[a]
                    for t, r in right[b]
                ]
            )
            for state, pairs in pairings(left, right, begin % N, half, half, N).items()
        }

    total, at = dict[State, float](), 0
    for level in range(T.bit_length() - 1, -1, -1):
        if T >> level & 1:
            node = {
                state: max(q + s * s for s, q in points)
                for state, points in block(at, 1 << level).items()
            }
            fit = pairings(total, node, 0, at, 1 << level, N).items() if total else ()
            total = (
                {
                    state: max(total[a] + node[b] for a, b in pairs)
                    for state, pairs in fit
                }
                if total
                else node
            )
            at += 1 << level
    return max(total.values())


@for_each(
    ("T", "N", "alpha"),
    [
        (512, 33, 0.03),
        (777, 100, 0.01),
        (600, 7, 0.3),
        (301, 400, 0.01),
        (500, 64, 1e-3),
        (333, 8, 1.0),
    ],
)
def test_the_tree_of_hulls_finds_what_the_tree_of_all_points_finds(
    T: int, N: int, alpha: float
) -> None:
    want = largest_by_pairs(T, N, alpha)
    found = bounds_of(
        partial(FreshTree, T, N, alpha, 0.0), partial(pattern_value, T, alpha)
    )
    assert found.exact
    assert found.lower <= want * (1 + 1e-14)
    assert want <= found.upper * (1 + 1e-14) <= found.lower * (1 + 1e-10)


@for_each(("T", "N", "alpha"), [(512, 33, 0.03), (600, 7, 0.3)])
def test_an_upper_bound_has_room_for_what_floats_lose_in_each_level(
    T: int, N: int, alpha: float
) -> None:
    """A hull in floats leaves out at most what 32 roundings a level may hide, and a lower bound hides nothing."""
    upper, lower = (
        FreshTree(T, N, alpha, 0.0, upper=side).run().best()[0]
        for side in (True, False)
    )
    assert (
        lower * (1.0 + 32 * T.bit_length() * 2.0**-53) < upper < lower * (1.0 + 1e-10)
    )


def ratio(bounds: Bounds) -> float:
    return bounds.upper / bounds.lower


@for_each(("N", "epochs"), [(1000, 10**4), (1000, 10**5), (32_561, 2000)])
def test_long_runs_are_exact_and_their_pattern_has_one_visit_an_epoch(
    N: int, epochs: int
) -> None:
    bounds = tree_sum_of_squares(N * epochs, N, 1 / N)
    assert bounds.exact
    assert ratio(bounds) <= 1 + 1e-10
    assert bounds.pattern is not None
    assert [(t - 1) // N for t in bounds.pattern] == list(range(epochs))


def test_beyond_patterns_that_are_written_down_the_value_is_that_of_points() -> None:
    bounds = tree_sum_of_squares(200 * 10**6, 200, 0.005)
    assert bounds.pattern is None
    assert ratio(bounds) <= 1.001


def test_where_hulls_are_long_points_are_merged() -> None:
    bounds = tree_sum_of_squares(10**7, 1000, 1e-4)
    assert not bounds.exact
    assert ratio(bounds) <= 1.001
    closer = tree_sum_of_squares(10**7, 1000, 1e-4, accuracy=1.0001)
    assert bounds.lower <= closer.upper <= bounds.upper * (1 + 1e-12)
    assert ratio(closer) <= 1.0001
