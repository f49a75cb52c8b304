"""The judge of whole trajectories: it tests whether a kernel's noise follows its exact Gaussian law over all steps.

The judge whitens trajectories by the exact covariance. Their rows, one per step, are then iid standard normal vectors,
whose lengths, inner products, signs, sums and values have exact laws. Seven exact tests share alpha. A fault shows
first in the row at which it enters. Runs of noise have the shape (T, d). A plan states which faults must be detected.
Runs are drawn in pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats would take a third of a second to load

from dpverify.harness.checks import Context
from dpverify.harness.statistics.effects import (
    Effect,
    Plan,
    correlation_power,
    opposite_signs_power,
    scale_power,
)
from dpverify.harness.statistics.exact_tests import (
    TestOutcome,
    distribution_test,
    normal_test,
    opposite_signs_test,
    pair_scores,
    scale_test,
)
from dpverify.harness.statistics.mean_judges import Judgement, PlantedFault, Sample
from dpverify.harness.statistics.pieces import Floats, Pieces, drawn_in_pieces
from dpverify.harness.statistics.trajectory_sums import (
    GRID_CDF,
    Pairs,
    TrajectoryStatistics,
    collect,
    simulated_variance,
    whitening,
)

SHARE = 1.0 / 7.0  # part of alpha for each of the seven tests
SECONDS_PER_PAIR = {"products": 2e-11, "signs": 2e-12}
"""Approximate core seconds per pair of values of two steps: a product in a large matrix product, or one bit."""
SECONDS_PER_NUMBER = 3e-8  # for drawing and whitening a number; more than measured


def trajectory_tests(
    statistics: TrajectoryStatistics, alpha: float
) -> list[TestOutcome]:
    """Run all seven tests. A test of pairs is omitted if there is only one step or coordinate."""
    steps, d = statistics.sums.shape
    n = statistics.n
    part = alpha * SHARE
    step_lengths = statistics.lengths.sum(axis=1)
    coordinate_lengths = statistics.lengths.sum(axis=0)
    means = statistics.sums.ravel() / np.sqrt(n)
    outcomes = [
        scale_test(
            "scale of all",
            np.array([step_lengths.sum()]),
            n * d * steps,
            part,
            lambda _: "all steps together",
        ),
        scale_test(
            "scale of a step", step_lengths, n * d, part, lambda i: f"t={i + 1}"
        ),
        scale_test(
            "scale of a coordinate",
            coordinate_lengths,
            n * steps,
            part,
            lambda i: f"coordinate {i + 1}",
        ),
        normal_test(
            "mean", means, part, lambda i: f"t={i // d + 1}, coordinate {i % d + 1}"
        ),
    ]
    if steps > 1:
        outcomes.append(
            _pairs(
                "pair of steps", "t", statistics.gram, statistics.opposite, n * d, part
            )
        )
    if d > 1:
        products = statistics.coordinates
        opposite = statistics.opposite_coordinates
        outcomes.append(
            _pairs(
                "pair of coordinates", "coordinate", products, opposite, n * steps, part
            )
        )
    outcomes.append(
        distribution_test("marginal law", statistics.counts, GRID_CDF, part)
    )
    return outcomes


def _pairs(
    name: str,
    what: str,
    products: Floats | None,
    opposite: NDArray[np.int64] | None,
    values: int,
    alpha: float,
) -> TestOutcome:
    """Test pairs of rows with ``values`` values each, by inner products or by opposite signs."""
    if products is not None:
        scores, first, second = pair_scores(products)
        return normal_test(
            name,
            scores,
            alpha,
            lambda i: f"{what} {first[i] + 1} and {what} {second[i] + 1}",
        )
    if opposite is None:
        raise ValueError(
            f"{name}: statistics must have inner products or opposite signs, got neither."
        )

    def label(place: int) -> str:
        later = (math.isqrt(8 * place + 1) + 1) // 2
        return f"{what} {place - later * (later - 1) // 2 + 1} and {what} {later + 1}"

    return opposite_signs_test(name, opposite, values, alpha, label)


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


Simulate = Callable[[Context, np.random.Generator, int], Pieces]


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


def run_by_run(draw: Callable[[Context, np.random.Generator, Any], None]) -> Simulate:
    """Simulate runs with a kernel that fills one run at a time and draws with the library's generator."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Pieces:
        def fill(runs: Any) -> None:
            for run in runs:
                draw(context, rng, run)

        return drawn_in_pieces(size, shape(context), fill)

    return simulate


FIGURE = "noise-variance"


