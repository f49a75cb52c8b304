"""Rows and the caches: ask for a row ahead of its use, or write one around the caches.

Rows that are read in a random order come from far away, one after the other, unless they are asked for before.

An ordinary store fetches its cache line, changes it and writes it back later: a row costs the memory two transfers, and
pushes out of the caches what is still needed. A line that is overwritten as a whole need not be read before. Writing
around the caches pays for output that is larger than they are, and is not read soon.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.numba_internals import LINE, prefetch, put_line
from dpverify.kernels.typing import Vector

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
