from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from flint import arb

from dpverify.papers.tran2022.sensitivity.visit_patterns_bounds import (
    ORDERINGS,
    Ordering,
    decay_sum,
    epoch_of,
    latest_visits,
    most_visits,
)

ALPHAS = (Fraction(1), Fraction(1, 2), Fraction(1, 7))


def runs_of_one_example(T: int, N: int, ordering: Ordering) -> Iterator[set[int]]:
    """Every way to come back in a run of T steps, from the definition: a place in each epoch, T may cut the last."""
    epochs = -(-T // N)
    places = ([place] * epochs for place in range(N)) if ordering == "once" else product(range(N), repeat=epochs)
    for choice in places:
        yield {epoch * N + place + 1 for epoch, place in enumerate(choice) if epoch * N + place < T}


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize(("N", "T"), [(1, 9), (2, 11), (3, 13), (4, 13), (5, 14), (7, 5)])
def test_closed_forms_are_the_maxima_over_all_runs(N: int, T: int, ordering: Ordering) -> None:
    runs = list(runs_of_one_example(T, N, ordering))
    for start in range(1, T + 1):
        for end in range(start, T + 1):
            inside = [sorted(t for t in visits if start <= t <= end) for visits in runs]
            assert most_visits(start, end, N, ordering) == max(map(len, inside))
            latest = latest_visits(start, end, N, ordering)
            assert sorted(latest) in inside
            for alpha in ALPHAS:
                largest = max(sum((1 - alpha) ** (end - t) for t in visits) for visits in inside)
                assert decay_sum(start, end, alpha, N, ordering) == largest
                assert sum((1 - alpha) ** (end - t) for t in latest) == largest


def test_with_a_power_of_two_nothing_depends_on_the_ordering() -> None:
    for level in range(7):
        for block in range(64 >> level):
            node = (block << level) + 1, (block + 1) << level
            assert decay_sum(*node, Fraction(1, 8), 8, "fresh") == decay_sum(*node, Fraction(1, 8), 8, "once")


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_part_of_the_visits_is_the_latest_part(ordering: Ordering) -> None:
    alpha, node = Fraction(1, 5), (3, 40)
    weights = [(1 - alpha) ** (40 - t) for t in latest_visits(*node, 7, ordering)]
    for count in range(len(weights) + 2):
        assert decay_sum(*node, alpha, 7, ordering, visits=count) == sum(weights[:count])


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_long_nodes_become_balls_that_hold_the_value(ordering: Ordering) -> None:
    value = decay_sum(1, 2**20, Fraction(1, 1023), 1023, ordering)
    assert isinstance(value, arb)
    limit = arb(1) if ordering == "fresh" else arb(0)
    series = 1 / (1 - (1 - arb(1) / 1023) ** 1023)
    factor = 1 - arb(1) / 1023 if ordering == "fresh" else arb(1)
    assert abs(float(value - limit - factor * series)) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3, Fraction(1, 2), 2, "fresh"), "start and end must satisfy"),
        ((4, 3, Fraction(1, 2), 2, "fresh"), "start and end must satisfy"),
        ((1, 3, Fraction(1, 2), 0, "fresh"), "N must be at least 1"),
        ((1, 3, Fraction(1, 2), 2, "twice"), "ordering must be fresh or once"),
        ((1, 3, Fraction(0), 2, "once"), "alpha must lie in"),
    ],
)
def test_what_is_no_node_is_refused(arguments: tuple[int, int, Fraction, int, Ordering], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decay_sum(*arguments)


def test_epochs_own_the_steps_after_the_multiples() -> None:
    assert [epoch_of(t, 3) for t in range(1, 8)] == [0, 0, 0, 1, 1, 1, 2]