@dataclass(frozen=True)
class TrajectoryLaw:
    """Judge samples of shape (n, T, d): d iid coordinates, each N(0, covariance) over the T steps."""

    # the exact covariance, (T, T), in squared units of the trajectory
    covariance: Callable[[Context], Floats]
    # the paper's and our variance, (T,), only for the figure
    printed: Callable[[Context], Floats] | None = None
    corrected: Callable[[Context], Floats] | None = None
    # How pairs of steps are compared. To detect a correlation, opposite signs need 2.5
    # times as many replications as inner products. With a thousand steps, each
    # replication takes a twentieth of the time.
    pairs: Pairs = "products"
    # Share of the replications of each piece, from its start, that is counted for the
    # marginal law, in (0, 1].
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got share={self.share}.")
        if self.pairs not in get_args(Pairs):
            raise ValueError(
                f"pairs must be one of {', '.join(get_args(Pairs))}, got pairs={self.pairs!r}."
            )

    def collect(
        self, context: Context, sample: Sample | Pieces
    ) -> TrajectoryStatistics:
        """Whiten one block by the covariance and return its sums."""
        return collect(
            whitening(self.covariance(context)),
            sample,
            pairs=self.pairs,
            share=self.share,
        )

    def decide(
        self, context: Context, statistics: TrajectoryStatistics, alpha: float
    ) -> Judgement:
        """Decide which tests contradict the law.

        ``alpha`` is the probability that any test does so if the law holds.
        """
        outcomes = trajectory_tests(statistics, alpha)
        refuting = sorted((o for o in outcomes if o.refuted), key=lambda o: o.p_value)
        if refuting:
            words = f"{refuting[0].name}: {refuting[0].detail}, p = {refuting[0].p_value:.2g}"
            if other_tests := ", ".join(o.name for o in refuting[1:]):
                words += f"; and by {other_tests}"
        else:
            nearest = min(outcomes, key=lambda o: o.p_value)
            words = f"{len(outcomes)} exact tests agree; nearest: {nearest.name}: {nearest.detail}"
            words += f", p = {nearest.p_value:.2g}"
        return Judgement(
            "disagrees" if refuting else "agrees",
            words,
            figures={FIGURE: self._columns(context, statistics)},
        )

    def _columns(
        self, context: Context, statistics: TrajectoryStatistics
    ) -> dict[str, list[float]]:
        """Return the columns of the figure. The band contains each true variance with a probability of 99%."""
        simulated = np.array(simulated_variance(statistics))
        freedom = statistics.n * statistics.sums.shape[1]
        columns = {
            "x": np.arange(1.0, statistics.squares.size + 1.0),
            "exact": np.diag(self.covariance(context)),
            "simulated": simulated,
            "low": simulated * freedom / special.chdtri(freedom, 0.005),
            "high": simulated * freedom / special.chdtri(freedom, 0.995),
        }
        for name, bound in (("printed", self.printed), ("corrected", self.corrected)):
            if bound is not None:
                columns[name] = np.asarray(bound(context), dtype=np.float64)
        return {name: column.tolist() for name, column in columns.items()}

    def planted(self, context: Context, effect: Effect) -> Sequence[PlantedFault]:
        """Return the faults of a :class:`TrajectoryEffect`, each put into a sample of the check's own kernel."""
        if not isinstance(effect, TrajectoryEffect):
            raise TypeError(
                f"effect of a TrajectoryLaw must be a TrajectoryEffect, got {type(effect).__name__}."
            )
        if effect.pairs != self.pairs:
            raise ValueError(
                f"pairs of the effect and of the judge must agree, got {effect.pairs} and {self.pairs}."
            )
        faults = []
        if (scale := effect.scale) is not None:
            fault = f"all standard deviations times {scale:g}"
            faults.append(
                PlantedFault(
                    "scale", fault, lambda _context, sample, _rng: sample * scale
                )
            )
        if (row_scale := effect.row_scale) is not None:
            fault = (
                f"the standard deviation of the last whitened step times {row_scale:g}"
            )
            faults.append(
                PlantedFault(
                    "row scale",
                    fault,
                    lambda c, s, _: self._mix_last(c, s, row_scale, 0.0),
                )
            )
        if (r := effect.correlation) is not None:
            fault = f"the first and the last whitened step with correlation {r:g}"
            keep = math.sqrt(1.0 - r * r)
            faults.append(
                PlantedFault(
                    "correlation", fault, lambda c, s, _: self._mix_last(c, s, keep, r)
                )
            )
        return faults

    def true_neighbour(
        self, context: Context, statistics: TrajectoryStatistics
    ) -> None:
        """Return None: a kernel that does not follow its law is a disagreement of our sources."""

    def _mix_last(
        self, context: Context, sample: Sample, keep: float, add: float
    ) -> Sample:
        """Replace the last whitened row by ``keep`` times itself plus ``add`` times the first row."""
        by = whitening(self.covariance(context))
        change = (keep - 1.0) * by.step(sample, -1 % len(by.factor)) + add * by.step(
            sample, 0
        )
        faulty = sample.copy()
        faulty[:, -1, :] += by.factor[-1, -1] * change
        return faulty
