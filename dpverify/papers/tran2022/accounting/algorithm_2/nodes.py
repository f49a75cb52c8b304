"""The nodes that Algorithm 2 reads, and the contribution of each node to mu^2 by family, level, parity and position.

For 0 < gamma < 1, Algorithm 4 reads the largest dyadic intervals within a window [s - N + 1, s], N <= s <= T, for G and
(if s >= 2N) for Delta. It also reads those within a prefix [1, t], for r and (if t < N) for G. At gamma = 0 and 1 it
needs fewer. NOTES_accountant.md has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel


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
    # (2 eta L / deviation)^2: squared move of an r node per unit of weight times (p -
    # 1)
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
