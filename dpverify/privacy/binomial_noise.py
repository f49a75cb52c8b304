r"""Noise from shared random bits, its law, and what one release with it guarantees.

With B ~ Bin(K, 1/2), and U and U' uniform on 0, ..., 2^k - 1,

    N = 2^k (B - K/2) + U + U' - (2^k - 1),      K = 236, k = 10: 256 fair bits a coordinate.

N is an integer, symmetric about 0, and its chances are the binomial ones with straight lines between them: with p(c)
the chance of B - K/2 = c, P(N = 2^k c + i) = 2^-k ((1 - i 2^-k) p(c) + i 2^-k p(c + 1)) for 0 <= i < 2^k. Its variance
is 4^k K/4 + (4^k - 1)/6. Sums of independent bits have no heavier tails than a Gaussian of their variance (Hoeffding).

**The law that is accounted for.** N is bounded, so that a moved N reaches what N does not. Let B' have the chances of B
up to nine deviations from K/2, and go on as a geometric sequence beyond, with the same chance tau on each side; N' is
made of B' as N of B, reaches every integer, and differs from N by at most 2 tau in total variation. What N' guarantees
with (epsilon, delta'), N does with delta' + (1 + e^epsilon) 2 tau n, for n numbers that are released, whatever is drawn
or composed. A Renyi bound for N itself on the points that both laws reach would not do for drawn batches: their
amplification compares each law with a third, in both directions.

**From above.** Let a release be an integer vector plus independent N', moved by s between neighbours, |s|_2 <= S. Where
a law P = f moved by s_j and Q = f are compared in one coordinate, E_Q (P/Q)^z is M_z(s_j). Between breaks, which lie at
multiples of 2^k and at those moved by s_j, both chances are straight lines, and a^z b^(1-z) is convex in (a, b): the
sum over such a stretch is at most its length times the mean of the ends' values. Far out both laws are geometric from
stretch to stretch. The Renyi divergence of all coordinates is at most the sum of D_z(s_j) = log M_z(s_j)/(z - 1), and
that at most S^2 max_s D_z(s)/s^2 over whole s from 1 to S.

**From below.** One coordinate that is moved by S, and exact sums over all points.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.typing import Vector

WHOLE_BITS: Final = 236  # K, even
FINE_BITS: Final = 10  # k
STEP: Final = 1 << FINE_BITS
VARIANCE: Final = STEP**2 * WHOLE_BITS / 4 + (STEP**2 - 1) / 6
DEVIATION: Final = math.sqrt(VARIANCE)  # about 7876
KNOTS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64)
MOST_SHIFT: Final = 1 << 14  # two deviations
CUT: Final = math.floor(9.0 * math.sqrt(WHOLE_BITS / 4))  # how far from K/2 the chances of B are kept
REACH: Final = CUT + MOST_SHIFT // STEP + 4  # how far stretches are looked at one by one
ORDERS: Final = range(2, 65)
PART: Final = 64  # shifts that are looked at together, and kept for the next bound


def _whole() -> Vector:
    """Chances of B = 0, ..., K."""
    return np.array([math.ldexp(math.comb(WHOLE_BITS, c), -WHOLE_BITS) for c in range(WHOLE_BITS + 1)])


@lru_cache(maxsize=1)
def log_law() -> Vector:
    """Logarithm of the chance of each value, from -2^k (K/2 + 1) + 1 on, shape (2^k (K + 2) - 1,)."""
    p = np.concatenate(([0.0], _whole(), [0.0]))
    part = np.arange(STEP) / STEP
    values = ((1.0 - part) * p[:-1, None] + part * p[1:, None]).ravel()[1:] / STEP
    log_chances: Vector = np.log(values)
    log_chances.flags.writeable = False
    return log_chances


def delta_of_shift(shift: int, epsilon: float) -> float:
    """Exact smallest delta at an epsilon of one coordinate whose value moves by so much, up to rounding."""
    check.whole(1, MOST_SHIFT, shift=shift)
    law = log_law()
    # at a value that both reach
    moved = law[:-shift]
    stays = law[shift:]
    excesses = np.maximum(np.exp(stays) - np.exp(epsilon + moved), 0.0)
    return float(excesses.sum() + np.exp(law[:shift]).sum())


class Accounted(NamedTuple):
    """Chances of B' - K/2, as far as they are needed, the ratio of its tails, and the chance tau of one of them."""

    chances: Vector
    ratio: float
    tail: float


