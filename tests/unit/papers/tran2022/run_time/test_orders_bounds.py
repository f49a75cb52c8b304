"""Cones, exponents, and what they decide."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.papers.tran2022.run_time.orders_bounds import (
    LOGARITHM,
    STEPS_OF_THEOREM_6,
    STEPS_OF_THEOREM_9,
    Order,
    Vector,
    directions,
    edges,
    exceeds,
    literal_order,
    order,
    stream_order,
    whole_epochs,
    within,
)
from tests.for_each import for_each

small = st.fractions(-3, 3, max_denominator=6)


def vector(x: int | str, y: int | str, z: int | str) -> Vector:
    return Fraction(x), Fraction(y), Fraction(z)


def regime(steps: Order, *, bounded_epsilon: bool) -> list[Vector]:
    """Faces of N >= 1, d >= 1, T >= N, and perhaps epsilon <= 1."""
    faces = [vector(1, 0, 0), vector(0, 1, 0), whole_epochs(steps)]
    return [*faces, vector(0, 0, -1)] if bounded_epsilon else faces


def test_orders_of_the_run() -> None:
    assert literal_order(STEPS_OF_THEOREM_9) == order("11/3", "-1/3", "8/3")
    assert stream_order(STEPS_OF_THEOREM_9) == order("7/3", "1/3", "4/3")
    assert LOGARITHM.times(LOGARITHM).logs == 2
    with pytest.raises(ValueError, match="no logarithm"):
        LOGARITHM.power(2)


def test_edges_of_known_cones() -> None:
    octant = [vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)]
    assert edges(octant) == sorted(octant, reverse=True)
    bounded = edges(regime(STEPS_OF_THEOREM_9, bounded_epsilon=True))
    assert set(bounded) == {vector(1, 0, 0), vector("1/2", 1, 0), vector(1, 0, -1)}
    free = edges(regime(STEPS_OF_THEOREM_6, bounded_epsilon=False))
    assert set(free) == {vector(0, 0, 1), vector(0, 1, "1/2"), vector(1, 0, -1)}


@for_each("bounded", [True, False])
@given(N=small, d=small, epsilon=small, seed=st.integers(0, 99))
def test_the_edges_decide_the_cone(
    bounded: bool, N: Fraction, d: Fraction, epsilon: Fraction, seed: int
) -> None:
    """A monomial that is at most 1 on the edges is at most 1 at random points of the region, and only then."""
    monomial, one = Order(N, d, epsilon), order(0, 0, 0)
    faces = regime(STEPS_OF_THEOREM_9, bounded_epsilon=bounded)
    on_edges = not any(
        exceeds([monomial], [one], edge, logs=False) for edge in edges(faces)
    )
    points = np.random.default_rng(seed).uniform(-1, 1, (2000, 3))
    inside = points[(points @ np.array(faces, dtype=float).T >= 0).all(axis=1)]
    values = inside @ np.array([float(N), float(d), float(epsilon)])
    if on_edges:
        assert (values <= 1e-12).all()
    found = [v for v in directions(faces) if monomial.along(v) > 0]
    assert bool(found) is not on_edges


def test_a_direction_is_within_a_cone_or_on_its_edge() -> None:
    faces = regime(STEPS_OF_THEOREM_9, bounded_epsilon=True)
    assert within(faces, vector(1, 0, 0))
    assert not within(faces, vector(1, 0, 0), strictly=True)
    assert within(faces, vector(10, 1, -1), strictly=True)
    assert not within(faces, vector(1, 0, -2))


def test_logarithms_count_only_where_powers_are_equal_and_only_for_o() -> None:
    steps, along = order(1, 0, 0), vector(1, 0, 0)
    more = steps.times(LOGARITHM)
    assert exceeds([more], [steps], along, logs=True)
    assert not exceeds([more], [steps], along, logs=False)
    assert not exceeds([more], [order(2, 0, 0)], along, logs=True)
    assert not exceeds([steps], [order(0, 0, 0), steps], along, logs=True)


@for_each("k", [1, 2, 3, 4])
def test_the_quotient_grows_as_its_exponent_says(k: int) -> None:
    """At N = d = 8^k and epsilon = 1 the count is above the printed run time by at least N^(1/3) / 2."""
    N = d = 8**k
    T = 32**k
    assert math.isclose(T, N ** (7 / 3) / d ** (2 / 3))
    if T >= 4 * N:
        below = T * T / (2 * N) * d
        assert below / (N ** (11 / 3) / d ** (2 / 3)) == pytest.approx(N ** (1 / 3) / 2)
