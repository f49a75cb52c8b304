"""Whether blocks of outputs differ by more than independent draws can: noise that is shared, or that drifts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.records import AuditError

Floats = NDArray[np.float64]

COORDINATES = 8
"""Coordinates that are looked at, at most."""

FAR = 8.0
"""Standard deviations that count as too far; independent draws get there once in 10^14."""

LEAST = 30
"""Outputs on one data set that a block needs to be looked at."""


class BlockSpread:
    """Counts, block by block, the outputs above the median of the first block.

    ``batched``: whether outputs come many from a call: they must then be independent, or there is no bound.
    """

    def __init__(self, batched: bool) -> None:
        self._batched = batched
        self._medians: tuple[Floats, Floats] | None = None
        self._counts: list[tuple[int, int, Floats]] = []

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block."""
        if min(len(low), len(high)) < LEAST:
            return
        low, high = low[:, :COORDINATES], high[:, :COORDINATES]
        if self._medians is None:
            self._medians = np.median(low, axis=0), np.median(high, axis=0)
        for which, rows in enumerate((low, high)):
            above = np.count_nonzero(rows > self._medians[which], axis=0)
            self._counts.append((which, len(rows), above.astype(np.float64)))

    def farthest(self) -> float:
        """How far the share above the median is from its mean over all blocks, in standard deviations, at most.

        0 where there is nothing to compare.
        """
        worst = 0.0
        for which in (0, 1):
            blocks = [(size, above) for k, size, above in self._counts if k == which]
            if len(blocks) < 2:
                continue
            share = sum(above for _, above in blocks) / sum(size for size, _ in blocks)
            for size, above in blocks:
                deviation = np.sqrt(size * share * (1.0 - share))
                far = np.abs(above - size * share) / np.where(deviation > 0.0, deviation, math.inf)
                worst = max(worst, float(far.max()))
        return worst

    def notes(self) -> tuple[str, ...]:
        """Say what was found."""
        far = self.farthest()
        if far <= FAR:
            return ()
        if self._batched:
            raise AuditError(
                f"mechanism: its batches differ from each other by {far:.3g} standard deviations: "
                "must return independent outputs, each with noise of its own"
            )
        return (
            f"calls are not alike: blocks of them differ by {far:.3g} standard deviations; noise is shared, or drifts",
        )
