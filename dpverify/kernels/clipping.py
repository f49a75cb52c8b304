"""Sums of clipped gradients of a batch, for linear models: no gradient of a single example is ever stored.

The loss of an example is ``f(<x, w>, y)``, so that its gradient is a slope times its row, of length ``|slope| |x|``:

    sum over the batch of  slope_i min(1, C / (|slope_i| |x_i|)) x_i,        slope_i = f'(<x_i, w>, y_i).

One pass over the rows finds the slopes, a second adds the rows up, eight rows at a time, so that the second pass reads
what the first has just brought near. What all examples have in common, as a regularizer's gradient, is no part of this:
it depends on no example, so it is added after clipping, and replacing one example moves the sum by at most 2C.

Rows are padded: to whole cache lines, and for each example's label and length to come along with its row.

The recursive momentum of DP-SRM also needs the change of each gradient, which is a slope times the row x, too:

    gamma clip(s_new x, C) + (1 - gamma) clip((s_new - s_old) x, C'),      clip(v, C) = v min(1, C / |v|).

Both products of a row are taken while it is near, and it is added up once, in one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm, prefetch_row

Slope: TypeAlias = Callable[[float, float], float]
"""Kernel ``slope(z, y)``: derivative of an example's loss by ``z = <x, w>``."""

WIDTH = 32  # Rows are padded to a multiple of this many numbers

GROUP, AHEAD = 8, 4
"""Rows in hand at a time, and how many rows ahead memory is asked for: all of them fit in the nearest cache."""

ClippedSum: TypeAlias = Callable[[Matrix, Indices, Vector, float, Vector], None]  # Kernel that ``clipped_sum`` makes

EXTRA = 2  # Numbers at the end of a padded row that are none of its own: the label, and a bound on its length

_LANES = tuple(np.uint64(k) for k in range(8))


@kernel
def fold_products(rows: Vector, at: np.uint64, w: Vector, q: np.uint64, out: Vector) -> None:
    """Write the products of a row, ``rows[at : at + 4q]``, and ``w``, four added up, into ``out``, shape (q,)."""
    for j in range(q):
        k = j + q
        m = at + j + q
        n = k + q
        r = m + q
        out[j] = (rows[at + j] * w[j] + rows[m] * w[k]) + (rows[r] * w[n] + rows[r + q] * w[n + q])


