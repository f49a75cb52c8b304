r"""Noise from shared random bits, its distribution, and the privacy of one release.

With B ~ Bin(K, 1/2), and U and U' uniform on 0, ..., 2^k - 1,

    N = 2^k (B - K/2) + U + U' - (2^k - 1),      K = 236, k = 10: 256 fair bits per coordinate.

N is an integer, symmetric about 0. Its probabilities interpolate the binomial ones
linearly: with p(c) the probability of B - K/2 = c, P(N = 2^k c + i) = 2^-k ((1 - i
2^-k) p(c) + i 2^-k p(c + 1)) for 0 <= i < 2^k. Its variance is 4^k K/4 + (4^k - 1)/6.
Sums of independent bits have no heavier tails than a Gaussian of their variance
(Hoeffding).

**Accounted distribution.** N is bounded, so that a shifted N takes values that N does
not. Let B' have the probabilities of B up to nine standard deviations from K/2, and
continue as a geometric sequence beyond, with the same probability tau on each side. N'
is built from B' as N from B. It takes every integer value, and differs from N by at
most 2 tau in total variation. If N' guarantees (epsilon, delta'), N guarantees epsilon
with delta' + (1 + e^epsilon) 2 tau n, for n released numbers and any sampling or
composition. A Renyi bound for N on the values that N and its shift share would not be
enough for sampled batches: their amplification compares each distribution with a third
one, in both directions.

**Upper bound.** Let a release be an integer vector plus independent N', and let
neighbours shift it by s, |s|_2 <= S. In one coordinate, let Q be the distribution of N'
and P its shift by s_j; then E_Q (P/Q)^z is M_z(s_j). The break points are the multiples
of 2^k and the same points shifted by s_j. Between them both probabilities are linear.
As a^z b^(1-z) is convex in (a, b), the sum over such an interval is at most its length
times the mean of the values at its ends. Far out both distributions are geometric from
interval to interval. The Renyi divergence of all coordinates is at most the sum of
D_z(s_j) = log M_z(s_j)/(z - 1), which is at most S^2 max_s D_z(s)/s^2 over whole s from
1 to S.

**Lower bound.** One coordinate is moved by S; delta is an exact sum over all points.
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
MOST_SHIFT: Final = 1 << 14  # about two standard deviations
# distance from K/2 up to which the probabilities of B are kept
CUT: Final = math.floor(9.0 * math.sqrt(WHOLE_BITS / 4))
# distance from K/2 up to which intervals are summed one by one
REACH: Final = CUT + MOST_SHIFT // STEP + 4
ORDERS: Final = range(2, 65)
SPAN: Final = 64  # shifts that are evaluated together and cached


def _binomial_law() -> Vector:
    """Return the probabilities of B = 0, ..., K."""
    return np.array(
        [
            math.ldexp(math.comb(WHOLE_BITS, c), -WHOLE_BITS)
            for c in range(WHOLE_BITS + 1)
        ]
    )


@lru_cache(maxsize=1)
def log_law() -> Vector:
    """Return the log probabilities of the values from -2^k (K/2 + 1) + 1 on, shape (2^k (K + 2) - 1,)."""
    p = np.concatenate(([0.0], _binomial_law(), [0.0]))
    part = np.arange(STEP) / STEP
    values = ((1.0 - part) * p[:-1, None] + part * p[1:, None]).ravel()[1:] / STEP
    log_chances: Vector = np.log(values)
    log_chances.flags.writeable = False
    return log_chances


def delta_of_shift(shift: int, epsilon: float) -> float:
    """Return the exact smallest delta at an epsilon, up to rounding, of one coordinate that moves by ``shift``."""
    check.whole(1, MOST_SHIFT, shift=shift)
    law = log_law()
    # at values that both distributions take
    shifted = law[:-shift]
    unshifted = law[shift:]
    excesses = np.maximum(np.exp(unshifted) - np.exp(epsilon + shifted), 0.0)
    return float(excesses.sum() + np.exp(law[:shift]).sum())


class AccountedLaw(NamedTuple):
    """Probabilities of B' - K/2 in the range needed, the ratio of its tails, and the probability tau of one tail."""

    chances: Vector
    ratio: float
    tail: float


