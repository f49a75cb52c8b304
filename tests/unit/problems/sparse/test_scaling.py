"""Scaling of sparse rows keeps each row in the ball in exact arithmetic, and is that of dense rows up to rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.rows import row_norm_bounds, rows_within, scale_rows
from dpverify.problems.sparse.rows import (
    CsrRows,
    csr_rows,
    norm_bounds,
    scale_sparse,
    sparse_rows_within,
)

ENTRIES = st.floats(-1e308, 1e308) | st.sampled_from(
    [0.0, 0.0, 5e-324, 1e-200, 1e200, 1.0]
)
MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: arrays(float, shape, elements=ENTRIES)
)


def rows_of(x: Matrix) -> CsrRows:
    return csr_rows(sparse.csr_array(x))


def squared_norm(row: Vector) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(MATRICES)
def test_norm_bounds_are_above_the_exact_norm_and_close(x: Matrix) -> None:
    for row, bound in zip(x, norm_bounds(rows_of(x)), strict=True):
        if np.isinf(bound):
            assert squared_norm(row) > Fraction(10) ** 615
            continue
        assert Fraction(float(bound)) ** 2 >= squared_norm(row)
        if bound > 1e-290:
            assert Fraction(float(bound)) ** 2 <= squared_norm(row) * Fraction(
                1 + 1e-13
            )


def test_the_norm_bound_of_a_wide_row_covers_what_a_long_sum_drops() -> None:
    """Added to 1 one by one, squares of half its last digit are all lost."""
    row = np.full((1, 1000), 2.0**-26.5 * (1 - 2.0**-52))
    row[0, 0] = 1.0
    (bound,) = norm_bounds(rows_of(row))
    assert sum(value * value for value in row[0].tolist()) == 1.0
    assert (
        Fraction(1 + 150 * 2.0**-52) ** 2
        < squared_norm(row[0])
        <= Fraction(float(bound)) ** 2
    )


@settings(max_examples=200, deadline=None)
@given(
    MATRICES,
    st.sampled_from([1.0, 0.3, 1e-3, 700.0]),
    st.sampled_from(["unit", "clip"]),
)
def test_scaled_rows_are_in_the_ball_exactly(
    x: Matrix, radius: float, how: str
) -> None:
    found = scale_sparse(rows_of(x), "unit" if how == "unit" else "clip", radius)
    assert sparse_rows_within(found, radius).all()
    want = scale_rows(x, "unit" if how == "unit" else "clip", radius)
    for row, new, dense in zip(x, found.dense(), want, strict=True):
        assert squared_norm(new) <= Fraction(radius) ** 2
        assert np.allclose(new, dense, rtol=1e-13, atol=1e-300)
        if how == "unit" and row.any():
            assert squared_norm(new) >= Fraction(radius * (1 - 1e-12)) ** 2


def test_rows_within_is_exact_at_the_border() -> None:
    above = np.nextafter(1.0, 2.0)
    x = np.array(
        [
            [0.0, 1.0],
            [0.6, 0.8],
            [above, 0.0],
            [0.0, np.nextafter(1.0, 0.0)],
            [2.0, 0.0],
            [0.0, 0.0],
        ]
    )
    assert sparse_rows_within(rows_of(x), 1.0).tolist() == rows_within(x, 1.0).tolist()
    assert np.allclose(norm_bounds(rows_of(x)), row_norm_bounds(x), rtol=1e-13, atol=0)


def test_bad_arguments_are_named_and_none_shares_the_values() -> None:
    rows = rows_of(np.eye(2))
    assert scale_sparse(rows, "none") is rows
    with pytest.raises(ValueError, match="got how='both'"):
        scale_sparse(rows, "both")  # type: ignore[arg-type]  # what the test is about
    for radius in (0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="radius must be positive"):
            scale_sparse(rows, "unit", radius)
