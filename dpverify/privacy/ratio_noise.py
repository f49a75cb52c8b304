"""Gaussian noise by the ratio of uniforms in integers: its bits, its exact distribution, and the privacy of a release.

Appendix A of wang2019 (after Kinderman and Monahan 1977): for u and v uniform on (0, 1)
and (0, sqrt(2/e)), v/u is half Gaussian after rejection of the pairs with (v/u)^2 > -4
log u. This module computes the ratio in integers:

    u = 2^-(e+1) (1 + (i + 1/2)/2^k),     e: zeros before the first 1 of E = 32 bits, i: k = 6 bits,
    v = sqrt(2/e) (j + 1/2)/2^36,         j: 36 bits.

u comes from a uniform number of E + k bits: only the k bits after the first 1 are used,
and u is moved to the middle of its cell. If all E bits are zero, the pair is rejected.
The pair is accepted if j < h(e, i), a rounded table of the condition v^2 <= -4 u^2 log
u. Let w(i) be 2^12/(1 + (i + 1/2)/2^k), rounded. The ratio is (2j + 1) 2^e w(i) divided
by 2^37 and rounded to the nearest integer, in units of sqrt(2/e)/2^11 of a standard
deviation. A random bit is its sign. Finally U - U' is added, with U and U' uniform on
0, ..., 2^7 - 1. This smooths the steps of a coarse u, and adds 0.05% to the variance.

The distribution is obtained by counting, for all pairs (e, i), how many j give each
ratio. No logarithm or division is computed on secret values. The tables are computed
in correctly rounded decimal arithmetic, so that they are the same on every machine.

The following sections bound the privacy of one release with this noise.

**Accounted distribution.** Let P be the exact distribution, R nine standard deviations
and tau = P(|N| > R), about 2e-19. P' equals P up to R. Beyond R it is a geometric
sequence with ratio q = P(R)/P(R-1) and the same probability on each side. The two
distributions differ by at most tau in total variation. If P' guarantees (epsilon,
delta'), P guarantees epsilon with delta' + (1 + e^epsilon) tau n, for n released
numbers. P' gives every integer a positive probability, so that its Renyi divergences
are finite. The secure computation also reveals masks, each of which is one of 2^61
numbers modulo 2^61 - 1. The distance of a mask from uniform, at most 2^-61, is added to
tau for each mask.

**Upper bound.** For a coordinate that is moved by s, M_z(s) = sum_n P'(n - s)^z
P'(n)^(1-z) is a sum over -R <= n <= R + s and two geometric series. log M_z is convex
in z, so that chords between a few orders bound it at all other orders. The Renyi
divergence of a release moved by s_1, ..., s_d, |s|_2 <= S, is at most the sum of
D_z(s_j). This is at most S^2 max_s D_z(s)/s^2 over whole s from 1 to S. Sums of floats
get a relative margin of 4e-12.

**Lower bound.** One coordinate is moved by S. Delta is an exact sum over all values of
the noise.
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
"""Standard deviation of the intended Gaussian, in units: about 2388. That of the exact distribution is within 0.1%."""

MAX_NOISE: Final = math.ceil(
    2.0 * math.sqrt(FIRST_BITS * math.log(2.0)) * DEVIATION
) + (1 << SMOOTH_BITS)
"""Upper bound on the absolute value of the noise."""


class RatioTables(NamedTuple):
    """The tables: h (E, 2^k), the number of accepted j, and w (2^k,)."""

    accepted: Indices
    reciprocal: Indices


@lru_cache(maxsize=1)
def tables() -> RatioTables:
    """Return both tables, with each entry rounded to the nearest integer."""
    exact = Context(prec=60)
    twice_e = exact.multiply(Decimal(2), exact.exp(Decimal(1)))
    accepted = np.zeros((FIRST_BITS, CELLS), dtype=np.int64)
    reciprocal = np.zeros(CELLS, dtype=np.int64)
    for i in range(CELLS):
        # middle of cell i, from 1 to 2, in units of 2^-(k+1)
        cell = 2 * CELLS + 2 * i + 1
        reciprocal[i] = ((1 << (RECIPROCAL_BITS + CELL_BITS + 2)) + cell) // (2 * cell)
        for e in range(FIRST_BITS):
            u = exact.divide(Decimal(cell), Decimal(1 << (CELL_BITS + 2 + e)))
            root = exact.sqrt(exact.multiply(twice_e, -exact.ln(u)))
            edge = exact.multiply(exact.multiply(u, root), Decimal(1 << PLACE_BITS))
            accepted[e, i] = int(edge.to_integral_value(context=exact))
    return RatioTables(accepted, reciprocal)


def uniform_ratio(first: Indices, cell: Indices, place: Indices) -> int | None:
    """Return the rounded absolute value of one ratio from its bits, or None if the pair is rejected.

    The position of the first 1 in ``first`` (E,) is e. ``cell`` (k,) and ``place`` (36,) are the bits of i and j,
    lowest bit first.
    """
    return (
        noise_size(int(first.argmax()), _number(cell), _number(place))
        if first.any()
        else None
    )


def noise_size(e: int, i: int, j: int) -> int | None:
    """Return the rounded absolute value of one ratio, or None if rejected; letters as in the module's docstring."""
    accepted, reciprocal = tables()
    if j >= int(accepted[e, i]):
        return None
    return (
        ((2 * j + 1) * int(reciprocal[i]) << e) + (1 << (SHIFT_BITS - 1))
    ) >> SHIFT_BITS


