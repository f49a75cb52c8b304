"""Row scaling keeps every row in the ball in exact arithmetic; column scaling does what its name says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpverify.kernels.typing import Vector
from dpverify.problems.rows import row_norm_bounds, rows_within, scale_rows, standardise

ENTRIES = st.floats(-1e308, 1e308) | st.sampled_from([0.0, 5e-324, 1e-200, 1e200, 1.0])
MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: arrays(float, shape, elements=ENTRIES)
)


def squared_norm(row: Vector) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(MATRICES)
def test_norm_bounds_are_above_the_exact_norm_and_close(x: Vector) -> None:
    for row, bound in zip(x, row_norm_bounds(x), strict=True):
        if np.isinf(bound):
            assert squared_norm(row) > Fraction(10) ** 615
            continue
        exact = squared_norm(row)
        assert Fraction(float(bound)) ** 2 >= exact
        if bound > 1e-290:
            assert Fraction(float(bound)) ** 2 <= exact * Fraction(1 + 1e-13)


def test_the_norm_bound_of_a_wide_row_covers_what_a_long_sum_drops() -> None:
    """Added to 1 one by one, squares of half its last digit are lost; a sum in lanes loses those of one lane."""
    row = np.full((1, 200_000), 2.0**-26.5 * (1 - 2.0**-52))
    row[0, 0] = 1.0
    (bound,) = row_norm_bounds(row)
    square = 1 + 199_999 * Fraction(float(row[0, 1])) ** 2
    summed = Fraction(float(np.einsum("ij,ij->i", row, row)[0]))
    assert summed * (1 + 16 * Fraction(1, 2**52)) ** 2 < square, (
        "more is lost than a fixed number of roundings"
    )
    assert Fraction(float(bound)) ** 2 >= square


@settings(max_examples=200, deadline=None)
@given(
    MATRICES,
    st.sampled_from([1.0, 0.3, 1e-3, 700.0]),
    st.sampled_from(["unit", "clip"]),
)
def test_scaled_rows_are_in_the_ball_exactly(
    x: Vector, radius: float, how: str
) -> None:
    scaled = scale_rows(x, "unit" if how == "unit" else "clip", radius)
    assert (row_norm_bounds(scaled) <= radius).all()
    for row, new in zip(x, scaled, strict=True):
        assert squared_norm(new) <= Fraction(radius) ** 2
        if how == "unit" and row.any():
            assert squared_norm(new) >= Fraction(radius * (1 - 1e-12)) ** 2
        if how == "clip" and squared_norm(row) <= Fraction(radius * (1 - 1e-12)) ** 2:
            np.testing.assert_array_equal(new, row)


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
    want = [squared_norm(row) <= 1 for row in x]
    assert rows_within(x, 1.0).tolist() == want
    assert want[0]
    assert not want[2]


def test_scaling_a_row_does_not_look_at_the_others() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    other = x.copy()
    other[0] = 1e9
    for how in ("unit", "clip"):
        np.testing.assert_array_equal(
            scale_rows(x, how)[1:], scale_rows(other, how)[1:]
        )


def test_none_copies_and_bad_arguments_are_named() -> None:
    x = np.ones((2, 2))
    copy = scale_rows(x, "none")
    copy[0] = 0
    assert (x == 1).all()
    with pytest.raises(ValueError, match="got how='both'"):
        scale_rows(x, "both")  # type: ignore[arg-type]  # what the test is about
    for radius in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="radius must be positive"):
            scale_rows(x, "unit", radius)


def test_standardise_handles_constant_and_huge_columns() -> None:
    x = np.array([[0.1, 1e308, 1.0], [0.1, -1e308, 2.0], [0.1, 1e308, 4.0]])
    got = standardise(x)
    assert (got[:, 0] == 0).all()
    np.testing.assert_allclose(got[:, 1:].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(got[:, 1:].std(axis=0), 1)
    np.testing.assert_allclose(got[:, 2], (x[:, 2] - x[:, 2].mean()) / x[:, 2].std())
