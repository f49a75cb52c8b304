"""Loops over a sample of trajectories: division by a sparse factor, and sums over all values.

The inner loops run over long rows of an array and accumulate element by element, because only such loops are vectorized
without changing the order of sums. Indices are unsigned, so that none counts from the end. The sign of a whitened value
is one bit. An exclusive or and a count of ones compare 64 values, and under the law the number of opposite signs is
exactly binomial.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector

Bits: TypeAlias = NDArray[np.uint64]
Vector64: TypeAlias = NDArray[np.uint64]

# bits of a word: number of replications whose
# signs are gathered before they are compared
WORD = 64
# approximate words of a step compared at once; fewer fetch counts more often, more
# exceed the cache
WORDS = 64
TILE = 128  # steps that are compared with all later steps before the next tile
# words, of each of two steps, compared before their
# counts are added; the loop below is unrolled
AT_ONCE = 4

_PAIRS, _FOURS, _EIGHTS = (
    np.uint64(m) for m in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_BYTES = np.uint64(0x0101010101010101)
_0, _1, _2, _3, _4, _56, _63 = (np.uint64(k) for k in (0, 1, 2, 3, 4, 56, 63))
_TILE = np.uint64(TILE)


def words_together(d: int) -> int:
    """Return the number of words of a step compared at once: whole groups of 64 replications, at least one group."""
    return -(-max(1, WORDS // d) * d // AT_ONCE) * AT_ONCE


@kernel
def spread_signs(signs: Vector64, first: int, bits: Bits) -> None:
    """Store the words of a group by coordinate, and reset them. Shapes: ``signs`` (T d,), ``bits`` (words, T)."""
    T = bits.shape[1]
    d = signs.size // T
    for t in range(T):
        for j in range(d):
            bits[first + j, t] = signs[t * d + j]
            signs[t * d + j] = _0


@kernel
def ones(x: np.uint64) -> np.uint64:
    """Count the one bits of a word. Compilers translate this form to a single instruction if the machine has one."""
    x = x - ((x >> _1) & _PAIRS)
    x = (x & _FOURS) + ((x >> _2) & _FOURS)
    x = (x + (x >> _4)) & _EIGHTS
    return (x * _BYTES) >> _56


@kernel
def count_opposite(bits: Bits, words: int, counts: Indices) -> None:
    """Count opposite signs of all pairs of steps. Shapes: ``bits`` (words, T), ``counts`` (T (T - 1) / 2,)."""
    T = bits.shape[1]
    tile = np.zeros(words * TILE, dtype=np.uint64)
    counts_before = np.empty(TILE, dtype=np.uint64)
    counts_after = np.empty(TILE, dtype=np.uint64)
    for begin in range(0, T, TILE):
        for k in range(words):
            for s in range(min(TILE, T - begin)):
                tile[k * TILE + s] = bits[k, begin + s]
        for t in range(begin + 1, T, 2):
            after = min(t + 1, T - 1)
            for s in range(_TILE):
                counts_before[s] = _0
                counts_after[s] = _0
            for k in range(0, words, AT_ONCE):
                a = np.uint64(k) * _TILE
                e = bits[k, t]
                f = bits[k + 1, t]
                g = bits[k + 2, t]
                h = bits[k + 3, t]
                o = bits[k, after]
                p = bits[k + 1, after]
                q = bits[k + 2, after]
                r = bits[k + 3, after]
                for s in range(_TILE):
                    u = tile[a + s]
                    v = tile[a + s + _TILE]
                    w = tile[a + s + _2 * _TILE]
                    x = tile[a + s + _3 * _TILE]
                    counts_before[s] += (
                        ones(e ^ u) + ones(f ^ v) + ones(g ^ w) + ones(h ^ x)
                    )
                    counts_after[s] += (
                        ones(o ^ u) + ones(p ^ v) + ones(q ^ w) + ones(r ^ x)
                    )
            add_counts(counts_before, t, begin, counts)
            if after > t:
                add_counts(counts_after, after, begin, counts)


@kernel
def add_counts(tile_counts: Vector64, t: int, begin: int, counts: Indices) -> None:
    """Add the counts of step t and the earlier steps of the tile that starts at ``begin``."""
    place = np.uint64(t * (t - 1) // 2 + begin)
    for s in range(np.uint64(min(TILE, t - begin))):
        counts[place + s] += np.int64(tile_counts[s])


@kernel
def count_opposite_coordinates(signs: Vector64, d: int, counts: Indices) -> None:
    """Count opposite signs, shape (T d,), of all pairs of coordinates into ``counts``, shape (d (d - 1) / 2,)."""
    for begin in range(0, signs.size, d):
        for b in range(1, d):
            for a in range(b):
                counts[b * (b - 1) // 2 + a] += np.int64(
                    ones(signs[begin + a] ^ signs[begin + b])
                )


# values of a trajectory that are summed before
# the next: their sums stay in the nearest cache
CHUNK = 512


@kernel
def divide_sparse(
    starts: Indices,
    places: Indices,
    weights: Vector,
    sample: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Multiply each trajectory by a sparse lower triangular matrix, the inverse of a factor.

    ``starts`` (T + 1,): row t of the matrix has the entries ``starts[t]`` to ``starts[t + 1] - 1``; the last is on the
    diagonal. Shapes: ``places``, ``weights`` (entries,), ``sample`` (n, T, d), ``out`` (n, T, d).
    """
    n = np.uint64(sample.shape[0])
    T = sample.shape[1]
    d = np.uint64(sample.shape[2])
    run = np.uint64(T) * d
    x = sample.reshape(sample.size)
    y = out.reshape(out.size)
    for t in range(T):
        last = starts[t + 1] - 1
        row_start = np.uint64(t) * d
        diagonal = weights[last]
        if last == starts[t]:
            for i in range(n):
                a = i * run + row_start
                for j in range(d):
                    y[a + j] = diagonal * x[a + j]
        else:
            weight = weights[last - 1]
            source_start = np.uint64(places[last - 1]) * d
            # the second-innermost loop, although it jumps: a row is short, and this
            # halves the time
            for i in range(n):
                a = i * run + row_start
                b = i * run + source_start
                for j in range(d):
                    y[a + j] = diagonal * x[a + j] + weight * x[b + j]
            for entry in range(starts[t], last - 1):
                weight = weights[entry]
                source_start = np.uint64(places[entry]) * d
                for i in range(n):
                    a = i * run + row_start
                    b = i * run + source_start
                    for j in range(d):
                        y[a + j] += weight * x[b + j]


