"""Scaling of a data matrix: per row, which does not affect privacy, and per column, which is not private."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.typing import Matrix, Vector

RowScaling: TypeAlias = Literal["unit", "clip", "none"]

RowsT = TypeVar("RowsT")


def _slack(width: int) -> float:
    """Return a bound on the relative error of a row's float norm: ``width`` squares, a sum, a root, two products."""
    return (width + 16) * float(np.finfo(np.float64).eps)


def row_norm_bounds(x: Matrix) -> Vector:
    """Return an upper bound on the norm of every row of ``x``, shape (n, p), also after rounding; 0 for a zero row.

    The bound exceeds the exact norm by at most a factor ``1 + (p + 20) * 2**-51`` and the smallest normal float. Rows
    are first divided by their largest entry, so squares neither overflow nor underflow.
    """
    largest = np.abs(x).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    relative = x / safe[:, None]
    norms = np.sqrt(np.einsum("ij,ij->i", relative, relative))
    # smaller products lose more than a rounding
    tiny = np.where(largest > 0, np.finfo(np.float64).tiny, 0.0)
    with np.errstate(over="ignore"):  # a norm beyond the range of floats is inf
        bounds: Vector = largest * norms * (1 + _slack(x.shape[1])) + tiny
    return bounds


def rows_within(x: Matrix, radius: float) -> NDArray[np.bool_]:
    """Return for every row of ``x``, shape (n, p), if its exact norm is <= ``radius``; close cases use fractions."""
    bounds = row_norm_bounds(x)
    inside = bounds <= radius
    doubtful = ~inside & (bounds <= radius * (1 + 4 * _slack(x.shape[1])))
    for i in np.flatnonzero(doubtful):
        exact = sum((Fraction(float(v)) ** 2 for v in x[i] if v), Fraction(0))
        inside[i] = exact <= Fraction(radius) ** 2
    return inside


def check_rows(x: Matrix, y: Vector) -> None:
    """Raise a ValueError unless rows, shape (n, p), are finite and there is one label for each row."""
    if x.ndim != 2 or min(x.shape) < 1:
        raise ValueError(
            f"x must be a matrix with at least one row and column, got shape {x.shape}."
        )
    if y.shape != x.shape[:1]:
        raise ValueError(f"y must have shape {x.shape[:1]}, got shape {y.shape}.")
    if not np.isfinite(x).all():
        raise ValueError("x must be finite, got a NaN or an infinity.")


def radius_of(
    x: RowsT,
    radius: float | None,
    bounds: Callable[[RowsT], Vector],
    within: Callable[[RowsT, float], NDArray[np.bool_]],
) -> float:
    """Return the radius, by default the largest norm of a row; raise a ValueError if a row is longer."""
    if radius is None:
        return float(bounds(x).max())
    if not within(x, radius).all():
        raise ValueError(
            f"rows must have norm at most radius={radius}, got a row of norm about {bounds(x).max()}."
        )
    return float(radius)


def scale_rows(x: Matrix, how: RowScaling = "unit", radius: float = 1.0) -> Matrix:
    """Return ``x``, shape (n, p), with every row scaled on its own into the ball of this radius, also after rounding.

    ``unit`` gives every nonzero row the norm ``radius``, ``clip`` shortens longer rows only, ``none`` copies.
    """
    if how not in ("unit", "clip", "none"):
        raise ValueError(f"how must be unit, clip or none, got how={how!r}.")
    if not 0 < radius < np.inf:
        raise ValueError(f"radius must be positive and finite, got radius={radius}.")
    if how == "none":
        return x.copy()
    largest = np.abs(x).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    relative = x / safe[:, None]
    bounds = row_norm_bounds(relative)
    factor = np.where(
        bounds > 0,
        radius / (np.where(bounds > 0, bounds, 1.0) * (1 + 2 * _slack(x.shape[1]))),
        0.0,
    )
    scaled: Matrix = relative * factor[:, None]
    if how == "clip":
        inside = row_norm_bounds(x) <= radius
        scaled[inside] = x[inside]
    return scaled


def standardise(x: Matrix) -> Matrix:
    """Return ``x``, shape (n, p), with columns of mean 0 and deviation 1, or 0 if constant; this is not private."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    centred = x / np.where(largest > 0, largest, 1.0)
    centred -= centred.mean(axis=0)
    deviation = centred.std(axis=0)
    # the deviation of a constant column is not exactly 0 after rounding
    constant = deviation <= 1e-14
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))
