"""Movements of m_t - m_{t-N} against sums over all patterns of visits."""

from __future__ import annotations

import itertools
from fractions import Fraction

from dpverify.papers.tran2022.momentum.permutation_bounds import (
    attained_fresh,
    attained_once,
    largest_once,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_count
from tests.for_each import for_each

ALPHA, G = Fraction(1, 3), Fraction(2)


def weight(visits: tuple[int, ...], t: int, n: int) -> Fraction:
    """Gradients G u everywhere: what m_t - m_{t-N} moves by, from the definition of the momentum."""
    beta = 1 - ALPHA
    now = sum((beta ** (t - i) for i in visits if i <= t), Fraction(0))
    before = sum((beta ** (t - n - i) for i in visits if i <= t - n), Fraction(0))
    return abs(2 * ALPHA * G * (now - before))


@for_each(("n", "epochs"), [(1, 4), (2, 3), (3, 3), (4, 2)])
def test_attained_values_are_those_of_a_pattern_of_visits(n: int, epochs: int) -> None:
    t = n * epochs
    once = [
        weight(tuple(place + e * n for e in range(epochs)), t, n)
        for place in range(1, n + 1)
    ]
    assert attained_once(t, n, ALPHA, G) == max(once)
    places = itertools.product(range(1, n + 1), repeat=epochs)
    fresh = [
        weight(tuple(p + e * n for e, p in enumerate(place)), t, n) for place in places
    ]
    assert attained_fresh(t, n, ALPHA, G) in fresh


@for_each(("t", "n"), [(3, 2), (7, 3), (8, 4), (5, 1)])
def test_bound_is_attained_where_nothing_drifts(t: int, n: int) -> None:
    assert largest_once(t, n, ALPHA, G, Fraction(0)) == attained_once(t, n, ALPHA, G)
    assert largest_once(t, n, ALPHA, G, Fraction(1)) > attained_once(t, n, ALPHA, G)


def test_greedy_cover_has_the_fewest_nodes() -> None:
    """Section 2 counts the nodes that a partial sum needs, COMPOSE those that it takes: the same number."""
    nodes = [(y + 1, y + 2**k) for k in range(6) for y in range(0, 32, 2**k)]
    for a in range(1, 33):
        fewest = {a - 1: 0}
        for b in range(a, 33):
            fewest[b] = min(
                fewest[y - 1] + 1 for y, z in nodes if z == b and y - 1 in fewest
            )
            assert compose_count(a, b) == fewest[b]
