"""The nodes that Algorithm 2 reads, and contributions to mu^2: of each node, and of pairs of visits in very long runs.

For 0 < gamma < 1, Algorithm 4 reads the largest dyadic intervals within a window [s -
N + 1, s], N <= s <= T, for G and (if s >= 2N) for Delta. It also reads those within a
prefix [1, t], for r and (if t < N) for G. At gamma = 0 and 1 it needs fewer.
NOTES_accountant.md has the rules. The contribution of a node depends on its family,
level, parity and position.

Boundary b of the epochs lies after step bN. A *pair* is the last visit before it and the first visit after it, if they
share a node of at most 2^top <= N steps. Such a node contains no third visit. The bits of bN determine which nodes
contain both visits. Tables over the lower and upper bits reduce the cost of a boundary to two look-ups
(NOTES_accountant.md, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector


class NodeTerms(NamedTuple):
    """Factors of a node's contribution ``g S^2 + delta moved(S)^2 + drift R^2``.

    S is the sum of weights and R the sum of weights times (p - 1); moved(S) bounds the move of the Delta node.
    """

    g: float  # (2G / deviation)^2, or 0 if the G node is not read
    delta: float  # 1 if the Delta node is read, else 0
    drift: float  # (2 eta L / deviation)^2, or 0 if the r node is not read


@dataclass(frozen=True)
class NodeSensitivities:
    """Squared sensitivities per squared deviation."""

    steps: int  # T
    examples: int  # N
    g_first: float  # (2G / deviation)^2 of G nodes that end by step 2N
    g_later: float  # (2G / deviation)^2 of later G nodes
    # The next two are in units of the deviation of a Delta node.
    delta_late: float  # largest move by one visit of weight 1: ``min(D, 4G)`` with D = 2 L eta N
    delta_most: float  # largest move by all visits: 4G
    # (2 eta L / deviation)^2: squared move of
    # an r node per unit of weight times (p - 1)
    drift: float

    @property
    def top(self) -> int:
        """Level of the longest nodes of G and Delta: floor(log2 N)."""
        return self.examples.bit_length() - 1

    def least_moved(self) -> float:
        """Return a c such that a Delta node, which contains at most two visits, can move by at least c S."""
        return min(self.delta_late, self.delta_most / 2)

    def node(self, begin: int, level: int) -> NodeTerms:
        """Return the factors of the contribution of the node with the steps begin + 1 .. begin + 2^level."""
        T = self.steps
        N = self.examples
        length = 1 << level
        left = begin >> level & 1 == 0
        if level > self.top:
            return NodeTerms(0.0, 0.0, self.drift if left else 0.0)
        end = begin + length
        # else every window that contains the node also contains its parent
        is_read = left or begin - length < T - N
        g = (self.g_first if end <= 2 * N else self.g_later) if is_read else 0.0
        delta = (
            is_read
            and begin >= N
            and 2 * N <= T
            and not (left and end + length <= 2 * N)
        )
        return NodeTerms(g, float(delta), self.drift if left else 0.0)

    def inside(self, begin: int) -> tuple[float, float]:
        """Return the G and Delta contributions per squared weight of left and right halves in the zone of ``begin``.

        This is for nodes with one visit.
        """
        T = self.steps
        N = self.examples
        g = self.g_first if begin < 2 * N else self.g_later
        delta = self.delta_late**2 if begin >= N and T >= 2 * N else 0.0
        return g + (delta if begin >= 2 * N else 0.0), (
            g + delta
        ) if begin < T - N else 0.0

    def zone(self, begin: int, end: int) -> int | None:
        """Return the number of the zone of the steps begin + 1 .. end; None if they lie in more than one zone.

        The zones are bounded by the steps N, 2N and T - N.
        """
        T = self.steps
        N = self.examples
        first, last = ((min(at // N, 2), at >= T - N) for at in (begin, end - 1))
        return 2 * first[0] + first[1] if first == last else None

    def unit(self) -> float:
        """Return the root of the largest contribution of a visit to a node; much smaller differences matter little."""
        return math.sqrt(
            self.g_later + self.delta_late**2 + self.drift * (self.examples - 1) ** 2
        )

    def floors(self, g: float, part: float) -> tuple[float, float]:
        """Return the S and R that contribute the fraction ``part`` of :meth:`unit`, if G nodes have factor ``g``."""
        short = g + self.delta_late**2
        return (
            part * self.unit() / math.sqrt(short) if short else 1.0,
            part * self.unit() / math.sqrt(self.drift) if self.drift else 1.0,
        )


@kernel
def sum_of_pattern(
    visits: NDArray[np.int64],
    T: int,
    N: int,
    log_decay: float,
    g_first: float,
    g_later: float,
    late: float,
    limit: float,
    drift: float,
) -> float:
    """Sum squared sensitivity over squared deviation over the nodes that are read; ``visits`` is increasing."""
    total = 0.0
    k = 0
    while T >> k > 0:
        first = 0
        i = 0
        length = 1 << k
        while i < visits.shape[0]:
            a = (visits[i] - 1) >> k
            begin = a << k
            end = begin + length
            weights = 0.0
            drifts = 0.0
            moved = 0.0
            remaining = limit
            first = i
            while i < visits.shape[0] and (visits[i] - 1) >> k == a:
                ahead = end - visits[i]
                weight = math.exp(log_decay * ahead) if ahead > 0 else 1.0
                weights += weight
                drifts += weight * ((visits[i] - 1) % N)
                i += 1
            if end > T:
                continue
            for j in range(i - 1, first - 1, -1):
                if remaining > 0.0:
                    ahead = end - visits[j]
                    step = min(late, remaining)
                    moved += step * (math.exp(log_decay * ahead) if ahead > 0 else 1.0)
                    remaining -= step
            left = a % 2 == 0
            if left:
                total += drift * drifts * drifts
            if length <= N and (left or begin - length < T - N):
                total += (g_first if end <= 2 * N else g_later) * weights * weights
                if begin >= N and T >= 2 * N and not (left and end + length <= 2 * N):
                    total += moved * moved
        k += 1
    return total


def pattern_value(
    sensitivities: NodeSensitivities, alpha: float, pattern: Sequence[int]
) -> float:
    """Sum squared sensitivities over squared deviations for one pattern."""
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    s = sensitivities
    return sum_of_pattern(
        np.asarray(pattern, dtype=np.int64),
        s.steps,
        s.examples,
        log_decay,
        s.g_first,
        s.g_later,
        s.delta_late,
        s.delta_most,
        s.drift,
    )


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
