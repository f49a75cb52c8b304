"""Loops over a sample of trajectories: division by a sparse factor, and what is summed of every value.

The inner loops run over long rows of an array, and add up number by number: only then are they vectorized without a
change of the order of sums. Places are unsigned: they never count from the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpverify.harness.statistics.sign_kernels import Vector64
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector

CHUNK = 512
"""Values of a trajectory that are summed up before the next: their sums stay in the nearest cache."""

_0, _1, _2, _3, _63 = (np.uint64(k) for k in (0, 1, 2, 3, 63))


@kernel
def divide_sparse(
    starts: Indices, places: Indices, weights: Vector, sample: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Multiply each trajectory with a sparse lower triangular matrix, the inverse of a factor.

    ``starts`` (T + 1,): row t of the matrix has the entries ``starts[t]`` to ``starts[t + 1] - 1``; the last is on the
    diagonal. Shapes: ``places``, ``weights`` (entries,), ``sample`` (n, T, d), ``out`` (n, T, d).
    """
    n, T = np.uint64(sample.shape[0]), sample.shape[1]
    d = np.uint64(sample.shape[2])
    run = np.uint64(T) * d
    x, y = sample.reshape(sample.size), out.reshape(out.size)
    for t in range(T):
        last = starts[t + 1] - 1
        here, own = np.uint64(t) * d, weights[last]
        if last == starts[t]:
            for i in range(n):
                a = i * run + here
                for j in range(d):
                    y[a + j] = own * x[a + j]
        else:
            weight, there = weights[last - 1], np.uint64(places[last - 1]) * d
            for i in range(n):  # innermost but one, though it jumps: a row is short, and this halves the time
                a, b = i * run + here, i * run + there
                for j in range(d):
                    y[a + j] = own * x[a + j] + weight * x[b + j]
            for entry in range(starts[t], last - 1):
                weight, there = weights[entry], np.uint64(places[entry]) * d
                for i in range(n):
                    a, b = i * run + here, i * run + there
                    for j in range(d):
                        y[a + j] += weight * x[b + j]


@kernel
def add_squares(rows: Matrix, squares: Vector) -> None:
    """Add up the squares of replications, value by value. Shapes: ``rows`` (n, m), ``squares`` (m,)."""
    n, m, four = rows.shape[0], np.uint64(rows.shape[1]), np.uint64(4)
    flat, begin = rows.reshape(rows.size), np.uint64(0)
    while begin < m:
        length = min(np.uint64(CHUNK), m - begin)
        for quarter in range(np.uint64(n // 4)):
            a = four * quarter * m + begin
            b, c, e = a + m, a + m + m, a + m + m + m
            for j in range(length):
                w, x, y, z = flat[a + j], flat[b + j], flat[c + j], flat[e + j]
                squares[begin + j] += (w * w + x * x) + (y * y + z * z)
        for i in range(n - n % 4, n):
            a = np.uint64(i) * m + begin
            for j in range(length):
                squares[begin + j] += flat[a + j] * flat[a + j]
        begin += length


@kernel
def add_up(rows: Matrix, sums: Vector, squares: Vector, first: int, signs: Vector64) -> None:
    """Add up replications and their squares, and note their signs, value by value.

    ``first``: bit of the first replication; the next replication has the next bit, and after the last comes the first
    again. Shapes: ``rows`` (n, m), ``sums``, ``squares`` (m,), ``signs`` (m,).
    """
    n, m, four = rows.shape[0], np.uint64(rows.shape[1]), np.uint64(4)
    flat, begin = rows.reshape(rows.size), np.uint64(0)
    while begin < m:
        length = min(np.uint64(CHUNK), m - begin)
        for quarter in range(np.uint64(n // 4)):
            a, bit = four * quarter * m + begin, np.uint64(first) + four * quarter
            b, c, e = a + m, a + m + m, a + m + m + m
            f, g, h, i = _1 << (bit & _63), _1 << (bit + _1 & _63), _1 << (bit + _2 & _63), _1 << (bit + _3 & _63)
            for j in range(length):
                w, x, y, z = flat[a + j], flat[b + j], flat[c + j], flat[e + j]
                sums[begin + j] += (w + x) + (y + z)
                squares[begin + j] += (w * w + x * x) + (y * y + z * z)
                some = (f if w < 0.0 else _0) | (g if x < 0.0 else _0)
                signs[begin + j] |= some | (h if y < 0.0 else _0) | (i if z < 0.0 else _0)
        for row in range(n - n % 4, n):
            a, f = np.uint64(row) * m + begin, _1 << (np.uint64(first + row) & _63)
            for j in range(length):
                x = flat[a + j]
                sums[begin + j] += x
                squares[begin + j] += x * x
                signs[begin + j] |= f if x < 0.0 else _0
        begin += length


@kernel
def count_places(white: Vector, end: float, cells: int, counts: Indices) -> None:
    """Count the places of values on a grid.

    ``cells``: cells between its points. A value's cell is arithmetic: 0 up to the first point, cells + 1 beyond the
    last. Shapes: ``white`` (m,), ``counts`` (cells + 2,).
    """
    finer, top = cells / (2.0 * end), np.float64(cells + 1)
    places = np.empty(CHUNK, dtype=np.int64)
    m, begin = np.uint64(white.size), np.uint64(0)
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
    """Add up products of whitened values by pair of coordinates. Shapes: ``white`` (m, d), ``coordinates`` (d, d)."""
    m, d = white.shape
    flat, step = white.reshape(white.size), np.uint64(d)
    for a in range(d):
        for b in range(a + 1):
            p, q = np.uint64(a), np.uint64(b)
            w = x = y = z = 0.0
            for _ in range(m // 4):
                w += flat[p] * flat[q]
                x += flat[p + step] * flat[q + step]
                y += flat[p + step + step] * flat[q + step + step]
                z += flat[p + step + step + step] * flat[q + step + step + step]
                p, q = p + step + step + step + step, q + step + step + step + step
            for _ in range(m % 4):
                w += flat[p] * flat[q]
                p, q = p + step, q + step
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
    """Do all of the above in one call: what Python does between two kernels finds its cache used up.

    ``starts``, ``places``, ``weights`` as in ``divide_sparse``, none where ``white`` is whitened already; ``squares``
    receives sums of squares before whitening, ``sums`` and ``lengths`` those of values and squares after. The first
    ``few`` replications are counted in ``counts``. ``coordinates`` has shape (0, 0) where signs are compared. Shapes:
    ``sample``, ``white`` (n, T, d), ``squares``, ``sums``, ``lengths``, ``signs`` (T d,), ``coordinates`` (d, d).
    """
    n, T, d = sample.shape
    if starts.size > 0:
        divide_sparse(starts, places, weights, sample, white)
    add_squares(sample.reshape(n, T * d), squares)
    add_up(white.reshape(n, T * d), sums, lengths, first, signs)
    count_places(white.reshape(n * T * d)[: few * T * d], end, counts.size - 2, counts)
    if coordinates.size > 0:
        multiply_coordinates(white.reshape(n * T, d), coordinates)
