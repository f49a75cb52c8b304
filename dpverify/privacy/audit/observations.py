"""What is noticed besides the bound: blocks that differ (noise is shared, or drifts), and what a Gaussian law gives."""

from __future__ import annotations

import math

import numpy as np

from dpverify.privacy.audit.gaussian import bound_mu
from dpverify.privacy.audit.moments import LEAST, Sides, added, check_law
from dpverify.privacy.audit.records import AuditError, Floats
from dpverify.privacy.gaussian import epsilon_of

COORDINATES = 8  # coordinates that are looked at, at most

FAR = 8.0  # standard deviations that count as too far; independent draws get there once in 10^14

FEWEST = 30  # outputs on one data set that a block needs to be looked at

DIMENSIONS = 100  # numbers in an output, at most, for a hint


class BlockSpread:
    """Counts, by block, outputs above the first block's median; ``batched`` ones must be independent for a bound."""

    def __init__(self, batched: bool) -> None:
        self._batched = batched
        self._medians: tuple[Floats, Floats] | None = None
        # of each block on each data set: how many outputs, and how many of them lie above the median
        self._counts: tuple[list[tuple[int, Floats]], list[tuple[int, Floats]]] = [], []

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block."""
        if min(len(low), len(high)) < FEWEST:
            return
        low = low[:, :COORDINATES]
        high = high[:, :COORDINATES]
        if self._medians is None:
            self._medians = np.median(low, axis=0), np.median(high, axis=0)
        for which, rows in enumerate((low, high)):
            columns = zip(rows.T, self._medians[which], strict=True)  # along an axis it takes ten times as long
            above = np.array([float(np.count_nonzero(column > median)) for column, median in columns])
            self._counts[which].append((len(rows), above))

    def farthest(self) -> float:
        """Largest distance of a block's share above the median from the mean, in standard deviations; else 0."""
        worst = 0.0
        for blocks in self._counts:
            if len(blocks) < 2:
                continue
            sizes = np.array([size for size, _ in blocks])[:, None]
            above = np.array([count for _, count in blocks])
            share = above.sum(axis=0) / sizes.sum()
            deviation = np.sqrt(sizes * share * (1.0 - share))
            far = np.abs(above - sizes * share) / np.where(deviation > 0.0, deviation, math.inf)
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


class Hint:
    """Moments of the outputs of a game, on each data set."""

    def __init__(self) -> None:
        self._sides: Sides | None = None

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block of outputs, shape (m, d), on each data set."""
        if low.shape[1] > DIMENSIONS or min(len(low), len(high)) == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            self._sides = added(self._sides, low, high)

    def notes(self, delta: float, alpha: float, claimed: float | None) -> tuple[str, ...]:
        """Say what the law "gaussian" would give; empty where outputs contradict it or are too few."""
        if self._sides is None or min(side.count for side in self._sides) < LEAST:
            return ()
        if not all(np.isfinite(side.fourth).all() and np.isfinite(side.products).all() for side in self._sides):
            return ()
        try:
            check_law(*self._sides)
        except AuditError:
            return ()
        mu = bound_mu(*self._sides, alpha).mu
        if not 0.0 < mu < math.inf:
            return ()
        epsilon = epsilon_of(mu, delta)
        text = f"outputs do not contradict a Gaussian law; if that is given, epsilon >= {epsilon:.4g}"
        if claimed is not None and epsilon > claimed:
            return (f"{text}, which is more than is claimed: nothing is decided here, the law 'gaussian' judges it",)
        return (f"{text} (see the law 'gaussian')",)
