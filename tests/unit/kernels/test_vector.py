import math

import numpy as np
import pytest

from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.typing import Vector
from dpverify.kernels.vector import move, norm
from tests.for_each import for_each


@for_each("d", [1, 2, 3, 4, 5, 8, 100, 1001])
def test_norm(d: int) -> None:
    v = np.random.default_rng(d).standard_normal(d)
    assert norm(v) == python_of(norm)(v)
    assert norm(v) == pytest.approx(math.sqrt(math.fsum(v * v)), rel=1e-14)


@for_each("size", [1e-322, 1e-300, 1e-200, 1.0, 1e200, 1e308])
def test_norm_does_not_overflow_or_underflow(size: float) -> None:
    v = np.array([3.0, 4.0, 0.0]) * (size / 5.0)
    expected = math.hypot(*v)
    with np.errstate(over="ignore", under="ignore"):
        assert norm(v) == pytest.approx(expected, rel=1e-14)
        assert python_of(norm)(v) == pytest.approx(expected, rel=1e-14)


@for_each("bad", [math.inf, -math.inf, math.nan])
def test_an_entry_that_is_not_finite_shows(bad: float) -> None:
    for v in (
        np.array([1.0, bad, 0.0]),
        np.array([bad]),
        np.array([1e300, 1.0, 2.0, 3.0, bad]),
    ):
        with np.errstate(over="ignore"):
            assert not math.isfinite(norm(v))


def test_zero() -> None:
    assert norm(np.zeros(5)) == 0.0


@kernel
def twice(v: Vector) -> float:
    return 2.0 * norm(v)


def test_from_inside_a_kernel() -> None:
    assert twice(np.array([3.0, 4.0])) == 10.0


@for_each("size", [1.0, 1e-300, 1e300, 5e-324])
def test_a_move_has_its_length(size: float) -> None:
    m_hat, w, again = size * np.array([1.0, -2.0, 2.0]), np.ones(3), np.ones(3)
    assert move(0.25, m_hat, w)
    assert python_of(move)(0.25, m_hat, again)
    assert np.array_equal(w, again)
    assert np.allclose(w, 1 - 0.25 * np.array([1, -2, 2]) / 3, rtol=1e-12)


def test_a_momentum_of_length_zero_or_not_finite_moves_nothing() -> None:
    for step in (move, python_of(move)):
        w = np.ones(2)
        assert step(0.5, np.zeros(2), w)
        assert not step(0.5, np.array([np.nan, 1.0]), w)
        assert not step(0.5, np.array([np.inf, 1.0]), w)
        assert np.array_equal(w, np.ones(2))