@kernel
def add_squares(rows: Matrix, squares: Vector) -> None:
    """Sum the squares of replications for each value. Shapes: ``rows`` (n, m), ``squares`` (m,)."""
    n = rows.shape[0]
    m = np.uint64(rows.shape[1])
    four = np.uint64(4)
    flat = rows.reshape(rows.size)
    begin = np.uint64(0)
    while begin < m:
        length = min(np.uint64(CHUNK), m - begin)
        for quarter in range(np.uint64(n // 4)):
            a = four * quarter * m + begin
            b = a + m
            c = a + m + m
            e = a + m + m + m
            for j in range(length):
                w = flat[a + j]
                x = flat[b + j]
                y = flat[c + j]
                z = flat[e + j]
                squares[begin + j] += (w * w + x * x) + (y * y + z * z)
        for i in range(n - n % 4, n):
            a = np.uint64(i) * m + begin
            for j in range(length):
                squares[begin + j] += flat[a + j] * flat[a + j]
        begin += length


@kernel
def add_up(
    rows: Matrix, sums: Vector, squares: Vector, first: int, signs: Vector64
) -> None:
    """Sum rows (n, m), their squares and their signs, (m,) each.

    ``first``: bit of the first replication's sign, of 64.
    """
    n = rows.shape[0]
    m = np.uint64(rows.shape[1])
    four = np.uint64(4)
    flat = rows.reshape(rows.size)
    begin = np.uint64(0)
    while begin < m:
        length = min(np.uint64(CHUNK), m - begin)
        for quarter in range(np.uint64(n // 4)):
            a = four * quarter * m + begin
            bit = np.uint64(first) + four * quarter
            b = a + m
            c = a + m + m
            e = a + m + m + m
            f = _1 << (bit & _63)
            g = _1 << (bit + _1 & _63)
            h = _1 << (bit + _2 & _63)
            i = _1 << (bit + _3 & _63)
            for j in range(length):
                w = flat[a + j]
                x = flat[b + j]
                y = flat[c + j]
                z = flat[e + j]
                sums[begin + j] += (w + x) + (y + z)
                squares[begin + j] += (w * w + x * x) + (y * y + z * z)
                signs_so_far = (f if w < 0.0 else _0) | (g if x < 0.0 else _0)
                signs[begin + j] |= (
                    signs_so_far | (h if y < 0.0 else _0) | (i if z < 0.0 else _0)
                )
        for row in range(n - n % 4, n):
            a = np.uint64(row) * m + begin
            f = _1 << (np.uint64(first + row) & _63)
            for j in range(length):
                x = flat[a + j]
                sums[begin + j] += x
                squares[begin + j] += x * x
                signs[begin + j] |= f if x < 0.0 else _0
        begin += length


@kernel
def count_places(white: Vector, end: float, cells: int, counts: Indices) -> None:
    """Count values (m,) by cell of a grid, (cells + 2,): 0 up to the first point, cells + 1 beyond the last."""
    finer = cells / (2.0 * end)
    top = np.float64(cells + 1)
    places = np.empty(CHUNK, dtype=np.int64)
    m = np.uint64(white.size)
    begin = np.uint64(0)
    while begin < m:
        length = min(np.uint64(CHUNK), m - begin)
        for j in range(length):
            place = np.ceil((white[begin + j] + end) * finer)
            place = place if place > 0.0 else 0.0
            places[j] = np.int64(place if place < top else top)
        for j in range(length):
            counts[places[j]] += 1
        begin += length


@kernel
def multiply_coordinates(white: Matrix, coordinates: Matrix) -> None:
    """Sum products of whitened values by pair of coordinates. Shapes: ``white`` (m, d), ``coordinates`` (d, d)."""
    m, d = white.shape
    flat = white.reshape(white.size)
    step = np.uint64(d)
    for a in range(d):
        for b in range(a + 1):
            p = np.uint64(a)
            q = np.uint64(b)
            w = x = y = z = 0.0
            for _ in range(m // 4):
                w += flat[p] * flat[q]
                x += flat[p + step] * flat[q + step]
                y += flat[p + step + step] * flat[q + step + step]
                z += flat[p + step + step + step] * flat[q + step + step + step]
                p = p + step + step + step + step
                q = q + step + step + step + step
            for _ in range(m % 4):
                w += flat[p] * flat[q]
                p = p + step
                q = q + step
            coordinates[a, b] += (w + x) + (y + z)
            coordinates[b, a] = coordinates[a, b]


@kernel
def sum_up(
    starts: Indices,
    places: Indices,
    weights: Vector,
    sample: NDArray[np.float64],
    white: NDArray[np.float64],
    squares: Vector,
    sums: Vector,
    lengths: Vector,
    few: int,
    end: float,
    counts: Indices,
    coordinates: Matrix,
    first: int,
    signs: Vector64,
) -> None:
    """Run the kernels above in one call: Python code between kernels would run with a cold cache.

    ``starts``, ``places``, ``weights`` as in ``divide_sparse``; empty if ``white`` is whitened already. ``squares``
    receives sums of squares before whitening, ``sums`` and ``lengths`` those of values and squares after whitening. The
    first ``few`` replications are counted in ``counts``. ``coordinates`` has shape (0, 0) if signs are compared.
    Shapes: ``sample``, ``white`` (n, T, d), ``squares``, ``sums``, ``lengths``, ``signs`` (T d,), ``coordinates`` (d,
    d).
    """
    n, T, d = sample.shape
    if starts.size > 0:
        divide_sparse(starts, places, weights, sample, white)
    add_squares(sample.reshape(n, T * d), squares)
    add_up(white.reshape(n, T * d), sums, lengths, first, signs)
    count_places(white.reshape(n * T * d)[: few * T * d], end, counts.size - 2, counts)
    if coordinates.size > 0:
        multiply_coordinates(white.reshape(n * T, d), coordinates)
