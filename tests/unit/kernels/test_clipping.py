"""Sums of clipped gradients against all gradients written out, and what a wrong way of clipping would give."""

from collections.abc import Callable

import numpy as np
import pytest

from dpverify.kernels import clipping as module
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.typing import Indices, Matrix, Vector
from tests.for_each import for_each

CLOSE = 1e-12
N = 300


@kernel
def slope(z: float, y: float) -> float:
    """Half the square of the error has this derivative."""
    return z - y


def data(d: int, seed: int = 0) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    x, y, w = (
        rng.standard_normal((N, d)) / np.sqrt(d),
        rng.standard_normal(N),
        rng.standard_normal(d),
    )
    x[7] = 0.0
    return x, y, w


def gradients(x: Matrix, y: Vector, w: Vector) -> Matrix:
    """All gradients, one per row."""
    found: Matrix = (x @ w - y)[:, np.newaxis] * x
    return found


def clipped(g: Matrix, clip: float) -> Matrix:
    lengths = np.linalg.norm(g, axis=1, keepdims=True)
    found: Matrix = g * np.minimum(1.0, clip / np.where(lengths > 0, lengths, 1.0))
    return found


def summed(x: Matrix, y: Vector, w: Vector, batch: Indices, clip: float) -> Vector:
    rows = module.pad_rows(x, y)
    at, out = np.zeros(rows.shape[1]), np.full(rows.shape[1], np.nan)
    at[: len(w)] = w
    module.clipped_sum(slope)(rows, batch, at, clip, out)
    assert np.isnan(w).any() or not out[len(w) :].any()
    return out[: len(w)]


@for_each("d", [1, 2, 29, 30, 31, 32, 62, 63, 123, 200])
@for_each(
    ("clip", "part"), [(1e-3, "all"), (0.5, "some"), (1e3, "none"), (np.inf, "none")]
)
def test_the_sum_is_that_of_gradients_written_out(
    d: int, clip: float, part: str
) -> None:
    x, y, w = data(d)
    batch = np.random.default_rng(1).permutation(N)[:256]
    g = gradients(x, y, w)[batch]
    longer = (np.linalg.norm(g, axis=1) > clip)[batch != 7].mean()
    assert {"all": longer > 0.9, "some": 0.05 < longer < 0.95, "none": longer == 0}[
        part
    ]
    want = clipped(g, clip).sum(axis=0)
    assert np.allclose(
        summed(x, y, w, batch, clip),
        want,
        rtol=0,
        atol=CLOSE * np.abs(clipped(g, clip)).sum(),
    )


@for_each("size", [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 299, 300])
def test_batches_of_every_size(size: int) -> None:
    x, y, w = data(5)
    batch = np.random.default_rng(2).permutation(N)[:size]
    want = clipped(gradients(x, y, w)[batch], 0.3).sum(axis=0)
    assert np.allclose(summed(x, y, w, batch, 0.3), want, rtol=0, atol=CLOSE * N)


def test_an_example_that_is_named_twice_counts_twice() -> None:
    x, y, w = data(5)
    batch = np.array([3, 3, 7, 299, 3])
    assert np.allclose(
        summed(x, y, w, batch, 0.3),
        clipped(gradients(x, y, w)[batch], 0.3).sum(axis=0),
        rtol=CLOSE,
    )


def test_rows_of_zeros_and_slopes_of_zero_add_nothing() -> None:
    x, y, w = np.zeros((3, 4)), np.ones(3), np.ones(4)
    assert not summed(x, y, w, np.arange(3), 1e-300).any()
    x = np.ones((3, 4))
    assert not summed(x, np.full(3, 4.0), w, np.arange(3), 1.0).any()


def test_what_is_not_a_number_is_not_lost() -> None:
    x, y, w = data(3)
    w[1] = np.nan
    assert np.isnan(summed(x, y, w, np.arange(20), 0.1)).all()


def test_numbers_at_both_ends_of_the_floats() -> None:
    for size in (1e-200, 1e200):
        x, y, w = np.full((2, 3), size), np.array([1.0, -1.0]), np.zeros(3)
        got = summed(x, y, w, np.array([0]), 1.0)
        want = -np.full(3, min(size, 1 / np.sqrt(3)))
        assert np.allclose(got, want, rtol=CLOSE)