@lru_cache(maxsize=1)
def accounted_law() -> AccountedLaw:
    """Return the accounted distribution."""
    p = _binomial_law()
    middle = WHOLE_BITS // 2
    middle_part = p[middle - CUT : middle + CUT + 1]
    tail = float(p[middle + CUT + 1 :].sum())
    ratio = float(middle_part[-1] / middle_part[-2])
    beyond = tail * (1.0 - ratio) * ratio ** np.arange(2 * (REACH - CUT) + 2)
    return AccountedLaw(
        np.concatenate((beyond[::-1], middle_part, beyond)), ratio, tail
    )


def delta_spent(numbers: float, epsilon: float) -> float:
    """Return the part of delta that ``numbers`` released numbers spend in addition to the Renyi bounds."""
    return (1.0 + math.exp(min(epsilon, 700.0))) * numbers * 2.0 * accounted_law().tail


def moment_bound(order: int, shifts: NDArray[np.int64]) -> Vector:
    """Return bounds on M_z of the docstring of this module for each shift; shape of ``shifts``."""
    chances, ratio, _ = accounted_law()
    q = shifts // STEP
    part = (shifts % STEP) / STEP
    # c: intervals start at B' - K/2 = c, and at a fraction of the way to c + 1
    cells = np.arange(-CUT - 2, REACH)

    def chance(at: NDArray[np.int64]) -> Vector:
        chance_at: Vector = chances[at + len(chances) // 2]
        return chance_at

    rho = part[:, None]
    c = cells[None, :]
    shifted_cells = c - q[:, None]
    unshifted = chance(c)
    unshifted_inner = (1.0 - rho) * chance(c) + rho * chance(c + 1)
    shifted = (1.0 - rho) * chance(shifted_cells) + rho * chance(shifted_cells - 1)
    shifted_inner = chance(shifted_cells)
    terms = _power(order, shifted, unshifted)
    inner = _power(order, shifted_inner, unshifted_inner)
    # overflow or NaN: the bound of this order is infinite
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (
            rho * (terms + inner) + (1.0 - rho) * (inner + np.roll(terms, -1, axis=1))
        )[:, :-1] / 2.0
        total = sums.sum(axis=1) + (sums[:, 0] + sums[:, -1]) * ratio / (1.0 - ratio)
    bound: Vector = np.where(np.isnan(total), np.inf, total)
    return bound


def _power(order: int, a: Vector, b: Vector) -> Vector:
    """Return ``a^z b^(1-z)``, or 0 where a is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        powers: Vector = np.where(
            a > 0.0, np.exp(order * np.log(a) + (1 - order) * np.log(b)), 0.0
        )
    return powers


@lru_cache(maxsize=1 << 13)
def _max_rate(order: int, first: int, end: int) -> float:
    """Return a bound on the largest log M_z(s)/s^2 over first <= s < end."""
    shifts = np.arange(first, end)
    return float(
        (np.log(np.maximum(moment_bound(order, shifts), 1.0)) / shifts**2.0).max()
    )


@lru_cache(maxsize=8)
def renyi_bounds(shift: float) -> tuple[float, ...]:
    """Return bounds on the Renyi divergences of orders 2, 3, ... of one release that moves by at most ``shift``.

    The bounds are infinite beyond about two standard deviations.
    """
    largest_shift = math.floor(check.positive(shift=shift)) or 1
    if largest_shift > MOST_SHIFT:
        return (math.inf,) * len(ORDERS)
    best = [
        max(
            _max_rate(z, i, min(i + SPAN, largest_shift + 1))
            for i in range(1, largest_shift + 1, SPAN)
        )
        for z in KNOTS
    ]
    return tuple(
        (shift**2 * interpolated(np.array(best)) / (np.array(ORDERS) - 1.0)).tolist()
    )


def interpolated(log_moments: Vector) -> Vector:
    """Return bounds on log moments at ``ORDERS`` from those at ``KNOTS``: a log moment is convex in its order."""
    # next to an infinite knot the bound is infinite
    with np.errstate(invalid="ignore"):
        log_bounds = np.interp(ORDERS, KNOTS, log_moments)
    bound: Vector = np.where(np.isnan(log_bounds), np.inf, log_bounds)
    return bound
