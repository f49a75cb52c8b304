r"""Gaussian noise by the ratio of uniforms in whole numbers: which bits give which number, and its exact law.

Appendix A of wang2019 (after Kinderman and Monahan 1977): for u and v uniform on (0, 1) and (0, sqrt(2/e)), v/u is half
a Gaussian once pairs with (v/u)^2 > -4 log u are rejected. Here all of it is integers:

    u = 2^-(e+1) (1 + (i + 1/2)/2^k),     e: zeros before the first one of E = 32 bits, i: k = 6 bits,
    v = sqrt(2/e) (j + 1/2)/2^36,         j: 36 bits.

u is a uniform number of E + k bits of which the k after the first one are kept, moved to the middle of its cell; where
all E bits are zero it is rejected. The pair is accepted where j < h(e, i), a table of v^2 <= -4 u^2 log u, rounded. The
ratio is (2j + 1) 2^e w(i), w(i) being 2^12/(1 + (i + 1/2)/2^k) rounded, divided by 2^37 and rounded to the nearest
integer: a unit is sqrt(2/e)/2^11 of a deviation. A bit gives it a sign. At last U - U' is added, both uniform on
0, ..., 2^7 - 1, which smooths the steps that a coarse u leaves; it adds 0.05% to the variance.

The law follows by counting: all pairs (e, i), and for each how many j give which number. No logarithm and no division
are computed on secrets; the tables are made by correctly rounded decimal arithmetic, the same on each machine.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.typing import Indices, Vector

FIRST_BITS: Final = 32  # E
CELL_BITS: Final = 6  # k
PLACE_BITS: Final = 36
RECIPROCAL_BITS: Final = 12
SHIFT_BITS: Final = 37
SMOOTH_BITS: Final = 7

CELLS: Final = 1 << CELL_BITS
UNIT_BITS: Final = PLACE_BITS + RECIPROCAL_BITS - SHIFT_BITS
DEVIATION: Final = math.sqrt(4**UNIT_BITS * math.e / 2.0 + (4**SMOOTH_BITS - 1) / 6.0)
"""Of the Gaussian that is meant, in units, about 2389; that of the law itself is within 0.1% of it."""

MOST: Final = math.ceil(2.0 * math.sqrt(FIRST_BITS * math.log(2.0)) * DEVIATION) + (1 << SMOOTH_BITS)
"""No number is larger."""


class RatioTables(NamedTuple):
    """What is looked up: h (E, 2^k), the number of j that are accepted, and w (2^k,)."""

    accepted: Indices
    reciprocal: Indices


@lru_cache(maxsize=1)
def tables() -> RatioTables:
    """Both tables, each entry rounded to the nearest integer."""
    exact = Context(prec=60)
    twice_e = exact.multiply(Decimal(2), exact.exp(Decimal(1)))
    accepted = np.zeros((FIRST_BITS, CELLS), dtype=np.int64)
    reciprocal = np.zeros(CELLS, dtype=np.int64)
    for i in range(CELLS):
        cell = 2 * CELLS + 2 * i + 1  # over 2^(k+1): the middle of cell i, from 1 to 2
        reciprocal[i] = ((1 << (RECIPROCAL_BITS + CELL_BITS + 2)) + cell) // (2 * cell)
        for e in range(FIRST_BITS):
            u = exact.divide(Decimal(cell), Decimal(1 << (CELL_BITS + 2 + e)))
            root = exact.sqrt(exact.multiply(twice_e, -exact.ln(u)))
            edge = exact.multiply(exact.multiply(u, root), Decimal(1 << PLACE_BITS))
            accepted[e, i] = int(edge.to_integral_value(context=exact))
    return RatioTables(accepted, reciprocal)


def ratio_of(first: Indices, cell: Indices, place: Indices) -> int | None:
    """The rounded size of one ratio from its bits, None where the pair is rejected.

    ``first`` (E,): the first of them that is one says how small u is. ``cell`` (k,), ``place`` (36,): i and j, from
    their lowest bit on.
    """
    return size_of(int(first.argmax()), _number(cell), _number(place)) if first.any() else None


def size_of(e: int, i: int, j: int) -> int | None:
    """The rounded size of one ratio, None where the pair is rejected; letters as in this module's head."""
    accepted, reciprocal = tables()
    if j >= int(accepted[e, i]):
        return None
    return (((2 * j + 1) * int(reciprocal[i]) << e) + (1 << (SHIFT_BITS - 1))) >> SHIFT_BITS


def noise_of(size: int, sign: int, smooth: Indices) -> int:
    """The number itself: ``sign`` 1 makes it negative; ``smooth`` (2, 7): bits of U and U'."""
    return (1 - 2 * sign) * size + _number(smooth[0]) - _number(smooth[1])


def _number(bits: Indices) -> int:
    return sum(int(bit) << at for at, bit in enumerate(bits))


@lru_cache(maxsize=1)
def size_law() -> Vector:
    """Chance of each size 0, 1, ... of an accepted ratio, before its sign; counted, up to the last digits of floats."""
    accepted, reciprocal = tables()
    total = np.zeros(MOST)
    for e in range(FIRST_BITS):
        counts = np.zeros(MOST + 1, dtype=np.int64)  # at n: pairs with a smaller size
        for h, w in zip(accepted[e].tolist(), reciprocal.tolist(), strict=True):
            largest = (((2 * h - 1) * w << e) + (1 << (SHIFT_BITS - 1))) >> SHIFT_BITS
            sizes = np.arange(1, largest + 1)  # j with a size below n: (2j + 1) w 2^e < (2n - 1) 2^36
            counts[1 : largest + 1] += (((2 * sizes - 1 << (SHIFT_BITS - 1)) - 1) // (w << e) + 1) // 2
            counts[largest + 1 :] += h
        total += np.diff(counts) * 2.0**-e
    law: Vector = total / total.sum()
    law.flags.writeable = False
    return law


def acceptance() -> float:
    """Chance that a pair is accepted, about 0.73."""
    accepted = tables().accepted.sum(axis=1)
    return math.fsum(float(h) * 2.0 ** -(e + 1 + CELL_BITS + PLACE_BITS) for e, h in enumerate(accepted.tolist()))


@lru_cache(maxsize=1)
def law() -> Vector:
    """Chance of each number from -MOST on, shape (2 MOST + 1,); symmetric."""
    half = np.zeros(2 * MOST + 1)
    sizes = size_law()
    half[MOST : MOST + len(sizes)] = sizes / 2.0
    chances = half + half[::-1]
    for _ in range(2):  # U, then -U': the mean over 2^7 neighbours, in binary steps without any difference
        for step in range(SMOOTH_BITS):
            moved = np.zeros_like(chances)
            moved[1 << step :] = chances[: -(1 << step)]
            chances = (chances + moved) / 2.0
        chances = chances[::-1]
    smooth: Vector = (chances + chances[::-1]) / 2.0
    smooth.flags.writeable = False
    return smooth
