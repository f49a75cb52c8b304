import math

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.algorithms import aggregation as module
from dpverify.papers.tran2022.algorithms.aggregation import (
    LinearQueries,
    aggregate,
    replay,
)
from tests.for_each import for_each

K, N, DIM = 6, 5, 3


def family(seed: int = 0, *, adaptive: bool = True) -> LinearQueries:
    rng = np.random.default_rng(seed)
    matrices = rng.standard_normal((2, K, K)) if adaptive else np.zeros((2, K, K))
    return LinearQueries(
        rng.random((K, N)) < 0.5, rng.random(K) + 0.5, matrices[0], matrices[1]
    )


def data_of(seed: int = 0) -> Matrix:
    return np.random.default_rng([seed, 1]).standard_normal((N, DIM))


def plain_numpy(
    queries: LinearQueries, data: Matrix, rho: float, tape: Matrix
) -> Matrix:
    released = np.zeros((K, DIM))
    for i in range(K):
        radius = queries.sensitivities[i] / 2
        rows = data[queries.members[i]]
        short = rows * np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]
        sign = -1.0 if queries.steering[i, :i] @ released[:i, 0] < 0 else 1.0
        answer = sign * short.sum(axis=0) + queries.feedback[i, :i] @ released[:i]
        released[i] = answer + 2 * radius / rho * tape[i]
    return released


@for_each("seed", range(5))
def test_four_forms_agree_on_one_tape(seed: int) -> None:
    queries, data, tape, rho = (
        family(seed),
        data_of(seed),
        normal_tape(generator(seed), K, DIM),
        0.7,
    )
    released = queries.release(data, rho, tape)
    assert np.array_equal(released, queries.release(data, rho, generator(seed)))
    assert np.array_equal(
        released,
        aggregate(data, queries.queries(), list(queries.sensitivities), rho, tape),
    )
    assert np.allclose(
        released, plain_numpy(queries, data, rho, tape), rtol=1e-12, atol=1e-12
    )
    again = np.empty_like(released)
    about = data, queries._family
    python_of(module.release_into)(*about, rho, tape, again)
    assert np.array_equal(released, again)
    values = queries.replay(data, released)
    assert np.array_equal(values, replay(data, queries.queries(), released))
    python_of(module.replay_into)(*about, released, again)
    assert np.array_equal(values, again)
    noise = (released - values) * rho / queries.sensitivities[:, None]
    assert np.allclose(noise, tape, rtol=0, atol=1e-12)


@for_each("seed", range(3))
def test_many_runs_are_the_runs_one_by_one(seed: int) -> None:
    queries, data, other, rng = (
        family(seed),
        data_of(seed),
        data_of(seed + 7),
        generator(seed),
    )
    tapes = np.random.default_rng(seed).standard_normal((4, K, DIM))
    released = queries.release_many(data, 0.7, tapes)
    assert np.array_equal(
        released, [queries.release(data, 0.7, tape) for tape in tapes]
    )
    values = queries.replay_many(other, released)
    assert np.array_equal(values, [queries.replay(other, one) for one in released])
    again = np.empty_like(released)
    python_of(module.release_each)(data, queries._family, 0.7, tapes, again)
    assert np.array_equal(again, released)
    python_of(module.replay_each)(other, queries._family, released, again)
    assert np.array_equal(again, values)
    # all at once, or one after the other
    drawn = generator(seed).standard_normal((4, K, DIM))
    assert np.array_equal(drawn, [normal_tape(rng, K, DIM) for _ in range(4)])


def test_many_runs_of_another_shape_are_refused() -> None:
    queries, data = family(), data_of()
    with pytest.raises(ArgumentError, match=r"noise must have shape \(any, 6, 3\)"):
        queries.release_many(data, 1.0, np.zeros((4, K + 1, DIM)))
    with pytest.raises(ArgumentError, match="released must be finite everywhere"):
        queries.replay_many(data, np.full((4, K, DIM), np.nan))


@for_each("i", range(K))
def test_one_query_in_python(i: int) -> None:
    queries, data, released = family(), data_of(), normal_tape(generator(0), K, DIM)
    out, again = np.empty(DIM), np.empty(DIM)
    for form, where in ((module.ask, out), (python_of(module.ask), again)):
        form(i, data, queries._family, released, where)
    assert np.allclose(out, again, rtol=1e-14, atol=0)