def smoothed_noise(size: int, sign: int, smooth: Indices) -> int:
    """Return the noise: ``size``, with a minus sign if ``sign`` is 1, plus U - U'. ``smooth`` (2, 7) has their bits."""
    return (1 - 2 * sign) * size + _number(smooth[0]) - _number(smooth[1])


def _number(bits: Indices) -> int:
    return sum(int(bit) << at for at, bit in enumerate(bits))


@lru_cache(maxsize=1)
def size_law() -> Vector:
    """Return the probabilities of the sizes 0, 1, ... of an accepted ratio without its sign, by exact counting."""
    accepted, reciprocal = tables()
    total = np.zeros(MAX_NOISE)
    for e in range(FIRST_BITS):
        # entry n: number of pairs (i, j) with a size below n
        counts = np.zeros(MAX_NOISE + 1, dtype=np.int64)
        for h, w in zip(accepted[e].tolist(), reciprocal.tolist(), strict=True):
            largest = (((2 * h - 1) * w << e) + (1 << (SHIFT_BITS - 1))) >> SHIFT_BITS
            # number of j with a size below n: (2j + 1) w 2^e < (2n - 1) 2^36
            sizes = np.arange(1, largest + 1)
            counts[1 : largest + 1] += (
                ((2 * sizes - 1 << (SHIFT_BITS - 1)) - 1) // (w << e) + 1
            ) // 2
            counts[largest + 1 :] += h
        total += np.diff(counts) * 2.0**-e
    law: Vector = total / total.sum()
    law.flags.writeable = False
    return law


def acceptance() -> float:
    """Return the probability that a pair is accepted, about 0.73."""
    accepted = tables().accepted.sum(axis=1)
    return math.fsum(
        float(h) * 2.0 ** -(e + 1 + CELL_BITS + PLACE_BITS)
        for e, h in enumerate(accepted.tolist())
    )


