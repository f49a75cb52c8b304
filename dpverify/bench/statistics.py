"""Medians over passes with intervals that assume no law, the spread of rounds, and exponents of sweeps.

Rounds of one process share where its memory lies and how warm the machine is, so they are no independent values: the
unit is the pass, a process of its own. A pass gives the median of its rounds; intervals are made of those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpverify.report.bench.records import Interval

LEVEL = 0.95
"""Least probability with which an interval holds the median; with fewer than six passes none can, and it says so."""


def median_interval(passes: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Median over passes, its interval from their order, and the spread of all rounds.

    The narrowest symmetric pair of order statistics of the passes' medians that reaches the level, else the smallest
    and the largest of them; ``level`` is what the pair really has.
    """
    if not passes or not all(passes):
        raise ValueError(f"passes={[len(values) for values in passes]} rounds: at least one pass, of one round or more")
    middles = np.sort([float(np.median(values)) for values in passes])
    rounds = np.concatenate([np.asarray(values, dtype=float) for values in passes])
    n, cut = len(middles), 1
    while cut < n // 2 and _holds(n, cut + 1) >= level:
        cut += 1
    low, high = np.quantile(rounds, (0.25, 0.75))
    return Interval(
        median=float(np.median(middles)),
        low=float(middles[cut - 1]),
        high=float(middles[n - cut]),
        level=_holds(n, cut),
        passes=n,
        rounds=len(rounds),
        quartiles=(float(low), float(high)),
        extremes=(float(rounds.min()), float(rounds.max())),
    )


def _holds(n: int, cut: int) -> float:
    """Probability that the median lies between the values number ``cut`` from below and from above of n."""
    return 1 - 2 * sum(math.comb(n, below) for below in range(cut)) / float(2**n)


def ratios(form: Sequence[Sequence[float]], to: Sequence[Sequence[float]]) -> list[list[float]]:
    """Ratios of one form to another, round by round.

    Of each pass in which both were timed. Where they were not timed equally often, the median of ``to`` stands for all
    its rounds.
    """
    out = []
    for top, bottom in zip(form, to, strict=False):
        if len(top) == len(bottom):
            out.append([a / b for a, b in zip(top, bottom, strict=True)])
        elif bottom:
            middle = float(np.median(bottom))
            out.append([a / middle for a in top])
    return [values for values in out if values]


def exponents(sizes: Sequence[float], passes: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Fit a power of the size to each pass.

    Of each pass in which every size has a value: the slope of the log of the median over log size, by least squares;
    one value a pass, so that an interval can be made of them.
    """
    x = np.log(np.asarray(sizes, dtype=float))
    x -= x.mean()
    out = []
    for at_sizes in zip(*passes, strict=False):
        if all(at_sizes):
            y = np.log([float(np.median(values)) for values in at_sizes])
            out.append([float((x * y).sum() / (x * x).sum())])
    return out
