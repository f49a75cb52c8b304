"""The faults of a trajectory that a check must detect, and the plan that detects them.

A fault shows first in the row, one per step, at which it enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpverify.harness.checks import Context
from dpverify.harness.statistics.effects import (
    Plan,
    correlation_power,
    opposite_signs_power,
    scale_power,
)
from dpverify.harness.statistics.trajectory_sums import Pairs

SHARE = 1.0 / 7.0  # part of alpha for each of the seven tests
SECONDS_PER_PAIR = {"products": 2e-11, "signs": 2e-12}
"""Approximate core seconds per pair of values of two steps: a product in a large matrix product, or one bit."""
SECONDS_PER_NUMBER = 3e-8  # for drawing and whitening a number; more than measured


@dataclass(frozen=True)
class TrajectoryEffect:
    """Faults of a trajectory that must be detected, each at every place."""

    rows: int  # steps T
    columns: int  # coordinates d
    scale: float | None = None  # factor of all standard deviations
    # factor of the standard deviation of one whitened row
    row_scale: float | None = None
    correlation: float | None = None  # correlation of one pair of whitened rows
    pairs: Pairs = "products"  # how pairs are compared; the same as in the judge

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ValueError(
                f"rows and columns must be at least 1, got rows={self.rows}, columns={self.columns}."
            )
        if self.scale is None and self.row_scale is None and self.correlation is None:
            raise ValueError(
                "an effect must declare scale, row_scale or correlation, got none of them."
            )
        for name, value in (("scale", self.scale), ("row_scale", self.row_scale)):
            if value is not None and (value <= 0.0 or value == 1.0):
                raise ValueError(
                    f"{name} must be above 0 and not 1, got {name}={value}."
                )
        if self.correlation is not None and (
            not abs(self.correlation) < 1.0 or self.correlation == 0.0
        ):
            raise ValueError(
                f"correlation must lie in (-1, 1) and not be 0, got correlation={self.correlation}."
            )
        if self.correlation is not None and self.rows < 2:
            raise ValueError(
                f"correlation needs at least 2 rows, got rows={self.rows}."
            )

    @property
    def text(self) -> str:
        """Description of the faults."""
        parts = []
        if self.scale is not None:
            parts.append(f"all standard deviations times {self.scale:g}")
        if self.row_scale is not None:
            parts.append(
                f"the standard deviation of one whitened step times {self.row_scale:g}"
            )
        if self.correlation is not None:
            parts.append(
                f"one pair of whitened steps with correlation {self.correlation:g}"
            )
        return ", or ".join(parts)

    @property
    def values(self) -> int:
        """Number of floats of one replication."""
        return self.rows * self.columns

    @property
    def seconds(self) -> float:
        """Approximate core seconds of one replication, including whitening and the comparison of all steps."""
        return (
            SECONDS_PER_NUMBER + SECONDS_PER_PAIR[self.pairs] * self.rows
        ) * self.values

    def power(self, n: int, alpha: float) -> float:
        """Return the smallest power against the declared faults, each with the test that is made for it."""
        part = alpha * SHARE
        powers = []
        if self.scale is not None:
            powers.append(scale_power(self.scale, n * self.values, part))
        if self.row_scale is not None:
            powers.append(
                scale_power(self.row_scale, n * self.columns, part / self.rows)
            )
        if self.correlation is not None:
            power = (
                correlation_power if self.pairs == "products" else opposite_signs_power
            )
            powers.append(
                power(
                    self.correlation,
                    n * self.columns,
                    part / (self.rows * (self.rows - 1) // 2),
                )
            )
        return min(powers)


@dataclass(frozen=True)
class DetectableFaults:
    """The smallest faults that a check must detect."""

    correlation: float  # of one pair of whitened steps
    # factors of the deviation of one whitened step, and of all deviations
    row_scale: float
    scale: float


def shape(context: Context) -> tuple[int, int]:
    """Return T and d."""
    return int(context.point["T"]), int(context.point["d"])


def plan_to_detect(
    smoke: DetectableFaults,
    larger_budgets: DetectableFaults,
    pairs: Pairs = "products",
    *,
    block: int | None = None,
) -> Callable[[Context], Plan]:
    """Return a plan that detects given faults, smaller ones outside smoke runs."""

    def sized(context: Context) -> Plan:
        sizes = smoke if context.budget.name == "smoke" else larger_budgets
        effect = TrajectoryEffect(
            *shape(context),
            scale=sizes.scale,
            row_scale=sizes.row_scale,
            correlation=sizes.correlation,
            pairs=pairs,
        )
        return Plan(effect, block=block)

    return sized
