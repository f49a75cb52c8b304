from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms.node_sensitivity import (
    REPLACED,
    Neighbours,
    opposed,
    replay,
    turning,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import node_intervals
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    difference_sensitivity,
)
from dpverify.problems.worst_cases import signed_gradient
from tests.for_each import for_each


def at(
    pair: Neighbours, n: int, w: Vector, G: float, L: float, *, other: bool = False
) -> Vector:
    out = np.empty(len(w))
    x, y = (pair.x_other, pair.y_other) if other else (pair.x, pair.y)
    signed_gradient(G, L)(w, x[n], float(y[n]), out)
    return out


def test_gradients_are_bounded_and_change_slowly() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(6, 3)), rng.choice([-1.0, 1.0], 6)
    pair = Neighbours(x, y, x, y)
    for n in range(6):
        for _ in range(50):
            v, w = rng.normal(scale=2.0, size=(2, 3))
            a, b = at(pair, n, v, 1.5, 2.0), at(pair, n, w, 1.5, 2.0)
            assert np.linalg.norm(a) <= 1.5 * (1 + 1e-15)
            assert np.linalg.norm(a - b) <= 2.0 * np.linalg.norm(v - w) * (1 + 1e-12)


def test_at_its_centre_an_example_does_not_pull() -> None:
    pair = turning(3, 0.5, 1.0, 2.0)
    assert at(pair, REPLACED, np.array([0.5]), 1.0, 2.0).tolist() == [0.0]


@for_each("make", [opposed, turning])
def test_neighbours_differ_in_one_example(
    make: Callable[[int, float, float, float], Neighbours],
) -> None:
    pair = make(4, 0.25, 1.0, 2.0)
    same = np.arange(4) != REPLACED
    assert (pair.x[same] == pair.x_other[same]).all()
    assert (pair.y[same] == pair.y_other[same]).all()
    assert (pair.x[REPLACED], pair.y[REPLACED]) != (
        pair.x_other[REPLACED],
        pair.y_other[REPLACED],
    )


def test_gradients_point_to_the_left_all_the_way() -> None:
    for make in (opposed, turning):
        pair = make(3, 0.5, 1.0, 2.0)
        for w in np.linspace(0.0, 0.49, 8):
            for n in range(3):
                assert at(pair, n, np.array([w]), 1.0, 2.0)[0] < 0.0


def test_terms_move_as_much_as_they_can() -> None:
    far, near = opposed(2, 0.5, 3.0, 2.0), turning(2, 0.5, 3.0, 2.0)
    v, w = np.array([0.125]), np.array([0.5])
    apart = at(far, REPLACED, v, 3.0, 2.0) - at(far, REPLACED, v, 3.0, 2.0, other=True)
    assert apart.tolist() == [-6.0]
    turned = [
        at(near, REPLACED, p, 3.0, 2.0) - at(near, REPLACED, p, 3.0, 2.0, other=True)
        for p in (v, w)
    ]
    assert (turned[1] - turned[0]).tolist() == [2 * 2.0 * 0.375]


def test_with_bounded_gradients_a_delta_node_is_attained_at_the_end_of_the_climb() -> (
    None
):
    """The whole range from -G to G is climbed just before the node's last anchor."""
    N, T, alpha, eta, L, G = (
        3,
        24,
        Fraction(1, 4),
        Fraction(1, 32),
        Fraction(1),
        Fraction(5, 64),
    )
    path = np.arange(T, dtype=float)[:, None] * float(eta)
    x, y = np.full((N, 1), 50.0), np.ones(N)
    # w_22 is the anchor of the last epoch of [17, 24]
    x[REPLACED] = path[21] - float(G / L)
    other = y.copy()
    other[REPLACED] = -1.0
    # last in every epoch, as the closed form has it
    order = np.tile([1, 2, REPLACED], T // N)
    gradient = signed_gradient(float(G), float(L))
    here, there = (
        replay(gradient, x, signs, path, order, alpha=float(alpha))
        for signs in (y, other)
    )
    exact = difference_sensitivity(17, 24, alpha, N, eta, L, "fresh", lipschitz=G)
    assert float(exact) < 0.99 * float(
        difference_sensitivity(17, 24, alpha, N, eta, L, "fresh")
    )
    row = node_intervals(T).tolist().index([17, 24])
    assert here.distances(there).delta[row] == pytest.approx(float(exact), rel=1e-12)


@for_each(
    ("call", "message"),
    [
        (lambda: turning(3, 2.0, 1.0, 1.0), "reach must be at most G/L = 1.0"),
        (lambda: opposed(0, 2.0, 1.0, 1.0), "examples"),
        (lambda: opposed(3, 2.0, 0.0, 1.0), "G"),
        (lambda: signed_gradient(1.0, float("inf")), "L"),
    ],
)
def test_what_makes_no_problem_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ArgumentError, match=message):
        call()
