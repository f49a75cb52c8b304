"""Lengths of sparse rows, bounded from above with rounding, and their scaling; as ``problems.rows`` does it.

A row with k stored entries is a dense row of width k: zeros add nothing to a sum of squares, without rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.rows import RowScaling
from dpverify.problems.sparse.rows import CsrRows

EPS: Final = float(np.finfo(np.float64).eps)
TINY: Final = float(np.finfo(np.float64).tiny)  # products below it lose more than a rounding


@step_kernel
def slack(width: int) -> float:
    """Relative error that covers the float norm of a row: ``width`` squares, their sum, a root, two products."""
    return (width + 16) * EPS


@step_kernel
def bound_of(values: Vector, first: int, last: int) -> float:
    """Bound the norm of ``values[first:last]`` from above; squares neither overflow nor vanish."""
    largest = 0.0
    square = 0.0
    for k in range(first, last):
        largest = max(largest, abs(values[k]))
    if largest == 0.0:
        return 0.0
    for k in range(first, last):
        relative = values[k] / largest
        square += relative * relative
    bound: float = largest * np.sqrt(square) * (1.0 + slack(last - first)) + TINY
    return bound


@kernel
def fill_bounds(starts: Indices, values: Vector, out: Vector) -> None:
    """Write a bound on the norm of each row into ``out``, shape (n,)."""
    for i in range(out.shape[0]):
        out[i] = bound_of(values, starts[i], starts[i + 1])


@kernel
def fill_scaled(starts: Indices, values: Vector, radius: float, clip: bool, out: Vector) -> None:
    """Write the values of the scaled rows into ``out``, shape (m,); ``clip``: short rows stay as they are."""
    for i in range(starts.shape[0] - 1):
        first = starts[i]
        last = starts[i + 1]
        largest = 0.0
        for k in range(first, last):
            largest = max(largest, abs(values[k]))
            out[k] = values[k]
        if largest == 0.0 or (clip and bound_of(values, first, last) <= radius):
            continue
        for k in range(first, last):
            out[k] = values[k] / largest
        factor = radius / (bound_of(out, first, last) * (1.0 + 2.0 * slack(last - first)))
        for k in range(first, last):
            out[k] *= factor


def norm_bounds(rows: CsrRows) -> Vector:
    """Bound the norm of every row from above, rounding included, as ``rows.row_norm_bounds``; shape (n,)."""
    out = np.empty(len(rows))
    fill_bounds(rows.starts, rows.values, out)
    return out


def sparse_rows_within(rows: CsrRows, radius: float) -> NDArray[np.bool_]:
    """Decide for every row if its exact norm is <= ``radius``; by fractions where in doubt."""
    bounds = norm_bounds(rows)
    inside = bounds <= radius
    doubtful = ~inside & (bounds <= radius * (1.0 + 4.0 * (np.diff(rows.starts) + 16) * EPS))
    for i in np.flatnonzero(doubtful):
        entries = rows.values[rows.starts[i] : rows.starts[i + 1]].tolist()
        inside[i] = sum((Fraction(v) ** 2 for v in entries), Fraction(0)) <= Fraction(radius) ** 2
    return inside


def scale_sparse(rows: CsrRows, how: RowScaling = "unit", radius: float = 1.0) -> CsrRows:
    """Bring every row by itself into the ball of a given radius, exactly, as ``rows.scale_rows``."""
    if how not in ("unit", "clip", "none"):
        raise ValueError(f"how must be unit, clip or none, got how={how!r}.")
    if not 0 < radius < np.inf:
        raise ValueError(f"radius must be positive and finite, got radius={radius}.")
    if how == "none":
        return rows
    out = np.empty(rows.stored)
    fill_scaled(rows.starts, rows.values, radius, how == "clip", out)
    return rows.with_values(out)
