"""Contributions of pairs of visits on both sides of an epoch boundary, in very long runs of Algorithm 2.

Boundary b lies after step bN. A *pair* is the last visit before it and the first visit after it, if they share a node
of at most 2^top <= N steps. Such a node contains no third visit. The bits of bN determine which nodes contain both
visits. Tables over the lower and upper bits reduce the cost of a boundary to two look-ups (NOTES_accountant.md, section
7).
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector

# Number of parts of two epochs to which distances are rounded for the long nodes.
PLACES = 4096


@kernel
def pair_tables(
    N: int,
    split: int,
    fine: int,
    top: int,
    factor: float,
    drift: float,
    squares: Vector,
    base: Vector,
    above: Vector,
    below: Vector,
) -> None:
    """Write tables of the largest contribution of a pair, by the bits of bN from ``split`` to ``top`` and below.

    Pairs that share a node of level ``fine`` are included, and nodes up to level ``top``, 2^top <= N. ``factor`` is the
    contribution of a visit to a G and a Delta node per squared weight, ``drift`` that to an r node, per squared (p - 1)
    as well. The outputs are ``base`` and ``above``, shape (2^(top + 1 - split),), and ``below``, shape (2^split,).
    ``base`` is the contribution from level ``split`` on of a pair that meets below this level, and ``below`` that of
    the lower levels. ``above`` is the whole contribution of a pair that meets at or above level ``split``. ``squares``
    has shape (top + 1,).
    """
    lowest = 0
    while N >> lowest & 1 == 0:
        lowest += 1
    last = N - 1.0
    for part in range(2):
        low, high = (split, top) if part == 0 else (0, split - 1)
        for bits in range(1 << high + 1 - low):
            best = -np.inf
            weights = 0.0
            lefts = 0.0
            # weights: sum of squared weights over the levels above h, relative to the
            # end of the node of level h + 1
            for h in range(high, max(low, lowest) - 1, -1):
                # the pair shares the node of level h + 1 and no smaller node
                if h < fine:
                    ahead = 2.0 ** (h + 1)
                    separate_sum = (h + 1) * (
                        2.0 * factor + drift * (last * last + ahead * ahead)
                    )
                    largest = last + (2.0**split if part == 1 else ahead)
                    best = max(
                        best,
                        separate_sum
                        + 4.0 * factor * weights
                        + drift * largest**2 * lefts,
                    )
                if bits >> h - low & 1 == 0:
                    weights = weights * squares[h]
                    lefts = lefts * squares[h] + 1.0
                weights += 1.0
            if part == 0:
                base[bits] = (
                    4.0 * factor * weights + drift * (last + 2.0**split) ** 2 * lefts
                )
                above[bits] = best
            else:
                below[bits] = best


@kernel
def most_of_pairs(
    first: int,
    count: int,
    N: int,
    split: int,
    base: Vector,
    above: Vector,
    below: Vector,
    price: float,
) -> float:
    """Bound the total excess of pairs over ``price``; two consecutive boundaries cannot both have a pair."""
    upper = base.shape[0] - 1
    lower = below.shape[0] - 1
    with_this = 0.0
    without = 0.0
    for b in range(first, first + count):
        x = b * N
        high = x >> split & upper
        low = x & lower
        gain = max(above[high], base[high] + below[low]) - price
        with_this, without = without + max(gain, 0.0), max(without, with_this)
    return max(with_this, without)


@kernel
def sum_tables(
    low: int, high: int, squares: Vector, weights: Vector, lefts: Vector, ends: Vector
) -> None:
    """Write tables of sums of squared weights of a visit over levels ``low`` to ``high``, by these bits of its step.

    For each value of the bits: ``weights`` is the sum over all levels, ``lefts`` the sum over left halves, and ``ends``
    the squared weight at the end of the node of level ``high`` + 1. The squared weight at the end of the node of level
    ``low`` is 1.
    """
    for bits in range(1 << high + 1 - low):
        total = 0.0
        left = 0.0
        weight = 1.0
        for k in range(low, high + 1):
            total += weight
            if bits >> k - low & 1 == 0:
                left += weight
                weight *= squares[k]
        weights[bits] = total
        lefts[bits] = left
        ends[bits] = weight


@kernel
def sum_of_pairs(
    first: int,
    count: int,
    N: int,
    low: int,
    split: int,
    low_weights: Vector,
    low_lefts: Vector,
    ends: Vector,
    weights: Vector,
    lefts: Vector,
    factor: float,
    drift: float,
) -> float:
    """Sum ``factor`` times squared weights and ``drift`` times those in left halves over the boundaries first + 2i."""
    lower = low_weights.shape[0] - 1
    upper = weights.shape[0] - 1
    total = 0.0
    for i in range(count):
        x = (first + 2 * i) * N
        at = x >> low & lower
        high = x >> split & upper
        total += factor * (low_weights[at] + ends[at] * weights[high])
        total += drift * (low_lefts[at] + ends[at] * lefts[high])
    return total


@kernel
def sum_of_long_nodes(
    begin: int, end: int, N: int, place: int, level: int, decay_log: float
) -> float:
    """Bound the sum over left nodes of 2^level > N steps from below, for visits at ``place`` of every second epoch."""
    odd = N
    while odd & 1 == 0:
        odd >>= 1
    length = 1 << level
    stride = 2 << level
    at = (begin + stride - 1) // stride * stride
    nodes = max((end - length - at) // stride + 1, 0)
    # the nodes end at no more than ``odd`` different positions modulo 2N
    period = max(min(odd, nodes), 1)
    per_pair = np.exp(decay_log * 2 * N)
    visit_count = (length - 1) // (2 * N)
    squares = np.empty(PLACES)
    for part in range(PLACES):
        weight = np.exp(decay_log * ((part + 1) * (2 * N) // PLACES + 1))
        if visit_count > 0:  # lower bound on the number of visits in a node
            weight *= (1.0 - per_pair**visit_count) / (1.0 - per_pair)
        squares[part] = weight * weight
    step = stride % (2 * N)
    back = (at + length - 1 - place) % (2 * N)
    part = nodes % period
    sum_of_part = 0.0
    total = 0.0
    for i in range(period if nodes > 0 else 0):
        if i == part:
            sum_of_part = total
        if back < length:
            total += squares[back * PLACES // (2 * N)]
        back += step
        if back >= 2 * N:
            back -= 2 * N
    return sum_of_part + nodes // period * total
