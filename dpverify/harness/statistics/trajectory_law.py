"""The judge of whole trajectories: does a kernel's noise follow its exact Gaussian law over all steps at once?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import special  # scipy.stats would take a third of a second to load

from dpverify.harness.context import Context
from dpverify.harness.statistics.effects import Effect
from dpverify.harness.statistics.mean_judges import Judgement, PlantedFault, Sample
from dpverify.harness.statistics.pieces import Floats, Pieces
from dpverify.harness.statistics.trajectory_sums import Pairs, TrajectoryStatistics, collect, simulated_variance
from dpverify.harness.statistics.trajectory_tests import TrajectoryEffect, trajectory_tests
from dpverify.harness.statistics.whitening import whitening

FIGURE = "noise-variance"


@dataclass(frozen=True)
class TrajectoryLaw:
    """Judge of samples of shape (n, T, d): d iid coordinates, each N(0, covariance) over the T steps."""

    covariance: Callable[[Context], Floats]  # the exact one, (T, T), in squared units of the trajectory
    printed: Callable[[Context], Floats] | None = None  # the paper's variance, and ours, (T,), for the figure only
    corrected: Callable[[Context], Floats] | None = None
    # How pairs of steps are compared. Opposite signs take 2.5 times the replications that inner products take to see a
    # correlation, and, of a thousand steps, a twentieth of the time of each.
    pairs: Pairs = "products"
    # Part of each drawn piece, its first replications, that is counted for the marginal law, in (0, 1].
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got share={self.share}.")
        if self.pairs not in get_args(Pairs):
            raise ValueError(f"pairs must be one of {', '.join(get_args(Pairs))}, got pairs={self.pairs!r}.")

    def collect(self, context: Context, sample: Sample | Pieces) -> TrajectoryStatistics:
        """Whiten one block by the covariance and sum it up."""
        return collect(whitening(self.covariance(context)), sample, pairs=self.pairs, share=self.share)

    def decide(self, context: Context, statistics: TrajectoryStatistics, alpha: float) -> Judgement:
        """Say which test is against the law; ``alpha`` is the chance that any is where the law holds."""
        outcomes = trajectory_tests(statistics, alpha)
        against = sorted((o for o in outcomes if o.refuted), key=lambda o: o.p_value)
        if against:
            words = f"{against[0].name}: {against[0].detail}, p = {against[0].p_value:.2g}"
            if other_tests := ", ".join(o.name for o in against[1:]):
                words += f"; and by {other_tests}"
        else:
            nearest = min(outcomes, key=lambda o: o.p_value)
            words = f"{len(outcomes)} exact tests agree; nearest: {nearest.name}: {nearest.detail}"
            words += f", p = {nearest.p_value:.2g}"
        return Judgement(
            "disagrees" if against else "agrees", words, figures={FIGURE: self._columns(context, statistics)}
        )

    def _columns(self, context: Context, statistics: TrajectoryStatistics) -> dict[str, list[float]]:
        """Give the columns of the figure; the band holds each true variance with a chance of 99%."""
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
        """Faults of the declared sizes of a :class:`TrajectoryEffect`, each put into a sample of the check's own."""
        if not isinstance(effect, TrajectoryEffect):
            raise TypeError(f"effect of a TrajectoryLaw must be a TrajectoryEffect, got {type(effect).__name__}.")
        if effect.pairs != self.pairs:
            raise ValueError(f"pairs of the effect and of the judge must agree, got {effect.pairs} and {self.pairs}.")
        faults = []
        if (scale := effect.scale) is not None:
            fault = f"all standard deviations times {scale:g}"
            faults.append(PlantedFault("scale", fault, lambda _context, sample, _rng: sample * scale))
        if (row_scale := effect.row_scale) is not None:
            fault = f"the standard deviation of the last whitened step times {row_scale:g}"
            faults.append(PlantedFault("row scale", fault, lambda c, s, _: self._mix_last(c, s, row_scale, 0.0)))
        if (r := effect.correlation) is not None:
            fault = f"the first and the last whitened step with correlation {r:g}"
            keep = math.sqrt(1.0 - r * r)
            faults.append(PlantedFault("correlation", fault, lambda c, s, _: self._mix_last(c, s, keep, r)))
        return faults

    def true_neighbour(self, context: Context, statistics: TrajectoryStatistics) -> None:
        """None: a law that is not followed is a disagreement of our sources."""

    def _mix_last(self, context: Context, sample: Sample, keep: float, add: float) -> Sample:
        """Replace the last whitened row by ``keep`` times itself and ``add`` times the first."""
        by = whitening(self.covariance(context))
        change = (keep - 1.0) * by.step(sample, -1 % len(by.factor)) + add * by.step(sample, 0)
        faulty = sample.copy()
        faulty[:, -1, :] += by.factor[-1, -1] * change
        return faulty
