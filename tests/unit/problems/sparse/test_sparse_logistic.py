"""The loss, its gradients and its constants on sparse rows are those on dense rows, up to rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.problems.logistic import (
    BatchGradient,
    LogisticRegression,
    RecursiveGradient,
)
from dpverify.problems.regression import (
    batch_gradient,
    gradient_norm,
    measured,
    recursive_gradient,
    regression_problem,
)
from dpverify.problems.rows import scale_rows
from dpverify.problems.sparse import logistic as module
from dpverify.problems.sparse.logistic import (
    SparseBatchGradient,
    SparseLogistic,
    SparseRecursiveGradient,
)
from dpverify.problems.sparse.rows import csr_rows
from tests.for_each import for_each

CLOSE = 1e-13


def both(
    lam: float = 0.3, n: int = 90, d: int = 25
) -> tuple[LogisticRegression, SparseLogistic]:
    """The same problem on dense and on sparse rows; one row is empty, one column is full."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((n, d)) < 0.15, rng.standard_normal((n, d)), 0.0)
    x[:, 2], x[11] = 1.0, 0.0
    x = scale_rows(x)
    y = (rng.random(n) < 0.4).astype(np.float64)
    sparsely = regression_problem(csr_rows(sparse.csr_array(x)), y, lam=lam, radius=1.0)
    assert isinstance(sparsely, SparseLogistic)
    return LogisticRegression(x, y, lam=lam, radius=1.0), sparsely


@for_each("lam", [0.0, 0.3])
@for_each("size", [0.0, 0.1, 30.0, 1e6])
def test_loss_and_gradient_are_those_of_dense_rows(lam: float, size: float) -> None:
    dense, found = both(lam)
    w = size * np.random.default_rng(1).standard_normal(25)
    loss, gradient = found.loss_and_gradient(w)
    assert math.isclose(loss, dense.loss(w), rel_tol=CLOSE)
    assert np.allclose(gradient, dense.gradient(w), rtol=CLOSE, atol=CLOSE)
    assert found.loss(w) == loss
    norm = float(np.linalg.norm(gradient))
    assert np.allclose(
        [*measured(found, w), gradient_norm(found, w)],
        [loss, norm, norm],
        rtol=CLOSE,
        atol=0,
    )
    assert measured(dense, w) == (
        dense.loss(w),
        float(np.linalg.norm(dense.gradient(w))),
    )
    assert np.array_equal(found.gradient(w), gradient)
    out, plain = np.empty(25), python_of(module.loss_and_gradient)
    assert math.isclose(
        plain(found.x.arrays, found.y, w, lam, out), loss, rel_tol=1e-12
    )
    assert np.allclose(out, gradient, rtol=1e-12, atol=1e-12)
    for name in ("lipschitz", "smoothness", "gap", "radius", "lam"):
        assert getattr(found, name) == getattr(dense, name)


@for_each("lam", [0.0, 0.3])
def test_the_gradient_of_an_example_is_its_own_part_added_to_the_common_one(
    lam: float,
) -> None:
    dense, found = both(lam)
    w, out, want = (
        np.random.default_rng(2).standard_normal(25),
        np.full(25, np.nan),
        np.empty(25),
    )
    for i in range(90):
        part = slice(found.x.starts[i], found.x.starts[i + 1])
        found.common(found.lam, w, out)
        found.example_gradient(
            w, found.x.columns[part], found.x.values[part], found.y[i], out
        )
        dense.example_gradient(w, dense.x[i], dense.y[i], want)
        assert np.allclose(out, want, rtol=CLOSE, atol=CLOSE)


def test_the_longest_row_gives_the_constants_where_no_radius_is_given() -> None:
    x = np.zeros((3, 9))
    x[1, :2] = 3.0, 4.0
    found = SparseLogistic(csr_rows(sparse.csr_array(x)), np.array([0.0, 1.0, 1.0]))
    assert 5.0 <= found.radius <= 5.0 * (1 + 1e-14)
    assert math.isclose(
        found.lipschitz, LogisticRegression(x, found.y).lipschitz, rel_tol=1e-14
    )
    empty = SparseLogistic(csr_rows(sparse.csr_array((3, 9))), found.y, lam=0.0)
    assert (empty.radius, empty.loss(np.ones(9))) == (0.0, math.log(2.0))


def test_bad_problems_are_refused() -> None:
    rows = csr_rows(sparse.csr_array(2.0 * np.eye(3)))
    with pytest.raises(ValueError, match=r"y must have shape \(3,\)"):
        SparseLogistic(rows, np.zeros(2))
    with pytest.raises(ValueError, match="labels must be 0 or 1, got"):
        SparseLogistic(rows, np.array([0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="rows must have norm at most radius=1"):
        SparseLogistic(rows, np.zeros(3), radius=1.0)


@for_each("clip", [0.02, 0.4, 5.0, None])
def test_means_over_batches_are_those_of_dense_rows(clip: float | None) -> None:
    dense, found = both()
    rng = np.random.default_rng(3)
    old, new, want, out = (
        rng.standard_normal(25),
        rng.standard_normal(25),
        np.empty(25),
        np.empty(25),
    )
    for size in (1, 7, 40, 90):
        batch = rng.permutation(90)[:size]
        BatchGradient(dense, clip)(new, batch, want)
        batch_gradient(found, clip)(new, batch, out)
        assert np.allclose(out, want, rtol=0, atol=CLOSE)
        for gamma, change in ((0.2, 0.01), (1.0, 0.1), (0.5, math.inf)):
            RecursiveGradient(dense, clip, change).change(new, old, batch, gamma, want)
            oracle = recursive_gradient(found, clip, change)
            assert isinstance(oracle, SparseRecursiveGradient)
            oracle.change(new, old, batch, gamma, out)
            assert np.allclose(out, want, rtol=0, atol=CLOSE)


def test_replacing_one_example_moves_the_mean_by_at_most_twice_the_clip_over_the_batch() -> (
    None
):
    _, found = both()
    w, clip, batch, before, after = (
        np.full(25, -2.0),
        0.3,
        np.arange(10),
        np.empty(25),
        np.empty(25),
    )
    SparseBatchGradient(found, clip)(w, batch, before)
    moved = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x, y = found.x.dense(), found.y.copy()
        x[3], y[3] = scale_rows(rng.standard_normal((1, 25)))[0], rng.integers(2)
        SparseBatchGradient(
            SparseLogistic(csr_rows(sparse.csr_array(x)), y, 0.3, 1.0), clip
        )(w, batch, after)
        moved.append(float(np.linalg.norm(after - before)))
    assert 0.5 * 2 * clip / 10 < max(moved) <= 2 * clip / 10 * (1 + 1e-12)
    with pytest.raises(ArgumentError, match="clip must be"):
        SparseBatchGradient(found, 0.0)
    with pytest.raises(ArgumentError, match="change_clip must be"):
        SparseRecursiveGradient(found, 1.0, -1.0)
