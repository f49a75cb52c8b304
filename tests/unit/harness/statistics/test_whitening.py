from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg

from dpverify.harness.statistics.trajectory_kernels import divide_sparse
from dpverify.harness.statistics.trajectory_sums import cholesky_factor, whitening
from dpverify.kernels.jit import python_of
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import covariance_matrix
from tests.for_each import for_each

Floats = NDArray[np.float64]


def dense(steps: int) -> Floats:
    mixed = np.random.default_rng(0).standard_normal((steps, 2 * steps))
    covariance: Floats = mixed @ mixed.T
    return covariance


def solved(covariance: Floats, sample: Floats) -> Floats:
    """What whitening means: every coordinate of every trajectory solves the triangular system."""
    n, steps, d = sample.shape
    rows = linalg.solve_triangular(
        cholesky_factor(covariance),
        sample.transpose(1, 0, 2).reshape(steps, n * d),
        lower=True,
    )
    made: Floats = rows.reshape(steps, n, d).transpose(1, 0, 2)
    return made


@for_each("alpha", [1.0, 1 / 8, 1 / 700])
def test_a_tree_has_a_sparse_inverse_and_the_same_whitened_values(alpha: float) -> None:
    covariance = covariance_matrix(60, alpha)
    by = whitening(covariance)
    assert by.entries is not None
    assert len(by.entries[2]) <= 2 * 60
    sample = np.random.default_rng(1).standard_normal((13, 60, 3))
    before = sample.copy()
    assert np.allclose(
        by.whiten(sample), solved(covariance, sample), rtol=1e-12, atol=1e-12
    )
    assert np.array_equal(sample, before)
    for t in (0, 1, 31, 59):
        assert np.allclose(
            by.step(sample, t), by.whiten(sample)[:, t], rtol=1e-12, atol=1e-12
        )


def test_a_dense_inverse_is_not_multiplied_with() -> None:
    covariance = dense(60)
    by, sample = (
        whitening(covariance),
        np.random.default_rng(1).standard_normal((5, 60, 2)),
    )
    assert by.entries is None
    before = sample.copy()
    assert np.allclose(
        by.whiten(sample), solved(covariance, sample), rtol=1e-10, atol=1e-12
    )
    assert np.array_equal(sample, before)
    assert np.array_equal(by.step(sample, 7), by.whiten(sample)[:, 7])


def test_rows_of_more_than_two_entries() -> None:
    factor = np.tril(
        np.triu(np.random.default_rng(3).uniform(0.1, 1.0, (40, 40)), k=-3)
    ) + 2.0 * np.eye(40)
    inverse = np.tril(np.triu(np.linalg.inv(factor), k=-5)) + np.eye(40)
    covariance = np.linalg.inv(inverse) @ np.linalg.inv(inverse).T
    by, sample = (
        whitening((covariance + covariance.T) / 2.0),
        np.random.default_rng(1).standard_normal((3, 40, 5)),
    )
    assert by.entries is not None
    assert np.diff(by.entries[0]).max() > 3
    assert np.allclose(
        by.whiten(sample), solved(covariance, sample), rtol=1e-9, atol=1e-9
    )


def test_the_last_two_covariances_are_remembered_by_value() -> None:
    first, second, third = (covariance_matrix(9, alpha) for alpha in (0.1, 0.2, 0.3))
    made = whitening(first)
    assert whitening(second) is not made
    assert whitening(first.copy()) is made
    whitening(third)
    whitening(second)
    assert whitening(first) is not made
    changed = first.copy()
    whitening(changed)
    changed *= 4.0
    assert np.allclose(whitening(changed).factor, 2.0 * made.factor)
    changed.flags.writeable = False
    frozen = whitening(changed)
    assert np.allclose(frozen.factor, 2.0 * made.factor)
    assert whitening(changed) is frozen


@for_each("sample", [np.zeros((5, 8, 2)), np.zeros((5, 9))])
def test_samples_that_do_not_fit_are_refused(sample: Floats) -> None:
    with pytest.raises(ValueError, match="sample must"):
        whitening(covariance_matrix(9, 0.1)).whiten(sample)


def test_the_python_body_gives_the_same_bits() -> None:
    covariance = covariance_matrix(7, 0.25)
    by, sample = (
        whitening(covariance),
        6.0 * np.random.default_rng(2).standard_normal((10, 7, 2)),
    )
    assert by.entries is not None
    out = np.empty((10, 7, 2))
    python_of(divide_sparse)(*by.entries, sample, out)
    assert np.array_equal(out, by.whiten(sample))
