"""Sums of clipped gradients of a batch, for linear models, without storing the gradient of any single example.

The loss of an example is ``f(<x, w>, y)``. Its gradient is a slope times its row and
has the norm ``|slope| |x|``:

    sum over the batch of  slope_i min(1, C / (|slope_i| |x_i|)) x_i,        slope_i = f'(<x_i, w>, y_i).

Eight rows are processed at a time. The first pass over them computes the slopes; the
second pass adds up the rows, which are then in the cache. The gradient of a regularizer
does not depend on the examples. The caller adds it after clipping, so replacing one
example moves the sum by at most 2C.

Rows are padded to whole cache lines. The padding also stores the label and the norm of
the example.

The recursive momentum of DP-SRM also needs the change of each gradient, which is also a
slope times the row x:

    gamma clip(s_new x, C) + (1 - gamma) clip((s_new - s_old) x, C'),      clip(v, C) = v min(1, C / |v|).

Both inner products of a row are computed while the row is in the cache, and the row is added to the sum once.
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
"""Kernel ``slope(z, y)``: derivative of an example's loss with respect to ``z = <x, w>``."""

WIDTH = 32  # rows are padded to a multiple of this many numbers

GROUP, AHEAD = 8, 4
"""Rows processed together, and how many rows ahead memory is prefetched. All of them fit in the L1 cache."""

# type of the kernels that ``clipped_sum`` returns
ClippedSum: TypeAlias = Callable[[Matrix, Indices, Vector, float, Vector], None]

# numbers at the end of a padded row besides its entries: the label, and a bound on the
# norm of the row
EXTRA = 2

# unsigned, because Numba would convert the sum of an unsigned and a signed index to float
_LANES = tuple(np.uint64(k) for k in range(8))


@kernel
def fold_products(
    rows: Vector, offset: np.uint64, w: Vector, q: np.uint64, out: Vector
) -> None:
    """Multiply ``rows[offset : offset + 4q]`` by ``w``, and write sums of four products to ``out``, shape (q,).

    The four products of ``out[j]`` are those at j, j + q, j + 2q and j + 3q.
    """
    for j in range(q):
        k = j + q
        m = offset + j + q
        n = k + q
        r = m + q
        out[j] = (rows[offset + j] * w[j] + rows[m] * w[k]) + (
            rows[r] * w[n] + rows[r + q] * w[n + q]
        )


@kernel
def add_up(v: Vector, q: np.uint64) -> float:
    """Return the sum of ``v``, shape (q,), added up as eight partial sums in a fixed order; q is a multiple of 8."""
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
def add_four(
    rows: Vector,
    offsets: Indices,
    weights: Vector,
    first: int,
    p: np.uint64,
    out: Vector,
) -> None:
    """Add four weighted rows, which begin at ``offsets[first]`` to ``offsets[first + 3]``, to ``out``, shape (p,)."""
    a = weights[first]
    b = weights[first + 1]
    c = weights[first + 2]
    d = weights[first + 3]
    i = np.uint64(offsets[first])
    k = np.uint64(offsets[first + 1])
    m = np.uint64(offsets[first + 2])
    n = np.uint64(offsets[first + 3])
    for j in range(p):
        out[j] += (a * rows[i + j] + b * rows[k + j]) + (
            c * rows[m + j] + d * rows[n + j]
        )


@lru_cache(maxsize=32)
def clipped_sum(slope: Slope) -> ClippedSum:
    """Return the kernel for a loss. It is compiled for the slope, because passing the slope costs as much as 50 rows.

    ``total(rows, batch, w, clip, out)`` writes the sum of the batch's clipped gradients
    to ``out``:

    * ``rows``, (n, p) array of float, from :func:`pad_rows`;
    * ``batch``, (B,) array of int: indices of examples, 0..n-1, which are not checked. B may be 0; an example that
      occurs twice counts twice;
    * ``w``, (p,) array of float: the iterate, d numbers followed by zeros;
    * ``clip``, float: C, above 0; an infinite C does not clip;
    * ``out``, (p,) array of float: receives the sum, d numbers followed by zeros.
    """

    @kernel
    def total(
        rows: Matrix, batch: Indices, w: Vector, clip: float, out: Vector
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
                fold_products(flat, first, w, q, folded)
                s = slope(add_up(folded, q), flat[first + p - np.uint64(2)])
                length = abs(s) * flat[first + p - np.uint64(1)]
                # a slope that is NaN stays NaN
                weights[i] = s * min(1.0, clip / length) if length > 0.0 else s
            for i in range(size, GROUP):
                weights[i], at[i] = 0.0, at[0]
            for i in range(0, size, 4):
                add_four(flat, at, weights, i, p, out)
        out[width - 2] = out[width - 1] = 0.0

    return total


def pad_rows(x: Matrix, y: Vector) -> Matrix:
    """Copy a data set into rows of whole cache lines that end with the label and a bound on the norm of the row.

    The width p is the smallest multiple of WIDTH that is at least d + 2. A row has its d numbers, zeros, the label, and
    an upper bound on its norm with a relative error of at most ``(d + 16) 2^-52``, so that no clipped row is longer
    than C after rounding. Shapes: ``x`` (n, d), ``y`` (n,).
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
    """Write ``factor`` times the norm of each row of ``x``, shape (n, d), to the last column of ``rows``."""
    for i in range(x.shape[0]):
        rows[i, rows.shape[1] - 1] = factor * norm(x[i])


def padded(dimension: int) -> int:
    """Return the width of a padded row for an example of this dimension."""
    return -(-(check.whole(1, dimension=dimension) + EXTRA) // WIDTH) * WIDTH


RecursiveSum: TypeAlias = Callable[
    [Matrix, Indices, Vector, Vector, float, float, float, Vector], None
]


@kernel
def shortened(slope: float, length: float, clip: float) -> float:
    """Return ``slope min(1, clip / (|slope| length))``, the factor of a row of norm ``length`` after clipping."""
    product = abs(slope) * length
    return slope * min(1.0, clip / product) if product > 0.0 else slope  # NaN stays NaN


@lru_cache(maxsize=32)
def recursive_sum(slope: Slope) -> RecursiveSum:
    """Return the kernel ``total(rows, batch, new, old, gamma, clip, change_clip, out)`` for a loss.

    It writes the sum over the batch of ``gamma`` times the clipped gradient at ``new`` and ``1 - gamma`` times its
    clipped change from ``old`` to ``out``. ``rows`` (n, p): from :func:`pad_rows`. ``batch`` (B,): indices of examples.
    ``new``, ``old`` and ``out`` (p,): d numbers followed by zeros. ``clip`` and ``change_clip``: C and C', above 0; an
    infinite value does not clip.
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
