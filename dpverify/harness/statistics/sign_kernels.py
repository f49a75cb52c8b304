"""How often two steps of a trajectory have opposite signs, for all pairs of steps: 64 comparisons at once.

Inner products of all pairs of T = 1023 steps cost six times as much as drawing them. The sign of a whitened value is
one bit: an exclusive or and a count of ones compare 64 values, and under the law the number of opposite signs is
binomial, exactly.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices

Bits: TypeAlias = NDArray[np.uint64]
Vector64: TypeAlias = NDArray[np.uint64]

WORD = 64
"""Bits of a word: replications whose signs are gathered before they are compared."""
WORDS = 64
"""Words of a step that are compared at once, about: with fewer, counts are fetched more often; more leave the cache."""
TILE = 128
"""Steps that all later ones are held against before the next."""
AT_ONCE = 4
"""Words, of each of two steps, that are compared before their counts are added up: the loop below is written out."""

_PAIRS, _FOURS, _EIGHTS = (np.uint64(m) for m in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES = np.uint64(0x0101010101010101)
_0, _1, _2, _3, _4, _56 = (np.uint64(k) for k in (0, 1, 2, 3, 4, 56))
_TILE = np.uint64(TILE)


def words_together(d: int) -> int:
    """Words of a step that are compared at once: those of whole groups of 64 replications, or one group."""
    return -(-max(1, WORDS // d) * d // AT_ONCE) * AT_ONCE


@kernel
def spread_signs(signs: Vector64, first: int, bits: Bits) -> None:
    """Lay the words of a group out by coordinate, and forget them. Shapes: ``signs`` (T d,), ``bits`` (words, T)."""
    T = bits.shape[1]
    d = signs.size // T
    for t in range(T):
        for j in range(d):
            bits[first + j, t] = signs[t * d + j]
            signs[t * d + j] = _0


@kernel
def ones(x: np.uint64) -> np.uint64:
    """Count the ones of a word; compilers know this form, and make one instruction of it where there is one."""
    x = x - ((x >> _1) & _PAIRS)
    x = (x & _FOURS) + ((x >> _2) & _FOURS)
    x = (x + (x >> _4)) & _EIGHTS
    return (x * _BYTES) >> _56


@kernel
def count_opposite(bits: Bits, words: int, counts: Indices) -> None:
    """Count opposite signs of all pairs of steps. Shapes: ``bits`` (words, T), ``counts`` (T (T - 1) / 2,)."""
    T = bits.shape[1]
    tile = np.zeros(words * TILE, dtype=np.uint64)
    some, others = np.empty(TILE, dtype=np.uint64), np.empty(TILE, dtype=np.uint64)
    for begin in range(0, T, TILE):
        for k in range(words):
            for s in range(min(TILE, T - begin)):
                tile[k * TILE + s] = bits[k, begin + s]
        for t in range(begin + 1, T, 2):
            after = min(t + 1, T - 1)
            for s in range(_TILE):
                some[s] = _0
                others[s] = _0
            for k in range(0, words, AT_ONCE):
                a = np.uint64(k) * _TILE
                e, f, g, h = bits[k, t], bits[k + 1, t], bits[k + 2, t], bits[k + 3, t]
                o, p, q, r = bits[k, after], bits[k + 1, after], bits[k + 2, after], bits[k + 3, after]
                for s in range(_TILE):
                    u, v = tile[a + s], tile[a + s + _TILE]
                    w, x = tile[a + s + _2 * _TILE], tile[a + s + _3 * _TILE]
                    some[s] += ones(e ^ u) + ones(f ^ v) + ones(g ^ w) + ones(h ^ x)
                    others[s] += ones(o ^ u) + ones(p ^ v) + ones(q ^ w) + ones(r ^ x)
            add_counts(some, t, begin, counts)
            if after > t:
                add_counts(others, after, begin, counts)


@kernel
def add_counts(some: Vector64, t: int, begin: int, counts: Indices) -> None:
    """Add the counts of step t and the steps from ``begin`` on that come before it."""
    place = np.uint64(t * (t - 1) // 2 + begin)
    for s in range(np.uint64(min(TILE, t - begin))):
        counts[place + s] += np.int64(some[s])


@kernel
def count_opposite_coordinates(signs: Vector64, d: int, counts: Indices) -> None:
    """Count opposite signs, shape (T d,), of all pairs of coordinates into ``counts``, shape (d (d - 1) / 2,)."""
    for begin in range(0, signs.size, d):
        for b in range(1, d):
            for a in range(b):
                counts[b * (b - 1) // 2 + a] += np.int64(ones(signs[begin + a] ^ signs[begin + b]))
