"""What section 6.1 says of the order of the methods, each a verdict on the data at hand, with intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpverify.compare.page import corrected_level
from dpverify.compare.records import MeanInterval, interval
from dpverify.compare.tables.records import ClaimedOrder, MethodRow, Seen
from dpverify.compare.tables.settings import EPSILONS, NOISES

BASELINES = ("dp-gd", "dp-agd", "rrpsgd")
BESIDES = "not claimed: against DP-SGD"

CLAIMS = {
    "section-6-1-order-objective": ("loss",),
    "section-6-1-order-gradient-norm": ("gradient_norm",),
    "section-6-1-order-convergence": ("loss_at_equal_passes",),
    "section-6-1-order-test-error": ("test_error", "test_loss"),
    "section-6-1-order-cpu-time": ("seconds",),
}
"""Records of wang2019, and the columns that decide them; test_loss too, since the printed errors look like losses."""


def orderings(rows: Sequence[MethodRow]) -> list[ClaimedOrder]:
    """Judge DP-SRM against every baseline, and DP-SGD besides, at the same noise and epsilon; all of them together."""
    row_of = {(row.method, row.noise, row.epsilon): row for row in rows}
    comparisons = [
        (claim, column, baseline) for claim, columns in CLAIMS.items() for column in columns for baseline in BASELINES
    ]
    comparisons += [(BESIDES, column, "dp-sgd") for columns in CLAIMS.values() for column in columns]
    level = corrected_level(len(comparisons) * len(NOISES) * len(EPSILONS))
    return [
        _ordering(claim, column, row_of["dp-srm", noise, epsilon], row_of[baseline, noise, epsilon], level)
        for epsilon in EPSILONS
        for noise in NOISES
        for claim, column, baseline in comparisons
    ]


def _ordering(claim: str, column: str, mine: MethodRow, theirs: MethodRow, level: float) -> ClaimedOrder:
    pairs = zip(_values(mine, column, mine.passes), _values(theirs, column, mine.passes), strict=True)
    difference = interval([a - b for a, b in pairs], level)
    return ClaimedOrder(
        claim=claim,
        noise=mine.noise,
        epsilon=mine.epsilon,
        column=column,
        other=theirs.method,
        difference=difference,
        seen=judged(difference),
    )


def judged(difference: MeanInterval) -> Seen:
    """The smaller is the better: as claimed where the whole interval is below 0."""
    return {"lower": "as claimed", "higher": "the other way round"}.get(difference.seen, "no difference seen")  # type: ignore[return-value]  # a literal each


def _values(row: MethodRow, column: str, passes: int) -> list[float]:
    """A column by seed; ``loss_at_equal_passes`` is the objective after as many passes, between two looks a line."""
    if column != "loss_at_equal_passes":
        return [float(getattr(run, column)) for run in row.runs]
    return [line([(x, loss) for x, loss, _ in run.path], float(passes)) for run in row.runs]


def line(points: Sequence[tuple[float, float]], x: float) -> float:
    """Read a broken line at x, which is constant beyond its ends."""
    if not points:
        return math.nan
    before = [point for point in points if point[0] <= x] or [points[0]]
    after = [point for point in points if point[0] >= x] or [points[-1]]
    (x0, y0), (x1, y1) = before[-1], after[0]
    return y0 if x1 <= x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