def unclipped(g: Matrix, clip: float) -> Vector:
    total: Vector = g.sum(axis=0)
    return total


def mean_clipped(g: Matrix, clip: float) -> Vector:
    total: Vector = len(g) * clipped(g.mean(axis=0, keepdims=True), clip)[0]
    return total


def batch_clipped(g: Matrix, clip: float) -> Vector:
    total: Vector = g * min(1.0, clip / np.linalg.norm(g, axis=1).max())
    return total.sum(axis=0)  # type: ignore[no-any-return]  # numpy's sum of an array along an axis


def normalized(g: Matrix, clip: float) -> Vector:
    lengths = np.linalg.norm(g, axis=1, keepdims=True)
    total: Vector = (clip * g / np.where(lengths > 0, lengths, 1.0)).sum(axis=0)
    return total


def coordinates_clipped(g: Matrix, clip: float) -> Vector:
    total: Vector = np.clip(g, -clip, clip).sum(axis=0)
    return total


def length_of_the_slope(g: Matrix, clip: float) -> Vector:
    """Clip by the slope alone, as if all rows were of length 1."""
    x, y, w = data(9)
    lengths = np.abs(x @ w - y)[:256, np.newaxis]
    total: Vector = (g * np.minimum(1.0, clip / lengths)).sum(axis=0)
    return total


@for_each(
    "fault",
    [
        unclipped,
        mean_clipped,
        batch_clipped,
        normalized,
        coordinates_clipped,
        length_of_the_slope,
    ],
)
def test_other_ways_of_clipping_are_told_apart(
    fault: Callable[[Matrix, float], Vector],
) -> None:
    x, y, w = data(9)
    batch = np.arange(256)
    got, wrong = summed(x, y, w, batch, 0.5), fault(gradients(x, y, w)[batch], 0.5)
    assert np.abs(got - wrong).max() > 1e6 * CLOSE * N


def test_jitted_and_python_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, w = data(40)
    rows, batch = module.pad_rows(x, y), np.random.default_rng(3).permutation(N)[:21]
    at, out, again = (
        np.zeros(rows.shape[1]),
        np.empty(rows.shape[1]),
        np.empty(rows.shape[1]),
    )
    at[:40] = w
    module.clipped_sum(slope)(rows, batch, at, 0.3, out)
    for name in ("fold_products", "add_up", "add_four", "prefetch_row"):
        monkeypatch.setattr(module, name, python_of(getattr(module, name)))
    python_of(module.clipped_sum(slope))(rows, batch, at, 0.3, again)
    assert np.array_equal(out, again)
    python_of(module.fill_lengths)(x, 1.0 + (40 + 16) * 2.0**-52, rows)
    assert np.array_equal(rows, module.pad_rows(x, y))


@for_each(("d", "p"), [(1, 32), (30, 32), (31, 64), (123, 128), (126, 128), (127, 160)])
def test_padded_rows_are_whole_cache_lines(d: int, p: int) -> None:
    x, y = np.random.default_rng(4).standard_normal((5, d)), np.arange(5.0)
    rows = module.pad_rows(x, y)
    assert rows.shape == (5, p)
    assert p == module.padded(d)
    assert rows.ctypes.data % 64 == 0
    assert rows.flags.c_contiguous
    assert np.array_equal(rows[:, :d], x)
    assert not rows[:, d:-2].any()
    assert np.array_equal(rows[:, -2], y)
    lengths = np.linalg.norm(x, axis=1)
    assert (rows[:, -1] >= lengths).all()
    assert np.allclose(rows[:, -1], lengths, rtol=CLOSE)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="x must be finite everywhere"):
        module.pad_rows(np.full((2, 2), np.nan), np.ones(2))
    with pytest.raises(ArgumentError, match=r"y must have shape \(2,\)"):
        module.pad_rows(np.ones((2, 2)), np.ones(3))
    with pytest.raises(ArgumentError, match="dimension must be an integer, at least 1"):
        module.padded(0)
