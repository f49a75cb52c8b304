"""Which change a comparison would have seen: how many standard deviations of a pass, with probability 0.9."""

from __future__ import annotations

from functools import cache

import numpy as np

POWER = 0.9
"""Probability with which the declared change is found."""

_DRAWS = 4000


@cache
def detectable(n: int, m: int, level: float) -> float | None:
    """The shift that the two-sided rank test of n against m passes finds with probability :data:`POWER`.

    In standard deviations of a pass, where the passes of both runs are normal with the same spread; found by simulation
    with a fixed seed. None where even passes that do not overlap at all would not reach the level.
    """
    from dpverify.bench.compare import null_law

    tails = 2 * np.cumsum(null_law(n, m))
    largest = int(np.searchsorted(tails, level, side="right")) - 1  # U up to this one is a finding
    if largest < 0:
        return None
    draw = np.random.Generator(np.random.SFC64(20221))
    x, y = draw.standard_normal((_DRAWS, n, 1)), draw.standard_normal((_DRAWS, 1, m))
    # x + shift loses to y in at most `largest` pairs: the shift beyond which that is so, draw by draw
    needed = np.sort((y - x).reshape(_DRAWS, n * m), axis=1)[:, n * m - 1 - largest]
    return float(np.quantile(needed, POWER))
