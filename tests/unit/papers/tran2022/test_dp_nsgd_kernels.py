import numpy as np
import pytest

from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator, shuffle
from dpverify.papers.tran2022 import dp_nsgd_kernels as module

N = 7


@pytest.mark.parametrize("fresh", [True, False])
def test_examples_come_in_the_order_of_each_epochs_permutation(fresh: bool) -> None:
    order, rng, other, expected = np.arange(N), generator(1), generator(1), np.arange(N)
    for t in range(1, 3 * N + 3):
        if (t - 1) % N == 0 and (fresh or t == 1):
            shuffle(other, expected)
        step = module.example_of if t % 2 else python_of(module.example_of)
        assert step(t, order, fresh, rng) == expected[(t - 1) % N]
    assert rng.random() == other.random()


def test_asking_ahead_changes_nothing_and_stays_inside() -> None:
    x, order = np.random.default_rng(0).standard_normal((N, 5)), np.arange(N)
    before = x.copy()
    for t in range(1, 2 * N + 1):  # the last step of an epoch has no next example
        module.ask_ahead(t, order, x)
        python_of(module.ask_ahead)(t, order, x)
    assert np.array_equal(x, before)


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
