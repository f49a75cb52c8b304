"""Compositions of pairs of finite laws, bounded from below and from above.

A pair of laws (P, Q) on finitely many outcomes has the loss log(p/q) under P. The delta of independent pairs is the
expectation of (1 - exp(epsilon - sum of losses))_+ under P, which rises with each loss and with each chance.

- From below: any map of what is released to finitely many outcomes can only lower delta. Chances under P are rounded
  down, those under Q up, and losses down to a grid.
- From above: a loss between two points of a grid is split between them so that its chances under P and Q stay the same.
  That spreads the likelihood ratio and keeps its mean, so that it raises each convex function of the ratio, delta at
  each epsilon among them. The profile of the pair is then nowhere smaller, which composition keeps (Zhu, Dong and Wang
  2022, theorem 10).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpverify.privacy.losses.grid import LossLaw, Places, UnresolvedError, Vector
from dpverify.privacy.losses.total import Steps, add_up

SAFE: Final = 1e-12  # relative rounding of a chance or a loss, thousands of times that of floats
CENTRED: Final = 0.51  # part of a cell that is taken off a loss from below, whose mean is about the middle of its cell
LARGEST_LOSS: Final = 500.0


def _widths(times: int) -> tuple[float, ...]:
    """Give distances of losses, of which so many add up to little; a longer one is for sums that are too wide."""
    width = max(5e-4 / times, 5e-5)
    return width, 8.0 * width, 64.0 * width


def lower_epsilon(p: Vector, q: Vector, times: int, delta: float) -> float:
    """Bound the epsilon of so many pairs from below.

    ``p``: at most the chances under P; ``q``: at least those under Q.
    """
    is_seen = (p > 0.0) & (q > 0.0)
    if not is_seen.any():
        return 0.0
    losses = np.log(p[is_seen]) - np.log(q[is_seen])
    losses = np.minimum(losses - SAFE * (1.0 + np.abs(losses)), LARGEST_LOSS)
    for width in _widths(times):
        places = np.floor(losses / width + CENTRED).astype(np.int64)
        law = _law(places, p[is_seen] * (1.0 - SAFE), 0.0, CENTRED * width)
        try:
            return add_up([Steps(law, times)], width, delta).epsilon(delta, -1)
        except UnresolvedError:
            continue
    return 0.0


def upper_epsilon(losses: Vector, p: Vector, beyond: float, times: int, delta: float) -> float:
    """Bound the epsilon of so many pairs from above.

    ``p``: at least the chances under P of these losses, and ``beyond`` that of all others, which count as infinite.
    """
    is_large = losses > LARGEST_LOSS
    beyond += float(p[is_large].sum())
    losses = losses[~is_large]
    p = p[~is_large] * (1.0 + SAFE)
    losses = losses + SAFE * (1.0 + np.abs(losses))
    for width in _widths(times):
        below = np.floor(losses / width)
        share = np.clip(np.expm1(below * width - losses) / np.expm1(-width) + 1e-9, 0.0, 1.0)
        places = below.astype(np.int64)
        law = _law(np.append(places, places + 1), np.append(p * (1.0 - share + 1e-15), p * share), beyond, 0.0)
        try:
            return add_up([Steps(law, times)], width, delta).epsilon(delta, 1)
        except UnresolvedError:
            continue
    return math.inf


def _law(places: Places, chances: Vector, beyond: float, shift: float) -> LossLaw:
    first = int(places.min())
    sums: Vector = np.bincount(places - first, chances).astype(np.float64)
    at = np.flatnonzero(sums > 0.0)
    sign = 1.0 if shift == 0.0 else -1.0
    return LossLaw(at + first, sums[at] * (1.0 + sign * SAFE), beyond * (1.0 + SAFE), shift)
