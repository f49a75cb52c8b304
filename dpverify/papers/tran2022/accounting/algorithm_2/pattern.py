"""The sum over Algorithm 2's nodes for one given pattern, in floating point: levels times visits operations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities


@kernel
def sum_of_pattern(
    visits: NDArray[np.int64], T: int, N: int, log_decay: float, g_first: float, g_later: float,
    late: float, most: float, drift: float,
) -> float:  # fmt: skip
    """Sum squared sensitivity over squared deviation over the nodes that are read; visits in rising order."""
    total, k = 0.0, 0
    while T >> k > 0:
        first, i, length = 0, 0, 1 << k
        while i < visits.shape[0]:
            a = (visits[i] - 1) >> k
            begin = a << k
            end = begin + length
            weights, drifts, moved, left_over, first = 0.0, 0.0, 0.0, most, i
            while i < visits.shape[0] and (visits[i] - 1) >> k == a:
                ahead = end - visits[i]
                weight = math.exp(log_decay * ahead) if ahead > 0 else 1.0
                weights += weight
                drifts += weight * ((visits[i] - 1) % N)
                i += 1
            if end > T:
                continue
            for j in range(i - 1, first - 1, -1):
                if left_over > 0.0:
                    ahead, step = end - visits[j], min(late, left_over)
                    moved += step * (math.exp(log_decay * ahead) if ahead > 0 else 1.0)
                    left_over -= step
            left = a % 2 == 0
            if left:
                total += drift * drifts * drifts
            if length <= N and (left or begin - length < T - N):
                total += (g_first if end <= 2 * N else g_later) * weights * weights
                if begin >= N and T >= 2 * N and not (left and end + length <= 2 * N):
                    total += moved * moved
        k += 1
    return total


def pattern_value(sensitivities: NodeSensitivities, alpha: float, pattern: Sequence[int]) -> float:
    """Sum squared sensitivities over squared deviations for one pattern."""
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    s = sensitivities
    return sum_of_pattern(
        np.asarray(pattern, dtype=np.int64), s.steps, s.examples, log_decay,
        s.g_first, s.g_later, s.delta_late, s.delta_most, s.drift,
    )  # fmt: skip