@lru_cache(maxsize=1)
def law() -> Vector:
    """Return the probabilities of the numbers from -MAX_NOISE to MAX_NOISE, shape (2 MAX_NOISE + 1,)."""
    half = np.zeros(2 * MAX_NOISE + 1)
    sizes = size_law()
    half[MAX_NOISE : MAX_NOISE + len(sizes)] = sizes / 2.0
    chances = half + half[::-1]
    # Add U, then -U'. Each gives a mean over 2^7 shifts. Doubling needs no subtraction,
    # so that no digits are lost.
    for _ in range(2):
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
KNOT_SUMMANDS: Final = (1, 2, 2, 4, 4, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""One of the two summands of each order in ``KNOTS``. Both are 1 or earlier orders, so that each power is a product of
two powers that are already computed."""
BLOCK: Final = 4096  # numbers per block, few enough for the cache
ROUNDING: Final = 4e-12  # relative margin of sums of floats
# distance of the masks of a number from uniform: 11 masks per number are expected if
# one number is drawn, and 3 if many are drawn
MASK_ERROR: Final = 16.0 * 2.0**-61


class ExtendedLaw(NamedTuple):
    """P' from -(R + MOST_SHIFT) on, the ratio q of its tails, and the probability of one tail."""

    chances: Vector
    ratio: float
    tail: float


@lru_cache(maxsize=1)
def extended_law() -> ExtendedLaw:
    """Return the accounted distribution P'."""
    exact = law()
    middle_part = exact[MAX_NOISE - CUT : MAX_NOISE + CUT + 1]
    tail = float(exact[MAX_NOISE + CUT + 1 :].sum())
    ratio = float(middle_part[-1] / middle_part[-2])
    beyond = tail * (1.0 - ratio) * ratio ** np.arange(MOST_SHIFT)
    return ExtendedLaw(np.concatenate((beyond[::-1], middle_part, beyond)), ratio, tail)


def delta_spent(numbers: float, epsilon: float) -> float:
    """Return the part of delta that ``numbers`` released numbers spend in addition to the Renyi bounds."""
    return (
        (1.0 + math.exp(min(epsilon, 700.0)))
        * numbers
        * (2.0 * extended_law().tail + MASK_ERROR)
    )


def log_moments(shift: int) -> Vector:
    """Return bounds on log M_z(shift) at each order of ``KNOTS``."""
    chances, ratio, tail = extended_law()
    # places of -R <= n <= R + s
    begin = MOST_SHIFT
    end = MOST_SHIFT + 2 * CUT + 1 + shift
    moments = np.zeros(len(KNOTS))
    with np.errstate(over="ignore", invalid="ignore"):
        for begin_block in range(begin, end, BLOCK):
            unshifted = chances[begin_block : min(begin_block + BLOCK, end)]
            powers = {
                1: chances[begin_block - shift : begin_block - shift + len(unshifted)]
                / unshifted
            }
            for k, (order, summand) in enumerate(
                zip(KNOTS, KNOT_SUMMANDS, strict=True)
            ):
                powers[order] = powers[summand] * powers[order - summand]
                moments[k] += unshifted @ powers[order]
    # the ratio of the shifted to the unshifted tail is q^s on the left, and q^-s on the
    # right, from n = R + s + 1 on
    outer = [
        tail
        * (
            ratio ** (shift * z)
            + math.exp(min(shift * (1 - z) * math.log(ratio), 709.0))
        )
        for z in KNOTS
    ]
    bound: Vector = np.log((moments + np.array(outer)) * (1.0 + ROUNDING))
    return np.where(np.isnan(bound), np.inf, np.maximum(bound, 0.0))


@lru_cache(maxsize=MOST_SHIFT)
def _rate(shift: int) -> Vector:
    """Return D_z(s)/s^2 at one s, for each of ``ORDERS``."""
    rate: Vector = (
        interpolated(log_moments(shift)) / (np.array(ORDERS) - 1.0) / float(shift) ** 2
    )
    return rate


@lru_cache(maxsize=8)
def rates(largest_shift: int) -> Vector:
    """Return the largest D_z(s)/s^2 over integers s from 1 to ``largest_shift``, for each of ``ORDERS``."""
    best: Vector = np.zeros(len(ORDERS))
    for shift in range(1, largest_shift + 1):
        best = np.maximum(best, _rate(shift))
    best.flags.writeable = False
    return best


def renyi_bounds(shift: float) -> tuple[float, ...]:
    """Return bounds on the Renyi divergences of one release that moves by at most ``shift``, for each of ``ORDERS``.

    The bounds are infinite beyond two standard deviations.
    """
    largest_shift = math.floor(check.positive(shift=shift)) or 1
    if largest_shift > MOST_SHIFT:
        return (math.inf,) * len(ORDERS)
    return tuple((shift**2 * rates(largest_shift)).tolist())


def delta_of_shift(shift: int, epsilon: float) -> float:
    """Return the exact smallest delta at an epsilon, up to rounding, of one coordinate that moves by ``shift``."""
    exact = law()
    check.whole(1, 2 * MAX_NOISE, shift=shift)
    excesses = np.maximum(exact[:-shift] - math.exp(epsilon) * exact[shift:], 0.0)
    return float(excesses.sum() + exact[len(exact) - shift :].sum())