@kernel
def add_up(v: Vector, q: np.uint64) -> float:
    """Sum of ``v``, shape (q,) with q a multiple of 8, in eight parts and a fixed order."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    e = 0.0
    f = 0.0
    g = 0.0
    h = 0.0
    for j in range(_LANES[0], q, np.uint64(8)):
        a += v[j]
        b += v[j + _LANES[1]]
        c += v[j + _LANES[2]]
        d += v[j + _LANES[3]]
        e += v[j + _LANES[4]]
        f += v[j + _LANES[5]]
        g += v[j + _LANES[6]]
        h += v[j + _LANES[7]]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel
def add_four(rows: Vector, at: Indices, weights: Vector, first: int, p: np.uint64, out: Vector) -> None:
    """Add four rows, the ``first``, ... of those that begin at ``at``, times their weights, to ``out``, shape (p,)."""
    a = weights[first]
    b = weights[first + 1]
    c = weights[first + 2]
    d = weights[first + 3]
    i = np.uint64(at[first])
    k = np.uint64(at[first + 1])
    m = np.uint64(at[first + 2])
    n = np.uint64(at[first + 3])
    for j in range(p):
        out[j] += (a * rows[i + j] + b * rows[k + j]) + (c * rows[m + j] + d * rows[n + j])


@lru_cache(maxsize=32)
def clipped_sum(slope: Slope) -> ClippedSum:
    """Make the kernel for a loss; it is part of the kernel, since to pass it would cost as much as 50 rows a call.

    ``total(rows, batch, w, clip, out)`` writes the sum of the batch's clipped gradients into ``out``: * ``rows``, (n,
    p) array of float, from :func:`pad_rows`; * ``batch``, (B,) array of int: examples, 0..n-1, which is not looked at.
    B may be 0; one that is named twice counts twice; * ``w``, (p,) array of float: where the gradients are taken; zeros
    behind its d numbers; * ``clip``, float: C, above 0; infinite: nothing is clipped; * ``out``, (p,) array of float:
    receives the sum; zeros behind its d numbers.
    """

    @kernel
    def total(rows: Matrix, batch: Indices, w: Vector, clip: float, out: Vector) -> None:
        n, width = rows.shape
        p = np.uint64(width)
        q = np.uint64(width // 4)
        B = batch.shape[0]
        flat = rows.reshape(n * width)
        folded = np.empty(width // 4)
        weights = np.zeros(GROUP)
        at = np.zeros(GROUP, dtype=np.int64)
        for j in range(p):
            out[j] = 0.0
        for i in range(min(AHEAD, B)):
            prefetch_row(flat, np.uint64(batch[i] * width), p)
        for done in range(0, B, GROUP):
            size = min(GROUP, B - done)
            for i in range(size):
                if done + i + AHEAD < B:
                    prefetch_row(flat, np.uint64(batch[done + i + AHEAD] * width), p)
                at[i] = batch[done + i] * width
                first = np.uint64(at[i])
                fold_products(flat, first, w, q, folded)
                s = slope(add_up(folded, q), flat[first + p - np.uint64(2)])
                length = abs(s) * flat[first + p - np.uint64(1)]
                weights[i] = s * min(1.0, clip / length) if length > 0.0 else s  # NaN stays NaN
            for i in range(size, GROUP):
                weights[i], at[i] = 0.0, at[0]
            for i in range(0, size, 4):
                add_four(flat, at, weights, i, p, out)
        out[width - 2] = out[width - 1] = 0.0

    return total


def pad_rows(x: Matrix, y: Vector) -> Matrix:
    """Copy a data set into rows of whole cache lines, each with its label and a bound on its length at the end.

    p is the first multiple of WIDTH from d + 2 on; the row, zeros, the label, and a bound on the row's length that is
    above it by a relative error of at most ``(d + 16) 2^-52``, so that rounding makes no clipped row too long. Shapes:
    ``x`` (n, d), ``y`` (n,).
    """
    x = check.array(None, None, x=x)
    y = check.array(len(x), y=y)
    n, d = x.shape
    p = padded(d)
    check.memory(n * p, examples=n, width=p)
    space = np.empty(n * p + 8)
    begin = (-space.ctypes.data // 8) % 8  # a cache line is eight numbers
    rows: Matrix = space[begin : begin + n * p].reshape(n, p)
    rows[:] = 0.0
    rows[:, :d] = x
    rows[:, p - 2] = y
    fill_lengths(x, 1.0 + (d + 16) * 2.0**-52, rows)
    return rows


@kernel
def fill_lengths(x: Matrix, factor: float, rows: Matrix) -> None:
    """Write ``factor`` times the length of each row of ``x``, shape (n, d), into the last column of ``rows``."""
    for i in range(x.shape[0]):
        rows[i, rows.shape[1] - 1] = factor * norm(x[i])


def padded(dimension: int) -> int:
    """How wide a padded row of this many numbers is."""
    return -(-(check.whole(1, dimension=dimension) + EXTRA) // WIDTH) * WIDTH


RecursiveSum: TypeAlias = Callable[[Matrix, Indices, Vector, Vector, float, float, float, Vector], None]


@kernel
def shortened(slope: float, length: float, clip: float) -> float:
    """``slope`` times ``min(1, clip / (|slope| length))``: the factor of a row of this length after clipping."""
    product = abs(slope) * length
    return slope * min(1.0, clip / product) if product > 0.0 else slope  # NaN stays NaN


@lru_cache(maxsize=32)
def recursive_sum(slope: Slope) -> RecursiveSum:
    """Make the kernel for a loss, ``total(rows, batch, new, old, gamma, clip, change_clip, out)``.

    ``rows`` (n, p) from ``clipping.pad_rows``; ``batch`` (B,) examples; ``new``, ``old`` and ``out`` (p,), zeros behind
    their d numbers; ``clip`` and ``change_clip``: C and C', above 0, infinite where nothing is clipped.
    """

    @kernel
    def total(
        rows: Matrix,
        batch: Indices,
        new: Vector,
        old: Vector,
        gamma: float,
        clip: float,
        change_clip: float,
        out: Vector,
    ) -> None:
        n, width = rows.shape
        p = np.uint64(width)
        q = np.uint64(width // 4)
        B = batch.shape[0]
        flat = rows.reshape(n * width)
        folded = np.empty(width // 4)
        weights = np.zeros(GROUP)
        at = np.zeros(GROUP, dtype=np.int64)
        for j in range(p):
            out[j] = 0.0
        for i in range(min(AHEAD, B)):
            prefetch_row(flat, np.uint64(batch[i] * width), p)
        for done in range(0, B, GROUP):
            size = min(GROUP, B - done)
            for i in range(size):
                if done + i + AHEAD < B:
                    prefetch_row(flat, np.uint64(batch[done + i + AHEAD] * width), p)
                at[i] = batch[done + i] * width
                first = np.uint64(at[i])
                label = flat[first + p - np.uint64(2)]
                length = flat[first + p - np.uint64(1)]
                fold_products(flat, first, new, q, folded)
                s_new = slope(add_up(folded, q), label)
                fold_products(flat, first, old, q, folded)
                s_old = slope(add_up(folded, q), label)
                now = shortened(s_new, length, clip)
                change = shortened(s_new - s_old, length, change_clip)
                weights[i] = gamma * now + (1.0 - gamma) * change
            for i in range(size, GROUP):
                weights[i], at[i] = 0.0, at[0]
            for i in range(0, size, 4):
                add_four(flat, at, weights, i, p, out)
        out[width - 2] = out[width - 1] = 0.0

    return total
