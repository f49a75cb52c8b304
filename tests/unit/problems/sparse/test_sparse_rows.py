"""Sparse rows: from every format of scipy.sparse, and what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpverify.kernels.check import ArgumentError
from dpverify.problems.data import dataset_of
from dpverify.problems.errors import DataError
from dpverify.problems.sparse.rows import CsrRows, csr_rows
from tests.for_each import for_each


def thin(n: int = 40, d: int = 30, seed: int = 0) -> Any:
    """Rows with a tenth of their entries, one row empty, one column full."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, d)) < 0.1, rng.standard_normal((n, d)), 0.0)
    x[:, 3] = rng.standard_normal(n)
    x[7] = 0.0
    return x


@for_each("format", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_any_format_is_taken_and_nothing_of_it_is_changed(format: str) -> None:
    x = thin()
    whole: Any = sparse.coo_array(x)
    given = whole.asformat(format)
    rows = csr_rows(given)
    assert np.array_equal(rows.dense(), x)
    assert (rows.shape, rows.stored, len(rows)) == (
        (40, 30),
        int(np.count_nonzero(x)),
        40,
    )
    assert rows.nbytes == 8 * 41 + 12 * rows.stored
    assert np.array_equal(given.toarray(), x)
    index = np.array([7, 3, 3, 39])
    mask = np.arange(40) % 3 == 0
    assert np.array_equal(rows[index].dense(), x[index])
    assert np.array_equal(rows[mask].dense(), x[mask])
    assert np.array_equal(rows[5:9].dense(), x[5:9])
    w = np.linspace(-1, 1, 30)
    assert np.allclose(rows @ w, x @ w, rtol=1e-13, atol=1e-13)
    assert rows.widened(33).dense()[:, 30:].shape == (40, 3)


def test_entries_in_one_place_are_added_up_and_zeros_dropped() -> None:
    given = sparse.coo_array(
        ([1.0, 2.0, 0.0, 5.0, -5.0], ([0, 0, 0, 1, 1], [2, 2, 0, 1, 1])), shape=(2, 3)
    )
    unsorted = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2, 2])), shape=(2, 3)
    )
    assert csr_rows(given).dense().tolist() == [[0, 0, 3], [0, 0, 0]]
    assert csr_rows(given).stored == 1
    assert csr_rows(unsorted).columns.tolist() == [0, 2]
    assert unsorted.indices.tolist() == [2, 0], "the user's own matrix stays as it is"


@for_each(
    ("x", "word"),
    [
        (sparse.csr_array((0, 3)), "must be a matrix with rows"),
        (
            sparse.csr_array(np.array([[1.0, np.nan]])),
            "x must be finite everywhere, got x=.*nan",
        ),
        (
            sparse.coo_array(([1e308, 1e308], ([0, 0], [0, 0])), shape=(1, 1)),
            "x must be finite everywhere, got x=inf",
        ),
        (sparse.csr_array(np.array([[1j]])), "must be numbers"),
        (np.ones((2, 2)), "must be a matrix with rows"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")  # of the sum, which is what is refused
def test_what_cannot_be_rows_is_refused(x: Any, word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        csr_rows(x)


def test_a_data_set_of_arrays_is_sparse_by_the_rule() -> None:
    x, y = thin(), np.where(np.arange(40) % 3 == 0, "spam", "ham")
    for given in (x, sparse.csc_matrix(x)):
        data = dataset_of(given, y)
        assert isinstance(data.x, CsrRows)
        assert np.array_equal(data.dense_x, x)
        assert (data.classes, data.y.sum(), data.standardised) == (
            ("ham", "spam"),
            14,
            False,
        )
        assert np.array_equal(data.sample(40, np.random.default_rng(1)).dense_x, x)
    quarter = np.zeros((4, 8))
    quarter[:, :2] = 1.0
    assert isinstance(dataset_of(sparse.csr_array(quarter), [0, 1, 0, 1]).x, np.ndarray)
    quarter[0, 0] = 0.0
    assert isinstance(dataset_of(quarter, [0, 1, 0, 1]).x, CsrRows)
    drawn = dataset_of(x, y).sample(10, np.random.default_rng(1))
    again = dataset_of(np.abs(x) + 1.0, y).sample(10, np.random.default_rng(1))
    assert np.array_equal(drawn.y, again.y)
    assert len(drawn.x) == 10


def test_bad_arrays_are_refused_in_a_line() -> None:
    with pytest.raises(ArgumentError, match=r"y must have shape \(40,\)"):
        dataset_of(thin(), np.zeros(39))
    with pytest.raises(
        DataError, match=r"labels must be 2 to 1000 classes, .*, found 1: 0"
    ):
        dataset_of(thin(), np.zeros(40))
    with pytest.raises(ArgumentError, match="must be finite everywhere"):
        dataset_of(np.array([[np.inf]]), [1])
    with pytest.raises(
        DataError,
        match=r"40 examples with 30 features need 8\.02 kB of memory, more than the 1 kB",
    ):
        dataset_of(thin(), np.arange(40) % 2, limit=1000)
