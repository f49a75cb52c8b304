r"""What one release with noise by the ratio of uniforms guarantees, from the exact law in ``ratio_noise``.

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
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.privacy.binomial_noise import KNOTS, ORDERS, interpolated
from dpverify.privacy.ratio_noise import DEVIATION, MOST, law

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
