from collections.abc import Callable

import numpy as np
import pytest

from dpverify.kernels.jit import python_of
from dpverify.papers.tran2022.algorithms.dp_nsgd import kernels as module

N = 7


@pytest.mark.parametrize("begins", [module.begins, python_of(module.begins)])
def test_permutations_are_drawn_where_epochs_begin(begins: Callable[[int, int, bool], bool]) -> None:
    steps = range(1, 3 * N + 2)
    assert [t for t in steps if begins(t, N, True)] == [1, N + 1, 2 * N + 1, 3 * N + 1]
    assert [t for t in steps if begins(t, N, False)] == [1]


def test_asking_ahead_changes_nothing_and_stays_inside() -> None:
    rows, order = np.random.default_rng(0).standard_normal(N * 5), np.arange(N)
    before = rows.copy()
    for t in range(1, 2 * N + 1):  # the last step of an epoch has no next example
        module.ask_ahead(t, order, rows, np.uint64(5))
        python_of(module.ask_ahead)(t, order, rows, np.uint64(5))
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300, 5e-324])
def test_a_move_has_its_length(size: float) -> None:
    m_hat, w, again = size * np.array([1.0, -2.0, 2.0]), np.ones(3), np.ones(3)
    assert module.move(0.25, m_hat, w)
    assert python_of(module.move)(0.25, m_hat, again)
    assert np.array_equal(w, again)
    assert np.allclose(w, 1 - 0.25 * np.array([1, -2, 2]) / 3, rtol=1e-12)


def test_a_momentum_of_length_zero_or_not_finite_moves_nothing() -> None:
    for step in (module.move, python_of(module.move)):
        w = np.ones(2)
        assert step(0.5, np.zeros(2), w)
        assert not step(0.5, np.array([np.nan, 1.0]), w)
        assert not step(0.5, np.array([np.inf, 1.0]), w)
        assert np.array_equal(w, np.ones(2))
