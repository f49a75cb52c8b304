"""Vectors and rows: copies, norms that neither overflow nor underflow, normalized steps, prefetching, streaming stores.

Rows that are read in random order are not in the cache, and each read waits for memory
unless the row is prefetched.

An ordinary store reads its cache line, changes it and writes it back later. Writing a row then takes two memory
transfers and evicts data that are still needed. A line that is overwritten completely need not be read first. Bypassing
the caches pays off for output that is larger than the caches and is not read soon.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels.jit import inner_kernel, step_kernel
from dpverify.kernels.numba_internals import LINE, prefetch, put_line
from dpverify.kernels.typing import Vector

# a sum of squares between these bounds is not affected by underflow or overflow
SMALL = 1e-280
LARGE = 1e280


@inner_kernel
def copy_into(to: Vector, v: Vector) -> None:
    """Copy ``v`` to ``to``, both of shape (d,). Numba takes half a second longer to compile ``to[:] = v``."""
    for j in range(to.shape[0]):
        to[j] = v[j]


@inner_kernel
def norm(v: Vector) -> float:
    """Return the Euclidean norm of ``v``, shape (d,), without overflow or underflow of the squares.

    The squares are added up as four partial sums in a fixed order, so that the processor can overlap four additions.
    """
    a = 0.0
    b = 0.0
    c = 0.0
    e = 0.0
    d = v.shape[0]
    unrolled = d - d % 4
    for j in range(0, unrolled, 4):
        a += v[j] * v[j]
        b += v[j + 1] * v[j + 1]
        c += v[j + 2] * v[j + 2]
        e += v[j + 3] * v[j + 3]
    for j in range(unrolled, d):
        a += v[j] * v[j]
    square = (a + b) + (c + e)
    if SMALL < square < LARGE or math.isnan(square):
        return math.sqrt(square)
    largest = 0.0
    for j in range(d):
        largest = max(largest, abs(v[j]))
    if largest == 0.0 or math.isinf(largest):
        return largest
    scaled = 0.0
    for j in range(d):
        scaled += (v[j] / largest) * (v[j] / largest)
    return largest * math.sqrt(scaled)


@step_kernel
def move(eta: float, m_hat: Vector, w: Vector) -> bool:
    """Do ``w <- w - eta m^ / |m^|``, or nothing if the momentum is 0.

    Returns whether the momentum is finite. If it is not, ``w`` does not change. Shapes: ``m_hat``, ``w`` (d,).
    """
    length = norm(m_hat)
    if not math.isfinite(length):
        return False
    if length > 1e-290:
        step = eta / length
        for j in range(w.shape[0]):
            w[j] -= step * m_hat[j]
    elif length > 0.0:  # the same step; eta / |m^| would overflow
        for j in range(w.shape[0]):
            w[j] -= eta * (m_hat[j] / length)
    return True


_STRIDE = np.uint64(LINE)


@inner_kernel
def prefetch_row(values: Vector, first: np.uint64, count: np.uint64) -> None:
    """Prefetch ``values[first : first + count]``, which is aligned to a cache line."""
    for j in range(np.uint64(0), count, _STRIDE):
        prefetch(values, first + j)


@inner_kernel
def write_row(values: Vector, first: int, row: Vector) -> None:
    """Copy ``row`` to ``values[first : first + row.size]``, both contiguous; whole cache lines bypass the caches.

    Other threads see the copy once they have acquired a lock after the kernel returned, as for all writes of kernels.
    """
    n = row.shape[0]
    number = np.int64(values.ctypes.data >> 3) + first
    j = min(n, -number & (LINE - 1))  # where the first whole line begins
    for i in range(j):
        values[first + i] = row[i]
    while j + LINE <= n:
        put_line(values, first + j, row, j)
        j += LINE
    for i in range(j, n):
        values[first + i] = row[i]
