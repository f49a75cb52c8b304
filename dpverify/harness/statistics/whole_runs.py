"""Whole runs of noise, of shape (T, d), held against the exact law of all steps jointly: what to see, how to draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.harness.context import Context
from dpverify.harness.statistics.effects import Plan
from dpverify.harness.statistics.pieces import Pieces, drawn_in_pieces
from dpverify.harness.statistics.trajectory_sums import Pairs
from dpverify.harness.statistics.trajectory_tests import TrajectoryEffect

Simulate = Callable[[Context, np.random.Generator, int], Pieces]


@dataclass(frozen=True)
class Seen:
    """Smallest faults that a check must see."""

    correlation: float  # of one pair of whitened steps
    row_scale: float  # how many times too large the deviation of one whitened step, or of all, may be
    scale: float


def shape(context: Context) -> tuple[int, int]:
    """T and d."""
    return int(context.point["T"]), int(context.point["d"])


def plan_to_see(
    smoke: Seen, otherwise: Seen, pairs: Pairs = "products", *, block: int | None = None
) -> Callable[[Context], Plan]:
    """Plan to see faults, smaller ones outside smoke runs."""

    def sized(context: Context) -> Plan:
        sizes = smoke if context.budget.name == "smoke" else otherwise
        effect = TrajectoryEffect(
            *shape(context), scale=sizes.scale, row_scale=sizes.row_scale, correlation=sizes.correlation, pairs=pairs
        )
        return Plan(effect, block=block)

    return sized


def run_by_run(draw: Callable[[Context, np.random.Generator, Any], None]) -> Simulate:
    """Simulate runs with a kernel that fills one run at a time and draws by the library."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Pieces:
        def fill(runs: Any) -> None:
            for run in runs:
                draw(context, rng, run)

        return drawn_in_pieces(size, shape(context), fill)

    return simulate
