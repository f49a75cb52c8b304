"""The sum of squared node weights of one given pattern, in floating point: levels times visits operations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import kernel


@kernel
def sum_of_pattern(visits: NDArray[np.int64], T: int, log_decay: float) -> float:
    """Sum, over released nodes [y, z], the squared sum of ``exp(log_decay (z - t))`` over visits t in rising order."""
    total = 0.0
    k = 0
    while (T >> k) > 0:
        level_total, weight, a = 0.0, 0.0, -1
        for i in range(visits.shape[0]):
            x = visits[i] - 1
            if x >> k != a:
                level_total += weight * weight
                weight, a = 0.0, x >> k
            if a % 2 == 0 and (a + 1) << k <= T:
                ahead = ((a + 1) << k) - 1 - x
                weight += math.exp(log_decay * ahead) if ahead > 0 else 1.0
        total += level_total + weight * weight
        k += 1
    return total


def pattern_value(steps: int, alpha: float, pattern: Sequence[int]) -> float:
    """Sum the squared weights of one pattern over the released nodes of Algorithm 1, in floats."""
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    return sum_of_pattern(np.asarray(pattern, dtype=np.int64), steps, log_decay)
