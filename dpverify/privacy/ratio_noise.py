"""Gaussian noise by the ratio of uniforms in whole numbers: its bits, its exact law, and the privacy of a release.

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

The rest is on what one release with this noise guarantees.

**The law that is accounted for.** Let P be the exact law, R nine deviations and tau = P(|N| > R), about 2e-19. P' is P
up to R; beyond it goes on as a geometric sequence with ratio q = P(R)/P(R-1), with the same chance on each side. The
two laws differ by at most tau in total variation. What P' guarantees with (epsilon, delta'), P does with
delta' + (1 + e^epsilon) tau n, for n numbers that are released. P' reaches every integer, so that its Renyi divergences
are finite. An opened mask, one of 2^61 numbers modulo 2^61 - 1, is as near to uniform as 2^-61; this is added to tau
for each of them.

**From above.** For a coordinate that is moved by s, M_z(s) = sum_n P'(n - s)^z P'(n)^(1-z) is a sum over
-R <= n <= R + s and two geometric series. log M_z is convex in z, so that chords between a few orders bound it for all
others. The Renyi divergence of a release moved by s_1, ..., s_d, |s|_2 <= S, is at most the sum of D_z(s_j), and that
at most S^2 max_s D_z(s)/s^2 over whole s from 1 to S. Sums of floats are given a part of 4e-12.

**From below.** One coordinate that is moved by S, and exact sums over all numbers.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Indices, Vector
from dpverify.privacy.binomial_noise import KNOTS, ORDERS, interpolated

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


CUT: Final = math.floor(9.0 * DEVIATION)  # R
MOST_SHIFT: Final = math.floor(2.0 * DEVIATION)
LESS: Final = (1, 2, 2, 4, 4, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""The power of each knot is that of this order times that of the rest."""
BLOCK: Final = 4096  # numbers at a time, which stay near the processor
ROUNDING: Final = 4e-12
MASKS: Final = 16.0 * 2.0**-61  # for each number: 11 masks are expected where there is one, and 3 of many


class Extended(NamedTuple):
    """P' from -(R + MOST_SHIFT) on, the ratio q of its tails, and the chance of one of them."""

    chances: Vector
    ratio: float
    tail: float


@lru_cache(maxsize=1)
def extended() -> Extended:
    """The law that is accounted for."""
    exact = law()
    middle_part = exact[MOST - CUT : MOST + CUT + 1]
    tail = float(exact[MOST + CUT + 1 :].sum())
    ratio = float(middle_part[-1] / middle_part[-2])
    beyond = tail * (1.0 - ratio) * ratio ** np.arange(MOST_SHIFT)
    return Extended(np.concatenate((beyond[::-1], middle_part, beyond)), ratio, tail)


def spent(numbers: float, epsilon: float) -> float:
    """What so many opened numbers take from delta besides what the Renyi bounds do."""
    return (1.0 + math.exp(min(epsilon, 700.0))) * numbers * (2.0 * extended().tail + MASKS)


def log_moments(shift: int) -> Vector:
    """Bound log M_z(shift) at each of ``KNOTS``."""
    chances, ratio, tail = extended()
    # -R <= n <= R + s
    begin = MOST_SHIFT
    end = MOST_SHIFT + 2 * CUT + 1 + shift
    moments = np.zeros(len(KNOTS))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(begin, end, BLOCK):
            stays = chances[at : min(at + BLOCK, end)]
            raised = {1: chances[at - shift : at - shift + len(stays)] / stays}
            for k, (order, less) in enumerate(zip(KNOTS, LESS, strict=True)):
                raised[order] = raised[less] * raised[order - less]
                moments[k] += stays @ raised[order]
    # on the left the moved law has q^s of the chance, on the right q^-s, from n = R + s + 1 on
    outer = [tail * (ratio ** (shift * z) + math.exp(min(shift * (1 - z) * math.log(ratio), 709.0))) for z in KNOTS]
    bound: Vector = np.log((moments + np.array(outer)) * (1.0 + ROUNDING))
    return np.where(np.isnan(bound), np.inf, np.maximum(bound, 0.0))


@lru_cache(maxsize=MOST_SHIFT)
def _rate(shift: int) -> Vector:
    """D_z(s)/s^2 at one s, for each of ``ORDERS``."""
    rate: Vector = interpolated(log_moments(shift)) / (np.array(ORDERS) - 1.0) / float(shift) ** 2
    return rate


@lru_cache(maxsize=8)
def rates(largest_shift: int) -> Vector:
    """Largest D_z(s)/s^2 over whole s up to ``largest_shift``, for each of ``ORDERS``."""
    best: Vector = np.zeros(len(ORDERS))
    for shift in range(1, largest_shift + 1):
        best = np.maximum(best, _rate(shift))
    best.flags.writeable = False
    return best


def renyi_bounds(shift: float) -> tuple[float, ...]:
    """Bound the Renyi divergences of orders 2, 3, ... of one release that moves by at most ``shift`` in norm.

    Infinite beyond two deviations.
    """
    largest_shift = math.floor(check.positive(shift=shift)) or 1
    if largest_shift > MOST_SHIFT:
        return (math.inf,) * len(ORDERS)
    return tuple((shift**2 * rates(largest_shift)).tolist())


def delta_of_shift(shift: int, epsilon: float) -> float:
    """Exact smallest delta at an epsilon of one coordinate whose value moves by so much, up to rounding."""
    exact = law()
    check.whole(1, 2 * MOST, shift=shift)
    excesses = np.maximum(exact[:-shift] - math.exp(epsilon) * exact[shift:], 0.0)
    return float(excesses.sum() + exact[len(exact) - shift :].sum())
