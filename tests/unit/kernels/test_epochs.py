"""Epochs and their permutations: where they are drawn, and that a step which is asked for again draws none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpverify.kernels import epochs as module
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.epochs import draw_schedule, example_of, last_shuffle, new_order
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator
from dpverify.shared_types import Ordering
from tests.for_each import for_each

N, T = 7, 23


@for_each("begins", [module.begins, python_of(module.begins)])
def test_permutations_are_drawn_where_epochs_begin(
    begins: Callable[[int, int, int], bool],
) -> None:
    steps = range(1, 3 * N + 2)
    assert [t for t in steps if begins(t, N, last_shuffle("fresh", 3 * N + 1))] == [
        1,
        N + 1,
        2 * N + 1,
        3 * N + 1,
    ]
    assert [t for t in steps if begins(t, N, last_shuffle("once", 3 * N + 1))] == [1]
    assert not any(begins(t, N, 0) for t in steps)


@for_each("ordering", ["fresh", "once"])
def test_examples_of_steps_from_the_definition(ordering: Ordering) -> None:
    rng, order, want = generator(5, 0), list(range(N)), []
    for q in range(4):
        if q == 0 or ordering == "fresh":
            for i in range(N - 1, 0, -1):
                j = int(rng.integers(0, i + 1))
                order[i], order[j] = order[j], order[i]
        want += order
    assert draw_schedule(N, T, ordering, 5).tolist() == want[:T]
    out = np.empty(T, dtype=np.int64)
    python_of(module.write_schedule)(new_order(N, last_shuffle(ordering, T), 5), out)
    assert out.tolist() == want[:T]


def test_a_step_that_is_asked_for_again_draws_nothing() -> None:
    for example in (example_of, python_of(example_of)):
        order = new_order(N, T, 5)
        found = [example(t, order) for t in range(1, T + 1) for _ in range(3)]
        assert (
            found[::3]
            == found[1::3]
            == found[2::3]
            == draw_schedule(N, T, "fresh", 5).tolist()
        )


def test_a_given_schedule_goes_before() -> None:
    order = new_order(N, T, 5, np.arange(T) % 3)
    assert [example_of(t, order) for t in range(1, T + 1)] == (
        np.arange(T) % 3
    ).tolist()
    assert order.epoch[0] == 0
    assert order.permutation.tolist() == list(range(N))


def test_asking_ahead_changes_nothing_and_stays_inside() -> None:
    rows, order = np.random.default_rng(0).standard_normal(N * 5), new_order(N, T, 0)
    before = rows.copy()
    for t in range(1, 2 * N + 1):  # the last step of an epoch has no next example
        example_of(t, order)
        module.prefetch_next_example(t, order, rows, np.uint64(5))
        python_of(module.prefetch_next_example)(t, order, rows, np.uint64(5))
    assert np.array_equal(rows, before)


def test_bad_arguments() -> None:
    with pytest.raises(
        ArgumentError, match="ordering must be fresh or once, got ordering=random"
    ):
        last_shuffle("random", 3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="examples must be an integer, at least 1"):
        draw_schedule(0, 3, "fresh", 0)
