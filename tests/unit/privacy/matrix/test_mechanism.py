"""Epsilon, noise and error of matrix mechanisms, from their matrices written out."""

from __future__ import annotations

import numpy as np
import pytest

import dpverify as dv
from dpverify.kernels.check import ArgumentError
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.matrix import Cyclic, MatrixMechanism, Once, Separated

SQUARE = [
    MatrixMechanism.identity(12),
    MatrixMechanism.square_root(12),
    MatrixMechanism.square_root(12, bands=4),
    MatrixMechanism.inverse_square_root(12, bands=3),
    MatrixMechanism.buffered([0.3, 0.2], [0.9, 0.5], steps=12),
    MatrixMechanism.square_root(200),
    MatrixMechanism.matrix(
        np.tril(np.random.default_rng(0).random((12, 12))) + np.eye(12)
    ),
]


def test_the_square_root_is_the_root_of_prefix_sums() -> None:
    root = MatrixMechanism.square_root(20).dense()
    assert np.allclose(root @ root, np.tri(20))
    inverse = np.linalg.inv(MatrixMechanism.inverse_square_root(20, bands=20).dense())
    assert np.allclose(inverse @ inverse @ np.tri(20), np.eye(20))
    cut = np.linalg.inv(MatrixMechanism.inverse_square_root(20, bands=4).dense())
    assert np.allclose(np.tril(cut, -4), 0.0)
    assert np.allclose(np.triu(inverse, -3), np.triu(cut, -3))


def test_errors_are_the_norms_of_rows() -> None:
    momentum = np.asarray(0.9 ** np.arange(200), dtype=np.float64)
    for mechanism in SQUARE:
        steps = mechanism.steps
        noise = np.linalg.inv(mechanism.dense())
        assert np.allclose(
            mechanism.error(2.0), 2.0 * np.linalg.norm(np.tri(steps) @ noise, axis=1)
        )
        weights = momentum[:steps]
        ages = np.subtract.outer(np.arange(steps), np.arange(steps))
        workload = np.where(ages >= 0, weights[np.abs(ages)], 0.0)
        assert np.allclose(
            mechanism.error(1.0, weights), np.linalg.norm(workload @ noise, axis=1)
        )
        assert np.allclose(mechanism.covariance(), noise @ noise.T)


def test_the_noise_of_a_tree_counts_nodes() -> None:
    tree = MatrixMechanism.tree(13)
    assert np.allclose(tree.error(1.0) ** 2, [t.bit_count() for t in range(1, 14)])
    restarted = MatrixMechanism.tree(13, restart=6)
    expected = [(t % 6).bit_count() + (t // 6) * (6).bit_count() for t in range(1, 14)]
    assert np.allclose(restarted.error(1.0) ** 2, expected)
    # a step is in 4 nodes at most
    assert tree.sensitivity(Once()).upper == pytest.approx(2.0)
    with pytest.raises(ArgumentError, match=r"^workload must all be 1 for a tree"):
        tree.error(1.0, np.full(13, 0.5))
    with pytest.raises(ArgumentError, match=r"^strategy must be a square matrix"):
        tree.covariance()


def test_epsilon_is_that_of_one_gaussian_release() -> None:
    mechanism = MatrixMechanism.square_root(100, bands=10)
    participation = Separated(10, most=4)
    change = mechanism.sensitivity(participation, "replace-one")
    assert change.upper == pytest.approx(
        2.0 * mechanism.sensitivity(participation).upper
    )
    bounds = mechanism.epsilon(3.0, 1e-5, participation, "replace-one")
    assert bounds.lower <= bounds.upper < bounds.lower * (1 + 1e-9)
    assert delta_of(change.upper / 3.0, bounds.upper) == pytest.approx(1e-5)
    sigma = mechanism.sigma(2.0, 1e-5, participation)
    assert mechanism.epsilon(sigma, 1e-5, participation).upper <= 2.0
    assert mechanism.epsilon(sigma * (1 - 1e-6), 1e-5, participation).lower > 2.0


def test_steps_without_reuse_are_one_gaussian_step() -> None:
    identity = MatrixMechanism.identity(50)
    assert identity.epsilon(1.3, 1e-6, Cyclic(50)).upper == pytest.approx(
        dv.epsilon(1.3, 1e-6).upper
    )
    assert identity.epsilon(1.3, 1e-6, Cyclic(10)).upper == pytest.approx(
        dv.epsilon(1.3, 1e-6, steps=5).upper
    )
