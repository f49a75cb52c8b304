"""The judge of whole trajectories: it tests whether a kernel's noise follows its exact Gaussian law over all steps.

The judge whitens trajectories by the exact covariance. Their rows, one per step, are then iid standard normal
vectors, whose lengths, inner products, signs, sums and values have exact laws. Seven exact tests share alpha. Runs of
noise have the shape (T, d), and are drawn in pieces. The plan in ``trajectory_effects`` states which faults must be
detected.
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
from dpverify.harness.statistics.effects import Effect
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
from dpverify.harness.statistics.trajectory_effects import (
    SHARE,
    TrajectoryEffect,
    shape,
)
from dpverify.harness.statistics.trajectory_sums import (
    GRID_CDF,
    Pairs,
    TrajectoryStatistics,
    collect,
    simulated_variance,
    whitening,
)


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


Simulate = Callable[[Context, np.random.Generator, int], Pieces]


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
