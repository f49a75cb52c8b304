"""Dyadic intervals as arithmetic on bits.

A node of the tree is [a 2^b + 1, (a + 1) 2^b]. COMPOSE(1, t) is the binary expansion of t, read from the highest bit
down: each bit 2^k that is set contributes the next 2^k steps. So the last node of COMPOSE(1, t) is the one that ends
at t with length lowbit(t), and the nodes before it are COMPOSE(1, t - lowbit(t)). COMPOSE(1, s) and COMPOSE(1, t) share
exactly the nodes of the leading bits in which s and t agree.
"""

from __future__ import annotations

from dpverify.kernels.jit import kernel
from dpverify.kernels.numba_internals import trailing_zeros
from dpverify.kernels.typing import Intervals


@kernel
def lowbit(t: int) -> int:
    """Return the lowest set bit of ``t >= 1`` as a power of two, the length of the last node of COMPOSE(1, t)."""
    return t & -t


@kernel
def level(t: int) -> int:
    """Return log2 of ``lowbit(t)``, the number of trailing zero bits of ``t``; ``t >= 1``."""
    return trailing_zeros(t)


@kernel
def floor_log2(t: int) -> int:
    """Return the largest k with ``2**k <= t``; ``t >= 1``."""
    k = 0
    while t >> (k + 1):
        k += 1
    return k


@kernel
def popcount(t: int) -> int:
    """Return the number of set bits of ``t``, which is the number of nodes of COMPOSE(1, t); ``t >= 0``."""
    count = 0
    while t:
        t &= t - 1
        count += 1
    return count


@kernel
def prefix_nodes(t: int, out: Intervals) -> int:
    """Write COMPOSE(1, t), from left to right, to the first rows of ``out``, shape (>= popcount(t), 2).

    Returns the number of rows written. Shapes: ``out`` (n, 2).
    """
    end = 0
    count = 0
    for k in range(62, -1, -1):
        if (t >> k) & 1:
            out[count, 0] = end + 1
            end += 1 << k
            out[count, 1] = end
            count += 1
    return count
