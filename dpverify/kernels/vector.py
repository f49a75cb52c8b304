"""Vectors and rows: copies, lengths that are safe at both ends of the range of floats, moves, and cache control.

Rows that are read in a random order come from far away, one after the other, unless they are prefetched.

An ordinary store fetches its cache line, changes it and writes it back later: a row costs the memory two transfers, and
pushes out of the caches what is still needed. A line that is overwritten as a whole need not be read before. Writing
around the caches pays for output that is larger than they are, and is not read soon.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels.jit import inner_kernel, step_kernel
from dpverify.kernels.numba_internals import LINE, prefetch, put_line
from dpverify.kernels.typing import Vector

# Sums of squares between these have lost nothing to underflow or overflow
SMALL = 1e-280
LARGE = 1e280


@inner_kernel
def copy_into(to: Vector, v: Vector) -> None:
    """Copy ``v`` into ``to``, both of shape (d,): ``to[:] = v``, which takes half a second longer to compile."""
    for j in range(to.shape[0]):
        to[j] = v[j]


@inner_kernel
def norm(v: Vector) -> float:
    """Euclidean norm of ``v``, shape (d,); NaN or infinite only if an entry is.

    The sum is taken in four parts, in a fixed order: four additions can then be under way at once.
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
    """Do ``w <- w - eta m^ / |m^|``; a momentum of length 0 moves nothing.

    Whether the momentum is finite. Where it is not, nothing is moved. Shapes: ``m_hat``, ``w`` (d,).
    """
    length = norm(m_hat)
    if not math.isfinite(length):
        return False
    if length > 1e-290:
        step = eta / length
        for j in range(w.shape[0]):
            w[j] -= step * m_hat[j]
    elif length > 0.0:  # the same, where eta / |m^| would overflow
        for j in range(w.shape[0]):
            w[j] -= eta * (m_hat[j] / length)
    return True


_STRIDE = np.uint64(LINE)


@inner_kernel
def prefetch_row(values: Vector, first: np.uint64, count: np.uint64) -> None:
    """Ask for ``values[first : first + count]``, which begins at the begin of a cache line."""
    for j in range(np.uint64(0), count, _STRIDE):
        prefetch(values, first + j)


@inner_kernel
def write_row(values: Vector, first: int, row: Vector) -> None:
    """Copy ``row`` to ``values[first : first + row.size]``, both contiguous: around the caches where it fills a line.

    Other threads see it, as anything that a kernel wrote, once they have taken a lock after the kernel returned.
    """
    n = row.shape[0]
    number = np.int64(values.ctypes.data >> 3) + first
    j = min(n, -number & (LINE - 1))  # of the first whole line
    for i in range(j):
        values[first + i] = row[i]
    while j + LINE <= n:
        put_line(values, first + j, row, j)
        j += LINE
    for i in range(j, n):
        values[first + i] = row[i]
