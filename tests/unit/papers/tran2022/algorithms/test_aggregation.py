from collections.abc import Sequence

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.algorithms.aggregation import aggregate, replay
from tests.for_each import for_each

Data = list[float]


def total(data: Data, previous: Sequence[Vector]) -> Vector:
    return np.array([sum(data), len(previous)], dtype=float)


def product(data: Data, previous: Sequence[Vector]) -> Vector:
    return data[0] * previous[0] + (previous[1] if len(previous) > 1 else 0.0)


QUERIES = [total, product, product]


def by_hand(data: Data, deltas: Sequence[float], rho: float, tape: Matrix) -> Matrix:
    first = np.array([sum(data), 0.0]) + deltas[0] / rho * tape[0]
    second = data[0] * first + deltas[1] / rho * tape[1]
    third = data[0] * first + second + deltas[2] / rho * tape[2]
    return np.array([first, second, third])


def test_answers_are_those_of_the_box() -> None:
    tape, deltas = normal_tape(generator(0), 3, 2), [1.0, 0.5, 2.0]
    released = aggregate([1.0, 2.0], QUERIES, deltas, 0.25, tape)
    assert np.array_equal(released, by_hand([1.0, 2.0], deltas, 0.25, tape))


def test_a_tape_and_a_generator_give_the_same_bits() -> None:
    tape = normal_tape(generator(3), 3, 2)
    assert np.array_equal(
        aggregate([1.0, 2.0], QUERIES, [1.0, 1.0, 1.0], 2.0, tape),
        aggregate([1.0, 2.0], QUERIES, [1.0, 1.0, 1.0], 2.0, generator(3)),
    )


def test_replay_holds_the_released_answers_fixed() -> None:
    released = aggregate([1.0, 2.0], QUERIES, [1.0, 1.0, 1.0], 2.0, generator(3))
    again = replay([3.0, 2.0], QUERIES, released)
    assert np.array_equal(
        again, [[5.0, 0.0], 3.0 * released[0], 3.0 * released[0] + released[1]]
    )


def test_a_query_that_writes_on_what_it_was_shown_changes_nothing() -> None:
    def vandal(data: Data, previous: Sequence[Vector]) -> Vector:
        answer = previous[0] * data[0]
        previous[0][:] = np.nan
        return answer

    tape = normal_tape(generator(1), 3, 2)
    clean = aggregate([2.0], [total, product, total], [1.0, 1.0, 1.0], 1.0, tape)
    assert np.array_equal(
        aggregate([2.0], [total, vandal, total], [1.0, 1.0, 1.0], 1.0, tape), clean
    )
    assert np.isfinite(replay([2.0], [total, vandal, total], clean)).all()


def test_no_sensitivity_no_noise() -> None:
    assert aggregate([4.0], [total], [0.0], 1.0, generator(0)).tolist() == [[4.0, 0.0]]


@for_each(
    ("queries", "deltas", "rho", "noise", "text"),
    [
        ([total], [1.0], 0.0, np.ones((1, 2)), "rho must be finite and above 0"),
        ([total], [-1.0], 1.0, np.ones((1, 2)), "sensitivity must be finite and at least 0, got sensitivity="),
        ([total], [1.0, 1.0], 1.0, np.ones((1, 2)), "got sensitivities=1 queries and 2 sensitivities"),
        ([], [], 1.0, np.ones((1, 2)), "sensitivities must be as many as the queries, and at least one"),
        ([total], [1.0], 1.0, np.ones((2, 2)), r"noise must have shape \(1, any\)"),
        ([total], [1.0], 1.0, np.ones((1, 3)), "noise must have 2 columns"),
        ([total, lambda data, previous: np.ones(3)], [1.0, 1.0], 1.0, np.ones((2, 2)), "answer_2 must have shape"),
        ([lambda data, previous: [np.nan, 1.0]], [1.0], 1.0, np.ones((1, 2)), r"answer_1 must be finite everywhere"),
    ],
)  # fmt: skip
def test_bad_arguments(
    queries: list[object], deltas: list[float], rho: float, noise: Matrix, text: str
) -> None:
    with pytest.raises(ArgumentError, match=text):
        aggregate([1.0], queries, deltas, rho, noise)  # type: ignore[arg-type]  # wrong on purpose
