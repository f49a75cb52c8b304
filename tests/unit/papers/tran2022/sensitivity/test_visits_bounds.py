import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import cast

import pytest
from flint import arb

from dpverify.papers.tran2022.algorithms.composition import compose_prefix
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    ancestor_count,
    decay_sum,
    epoch_of,
    latest_visits,
    level_visits,
    most_visits,
    reached_nodes,
    visits,
    visits_first,
    visits_later,
)
from dpverify.shared_types import ORDERINGS, Ordering
from tests.for_each import for_each

Node = tuple[int, int]


def tree(T: int) -> list[Node]:
    """Every dyadic interval inside [1, T]."""
    return [
        (a * 2**b + 1, (a + 1) * 2**b)
        for b in range(T.bit_length())
        for a in range(T // 2**b)
    ]


def most_touched(nodes: list[Node], T: int, N: int, ordering: Ordering) -> int:
    """Try every way in which one example can come back."""
    epochs = [range(first, min(first + N, T + 1)) for first in range(1, T + 1, N)]
    runs = (
        product(*epochs)
        if ordering == "fresh"
        else (list(range(p, T + 1, N)) for p in range(1, N + 1))
    )
    return max(sum(any(y <= t <= z for t in run) for y, z in nodes) for run in runs)


SMALL = [
    (1, 1),
    (1, 3),
    (3, 2),
    (4, 3),
    (5, 3),
    (7, 2),
    (8, 4),
    (9, 3),
    (10, 4),
    (11, 2),
    (12, 5),
    (13, 4),
    (14, 7),
]


@for_each("ordering", ORDERINGS)
@for_each(("T", "N"), SMALL)
def test_counts_are_the_maxima_over_all_runs(
    T: int, N: int, ordering: Ordering
) -> None:
    nodes = tree(T)
    assert visits(T, N) == most_touched(nodes, T, N, ordering)
    for level in range(T.bit_length()):
        of_level = [(y, z) for y, z in nodes if z - y + 1 == 2**level]
        assert level_visits(T, N, level) == most_touched(of_level, T, N, ordering)
    later = [(y, z) for y, z in nodes if z > 2 * N]
    assert visits_later(T, N, ordering) == (
        most_touched(later, T, N, ordering) if later else 0
    )
    if ordering == "fresh":
        assert reached_nodes(T, N) == visits(T, N)
        used = sorted(
            {(int(y), int(z)) for t in range(1, T + 1) for y, z in compose_prefix(t)}
        )
        assert reached_nodes(T, N, used_only=True) == most_touched(used, T, N, ordering)


def test_closed_forms_agree_with_the_dynamic_programme() -> None:
    for N in range(1, 20):
        for T in range(1, 70):
            assert visits(T, N) == reached_nodes(T, N), (T, N)
            assert visits_later(T, N, "fresh") == reached_nodes(T, N, after=2 * N), (
                T,
                N,
            )
            assert visits_later(T, N, "once") <= visits_later(T, N, "fresh")


def test_once_later_is_the_maximum_over_places() -> None:
    for N in range(1, 16):
        for T in range(1, 60):
            later = [(y, z) for y, z in tree(T) if z > 2 * N]
            assert visits_later(T, N, "once") == most_touched(later, T, N, "once"), (
                T,
                N,
            )


def test_first_two_epochs() -> None:
    for N in range(1, 300):
        assert visits_first(N) == 2 * math.floor(math.log2(N)) + 3
    assert visits_first(4) == 7
    assert [N for N in range(1, 300) if visits_first(N) > 3 * math.log2(N)] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_printed_v_is_exact_where_n_divides_t() -> None:
    for N in range(1, 12):
        for T in range(N, 100, N):
            low = N.bit_length() - 1
            above = sum(T >> j for j in range(low + 1, T.bit_length()))
            assert visits(T, N) == (low + 1) * (T // N) + above


def test_ancestors() -> None:
    assert [ancestor_count(t) for t in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 3, 3, 4, 4, 5]


@for_each(
    ("call", "message"),
    [
        (lambda: visits(0, 1), "T and N must be at least 1"),
        (lambda: level_visits(3, 2, -1), "level and after must be at least 0"),
        (
            lambda: visits_later(3, 2, cast(Ordering, "never")),
            "ordering must be fresh or once",
        ),
        (lambda: ancestor_count(0), "t must be at least 1"),
        (lambda: reached_nodes(3, 0), "T and N must be at least 1"),
    ],
)
def test_what_is_no_run_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


ALPHAS = (Fraction(1), Fraction(1, 2), Fraction(1, 7))


def runs_of_one_example(T: int, N: int, ordering: Ordering) -> Iterator[set[int]]:
    """Every way to come back in a run of T steps, from the definition: a place in each epoch, T may cut the last."""
    epochs = -(-T // N)
    places = (
        ([place] * epochs for place in range(N))
        if ordering == "once"
        else product(range(N), repeat=epochs)
    )
    for choice in places:
        yield {
            epoch * N + place + 1
            for epoch, place in enumerate(choice)
            if epoch * N + place < T
        }


@for_each("ordering", ORDERINGS)
@for_each(("N", "T"), [(1, 9), (2, 11), (3, 13), (4, 13), (5, 14), (7, 5)])
def test_closed_forms_are_the_maxima_over_all_runs(
    N: int, T: int, ordering: Ordering
) -> None:
    runs = list(runs_of_one_example(T, N, ordering))
    for start in range(1, T + 1):
        for end in range(start, T + 1):
            inside = [sorted(t for t in visits if start <= t <= end) for visits in runs]
            assert most_visits(start, end, N, ordering) == max(map(len, inside))
            latest = latest_visits(start, end, N, ordering)
            assert sorted(latest) in inside
            for alpha in ALPHAS:
                largest = max(
                    sum((1 - alpha) ** (end - t) for t in visits) for visits in inside
                )
                assert decay_sum(start, end, alpha, N, ordering) == largest
                assert sum((1 - alpha) ** (end - t) for t in latest) == largest


def test_with_a_power_of_two_nothing_depends_on_the_ordering() -> None:
    for level in range(7):
        for block in range(64 >> level):
            node = (block << level) + 1, (block + 1) << level
            assert decay_sum(*node, Fraction(1, 8), 8, "fresh") == decay_sum(
                *node, Fraction(1, 8), 8, "once"
            )


@for_each("ordering", ORDERINGS)
def test_part_of_the_visits_is_the_latest_part(ordering: Ordering) -> None:
    alpha, node = Fraction(1, 5), (3, 40)
    weights = [(1 - alpha) ** (40 - t) for t in latest_visits(*node, 7, ordering)]
    for count in range(len(weights) + 2):
        assert decay_sum(*node, alpha, 7, ordering, visits=count) == sum(
            weights[:count]
        )


@for_each("ordering", ORDERINGS)
def test_long_nodes_become_balls_that_hold_the_value(ordering: Ordering) -> None:
    value = decay_sum(1, 2**20, Fraction(1, 1023), 1023, ordering)
    assert isinstance(value, arb)
    limit = arb(1) if ordering == "fresh" else arb(0)
    series = 1 / (1 - (1 - arb(1) / 1023) ** 1023)
    factor = 1 - arb(1) / 1023 if ordering == "fresh" else arb(1)
    assert abs(float(value - limit - factor * series)) < 1e-12


@for_each(
    ("arguments", "message"),
    [
        ((0, 3, Fraction(1, 2), 2, "fresh"), "start and end must satisfy"),
        ((4, 3, Fraction(1, 2), 2, "fresh"), "start and end must satisfy"),
        ((1, 3, Fraction(1, 2), 0, "fresh"), "N must be at least 1"),
        ((1, 3, Fraction(1, 2), 2, "twice"), "ordering must be fresh or once"),
        ((1, 3, Fraction(0), 2, "once"), "alpha must lie in"),
    ],
)
def test_what_is_no_node_is_refused(
    arguments: tuple[int, int, Fraction, int, Ordering], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decay_sum(*arguments)


def test_epochs_own_the_steps_after_the_multiples() -> None:
    assert [epoch_of(t, 3) for t in range(1, 8)] == [0, 0, 0, 1, 1, 1, 2]