@lru_cache(maxsize=1)
def accounted() -> Accounted:
    """The law that is accounted for."""
    p = _whole()
    middle = WHOLE_BITS // 2
    middle_part = p[middle - CUT : middle + CUT + 1]
    tail = float(p[middle + CUT + 1 :].sum())
    ratio = float(middle_part[-1] / middle_part[-2])
    beyond = tail * (1.0 - ratio) * ratio ** np.arange(2 * (REACH - CUT) + 2)
    return Accounted(np.concatenate((beyond[::-1], middle_part, beyond)), ratio, tail)


def spent(numbers: float, epsilon: float) -> float:
    """What so many opened numbers take from delta besides what the Renyi bounds do."""
    return (1.0 + math.exp(min(epsilon, 700.0))) * numbers * 2.0 * accounted().tail


def moment_bound(order: int, shifts: NDArray[np.int64]) -> Vector:
    """Bound M_z of this module's head for each shift; shape of ``shifts``."""
    chances, ratio, _ = accounted()
    q = shifts // STEP
    part = (shifts % STEP) / STEP
    cells = np.arange(-CUT - 2, REACH)  # stretches begin at B' - K/2 = c and at a part of the way to c + 1

    def chance(at: NDArray[np.int64]) -> Vector:
        chance_at: Vector = chances[at + len(chances) // 2]
        return chance_at

    rho = part[:, None]
    c = cells[None, :]
    behind = c - q[:, None]
    stays = chance(c)
    stays_on = (1.0 - rho) * chance(c) + rho * chance(c + 1)
    moved = (1.0 - rho) * chance(behind) + rho * chance(behind - 1)
    moved_on = chance(behind)
    terms = _power(order, moved, stays)
    on = _power(order, moved_on, stays_on)
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite chance, or NaN: such an order says nothing
        stretches = (rho * (terms + on) + (1.0 - rho) * (on + np.roll(terms, -1, axis=1)))[:, :-1] / 2.0
        total = stretches.sum(axis=1) + (stretches[:, 0] + stretches[:, -1]) * ratio / (1.0 - ratio)
    bound: Vector = np.where(np.isnan(total), np.inf, total)
    return bound


def _power(order: int, a: Vector, b: Vector) -> Vector:
    """``a^z b^(1-z)``, 0 where a is."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        powers: Vector = np.where(a > 0.0, np.exp(order * np.log(a) + (1 - order) * np.log(b)), 0.0)
    return powers


@lru_cache(maxsize=1 << 13)
def _largest(order: int, first: int, end: int) -> float:
    """Bound the largest log M_z(s)/s^2 over first <= s < end."""
    shifts = np.arange(first, end)
    return float((np.log(np.maximum(moment_bound(order, shifts), 1.0)) / shifts**2.0).max())


@lru_cache(maxsize=8)
def renyi_bounds(shift: float) -> tuple[float, ...]:
    """Bound the Renyi divergences of orders 2, 3, ... of one release that moves by at most ``shift`` in norm.

    Infinite beyond two deviations.
    """
    largest_shift = math.floor(check.positive(shift=shift)) or 1
    if largest_shift > MOST_SHIFT:
        return (math.inf,) * len(ORDERS)
    best = [
        max(_largest(z, i, min(i + PART, largest_shift + 1)) for i in range(1, largest_shift + 1, PART)) for z in KNOTS
    ]
    return tuple((shift**2 * interpolated(np.array(best)) / (np.array(ORDERS) - 1.0)).tolist())


def interpolated(log_moments: Vector) -> Vector:
    """Bounds of log moments at ``ORDERS`` from those at ``KNOTS``: the logarithm of a moment is convex in its order."""
    with np.errstate(invalid="ignore"):  # where a knot is infinite, nothing is known of what lies beside it
        log_bounds = np.interp(ORDERS, KNOTS, log_moments)
    bound: Vector = np.where(np.isnan(log_bounds), np.inf, log_bounds)
    return bound
