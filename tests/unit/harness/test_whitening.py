from __future__ import annotations

import numpy as np
import pytest

from dpverify.harness.trajectory_kernels import divide_sparse, tally
from dpverify.harness.trajectory_statistics import cholesky_factor, collect, whiten
from dpverify.harness.whitening import whitening
from dpverify.kernels.jit import python_of
from dpverify.papers.tran2022.compose_bounds import covariance_matrix


def dense(steps: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    mixed = np.random.default_rng(0).standard_normal((steps, 2 * steps))
    covariance: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = mixed @ mixed.T
    return covariance


@pytest.mark.parametrize("alpha", [1.0, 1 / 8, 1 / 700])
def test_a_tree_has_a_sparse_inverse_and_the_same_whitened_values(alpha: float) -> None:
    covariance = covariance_matrix(60, alpha)
    by = whitening(covariance)
    assert by.entries is not None
    assert len(by.entries[2]) <= 2 * 60
    sample = np.random.default_rng(1).standard_normal((13, 60, 3))
    assert np.allclose(by.whiten(sample), whiten(by.factor, sample), rtol=1e-12, atol=1e-12)


def test_a_dense_inverse_is_divided_by_as_before() -> None:
    covariance = dense(60)
    by, sample = whitening(covariance), np.random.default_rng(1).standard_normal((5, 60, 2))
    assert by.entries is None
    assert np.array_equal(by.whiten(sample), whiten(cholesky_factor(covariance), sample))


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


@pytest.mark.parametrize("sample", [np.zeros((5, 8, 2)), np.zeros((5, 9)), np.full((5, 9, 2), np.nan)])
def test_samples_that_do_not_fit_are_refused(sample: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    with pytest.raises(ValueError, match="sample must"):
        whitening(covariance_matrix(9, 0.1)).whiten(sample)


def test_python_bodies() -> None:
    covariance = covariance_matrix(7, 0.25)
    by, sample = whitening(covariance), 6.0 * np.random.default_rng(2).standard_normal((10, 7, 2))
    assert by.entries is not None
    out = np.empty((7, 10, 2))
    python_of(divide_sparse)(*by.entries, sample, out)
    assert np.array_equal(out, by.whiten(sample))
    wanted = collect(out, np.zeros(7))
    sums, coordinates, counts = np.zeros((7, 2)), np.zeros((2, 2)), np.zeros(514, dtype=np.int64)
    python_of(tally)(out, 8.0, 512, sums, coordinates, counts)
    assert np.array_equal(sums, wanted.sums)
    assert np.array_equal(coordinates, wanted.coordinates)
    assert np.array_equal(counts, wanted.counts)
    assert np.allclose(sums, out.sum(axis=1), rtol=1e-12, atol=1e-12)
    assert np.allclose(coordinates, np.einsum("tia,tib->ab", out, out), rtol=1e-12)
    assert counts[0] > 0
    assert counts[-1] > 0