@for_each("seed", range(5))
def test_sensitivity_is_attained_and_never_passed(seed: int) -> None:
    queries, data, rng = family(seed), data_of(seed), np.random.default_rng(seed)
    released = queries.release(data, 1.0, generator(seed))
    for n in range(N):
        inside = queries.members[:, n]
        far = 10 * np.eye(DIM)[0]
        for row, other in [*rng.standard_normal((5, 2, DIM)), (far, -far)]:
            pair = []
            for each in (row, other):
                changed = data.copy()
                changed[n] = each
                pair.append(queries.replay(changed, released))
            moved = np.linalg.norm(pair[0] - pair[1], axis=1)
            assert not moved[~inside].any()
            assert (moved <= queries.sensitivities * (1 + 1e-12)).all()
            if row is far:
                assert np.allclose(
                    moved[inside], queries.sensitivities[inside], rtol=1e-12
                )


def test_answers_steer_the_part_that_depends_on_the_data() -> None:
    queries = LinearQueries(
        np.array([[True], [True]]), np.array([2.0, 2.0]), steering=np.ones((2, 2))
    )
    data = np.array([[1.0, 0.0]])
    for first, sign in ((3.0, 1.0), (0.0, 1.0), (-3.0, -1.0)):
        values = queries.replay(data, np.array([[first, 0.0], [9.0, 9.0]]))
        assert values.tolist() == [[1.0, 0.0], [sign, 0.0]]


def test_without_feedback_and_steering_queries_do_not_adapt() -> None:
    queries, data = family(adaptive=False), data_of()
    assert np.array_equal(
        queries.replay(data, np.zeros((K, DIM))),
        queries.replay(data, np.full((K, DIM), 1e3)),
    )


def test_special_values() -> None:
    one = LinearQueries(np.array([[True]]), np.array([0.0]))
    # clipped to nothing, no noise
    assert one.release(np.array([[5.0]]), 1.0, generator(0)).tolist() == [[0.0]]
    assert LinearQueries(np.array([[True]]), np.array([2.0])).replay(
        np.zeros((1, 1)), np.zeros((1, 1))
    ).tolist() == [[0.0]]


def test_visits() -> None:
    members = np.array([[True, False], [True, True], [True, False]])
    assert LinearQueries(members, np.ones(3)).visits == 3


@kernel
def first_norm(
    data: Matrix, family: module.QueryFamily, tape: Matrix, out: Matrix
) -> float:
    module.release_into(data, family, 1.0, tape, out)
    return math.sqrt((out[0] * out[0]).sum())


def test_from_inside_a_kernel() -> None:
    queries, data, tape = (
        family(adaptive=False),
        data_of(),
        normal_tape(generator(0), K, DIM),
    )
    out = np.empty((K, DIM))
    norm = first_norm(data, queries._family, tape, out)
    assert norm == pytest.approx(
        np.linalg.norm(queries.release(data, 1.0, tape)[0]), rel=1e-14
    )


@for_each(
    ("members", "deltas", "feedback", "text"),
    [
        (np.ones((2, 2)), np.ones(2), None, "members must be a .* array of bool"),
        (np.ones((0, 2), dtype=bool), np.ones(0), None, "members must be a"),
        (
            np.ones((2, 2), dtype=bool),
            np.ones(3),
            None,
            r"sensitivities must have shape \(2,\)",
        ),
        (
            np.ones((2, 2), dtype=bool),
            -np.ones(2),
            None,
            "sensitivity must be finite and at least 0",
        ),
        (
            np.ones((2, 2), dtype=bool),
            np.ones(2),
            np.full((2, 2), np.inf),
            "feedback must be finite everywhere",
        ),
    ],
)
def test_bad_families(
    members: module.Members, deltas: Vector, feedback: Matrix | None, text: str
) -> None:
    with pytest.raises(ArgumentError, match=text):
        LinearQueries(members, deltas, feedback)


def test_bad_data() -> None:
    with pytest.raises(ArgumentError, match=r"data must have shape \(5, any\)"):
        family().release(np.ones((4, 2)), 1.0, generator(0))
    with pytest.raises(ArgumentError, match=r"released must have shape \(6, 3\)"):
        family().replay(data_of(), np.ones((6, 2)))
