"""A Monte-Carlo check's plan: what it must see and how many replications that takes, fixed before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dpverify.harness.statistics.effects import Effect, smallest_sample

FLOATS_PER_BLOCK = 1 << 22
"""Floats of one replication block: 32 MB, whatever n is."""


@dataclass(frozen=True)
class Plan:
    """How a Monte-Carlo check will be run.

    The power is 0.9999, so that a control at exactly the declared size is missed in one run of ten thousand and not
    in one of a hundred; that costs 1.4 times the replications of 0.99.
    """

    effect: Effect  # the smallest fault that must be seen
    alpha: float = 1e-6  # chance of refuting a true statement
    power: float = 0.9999  # chance of seeing the effect, at least 0.99
    # Core seconds of one replication. Declared and not measured: what is drawn must not depend on the clock.
    seconds_each: float | None = None
    block: int | None = None  # replications of one block; by default as many as fit in 32 MB

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie in (0, 1), got alpha={self.alpha}.")
        if not 0.99 <= self.power < 1.0:
            raise ValueError(f"power must lie in [0.99, 1), got power={self.power}.")
        if self.block is not None and self.block < 1:
            raise ValueError(f"block must be at least 1, got block={self.block}.")
        if self.seconds_each is not None and not self.seconds_each > 0.0:
            raise ValueError(f"seconds_each must be above 0, got seconds_each={self.seconds_each}.")

    @cached_property
    def n(self) -> int:
        """Replications, from the effect, alpha and the power."""
        return smallest_sample(self.effect, self.alpha, self.power)

    @cached_property
    def reached_power(self) -> float:
        """Power that n replications have (a lower bound where the exact value is not known)."""
        return self.effect.power(self.n, self.alpha)

    @cached_property
    def block_size(self) -> int:
        """Replications of one block."""
        return min(self.n, self.block or max(1, FLOATS_PER_BLOCK // self.effect.values))

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n // self.block_size)

    def size_of(self, block: int) -> int:
        """Replications of one block, counted from 0; the last may be smaller."""
        return min(self.block_size, self.n - block * self.block_size)

    def seconds(self, runs: int) -> float:
        """Core seconds the plan is declared to take where the sample is drawn so often: once, and once per control."""
        return (self.seconds_each or self.effect.seconds) * self.n * runs
