import math
from itertools import product
from typing import cast

import pytest

from dpverify.papers.tran2022.algorithms.composition import compose_prefix
from dpverify.papers.tran2022.sensitivity.visit_patterns_bounds import ORDERINGS, Ordering
from dpverify.papers.tran2022.sensitivity.visits_bounds import (
    ancestor_count,
    level_visits,
    reached_nodes,
    visits,
    visits_first,
    visits_later,
)

Node = tuple[int, int]


def tree(T: int) -> list[Node]:
    """Every dyadic interval inside [1, T]."""
    return [(a * 2**b + 1, (a + 1) * 2**b) for b in range(T.bit_length()) for a in range(T // 2**b)]


def most_touched(nodes: list[Node], T: int, N: int, ordering: Ordering) -> int:
    """Try every way in which one example can come back."""
    epochs = [range(first, min(first + N, T + 1)) for first in range(1, T + 1, N)]
    runs = product(*epochs) if ordering == "fresh" else (list(range(p, T + 1, N)) for p in range(1, N + 1))
    return max(sum(any(y <= t <= z for t in run) for y, z in nodes) for run in runs)


SMALL = [(1, 1), (1, 3), (3, 2), (4, 3), (5, 3), (7, 2), (8, 4), (9, 3), (10, 4), (11, 2), (12, 5), (13, 4), (14, 7)]


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize(("T", "N"), SMALL)
def test_counts_are_the_maxima_over_all_runs(T: int, N: int, ordering: Ordering) -> None:
    nodes = tree(T)
    assert visits(T, N) == most_touched(nodes, T, N, ordering)
    for level in range(T.bit_length()):
        of_level = [(y, z) for y, z in nodes if z - y + 1 == 2**level]
        assert level_visits(T, N, level) == most_touched(of_level, T, N, ordering)
    later = [(y, z) for y, z in nodes if z > 2 * N]
    assert visits_later(T, N, ordering) == (most_touched(later, T, N, ordering) if later else 0)
    if ordering == "fresh":
        assert reached_nodes(T, N) == visits(T, N)
        used = sorted({(int(y), int(z)) for t in range(1, T + 1) for y, z in compose_prefix(t)})
        assert reached_nodes(T, N, used_only=True) == most_touched(used, T, N, ordering)


def test_closed_forms_agree_with_the_dynamic_programme() -> None:
    for N in range(1, 20):
        for T in range(1, 70):
            assert visits(T, N) == reached_nodes(T, N), (T, N)
            assert visits_later(T, N, "fresh") == reached_nodes(T, N, after=2 * N), (T, N)
            assert visits_later(T, N, "once") <= visits_later(T, N, "fresh")


def test_once_later_is_the_maximum_over_places() -> None:
    for N in range(1, 16):
        for T in range(1, 60):
            later = [(y, z) for y, z in tree(T) if z > 2 * N]
            assert visits_later(T, N, "once") == most_touched(later, T, N, "once"), (T, N)


def test_first_two_epochs() -> None:
    for N in range(1, 300):
        assert visits_first(N) == 2 * math.floor(math.log2(N)) + 3
    assert visits_first(4) == 7
    assert [N for N in range(1, 300) if visits_first(N) > 3 * math.log2(N)] == [1, 2, 3, 4, 5]


def test_printed_v_is_exact_where_n_divides_t() -> None:
    for N in range(1, 12):
        for T in range(N, 100, N):
            low = N.bit_length() - 1
            above = sum(T >> j for j in range(low + 1, T.bit_length()))
            assert visits(T, N) == (low + 1) * (T // N) + above


def test_ancestors() -> None:
    assert [ancestor_count(t) for t in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 3, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: visits(0, 1), "T and N must be at least 1"),
        (lambda: level_visits(3, 2, -1), "level and after must be at least 0"),
        (lambda: visits_later(3, 2, cast(Ordering, "never")), "ordering must be fresh or once"),
        (lambda: ancestor_count(0), "t must be at least 1"),
        (lambda: reached_nodes(3, 0), "T and N must be at least 1"),
    ],
)
def test_what_is_no_run_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()
