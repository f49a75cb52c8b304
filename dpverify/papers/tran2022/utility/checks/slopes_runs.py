"""Runs from which exponents are read: Theorems 6 and 9 at G = L = R = 1, on a slope steep for each size.

``identical examples, slope s = c sqrt(N/T) down to the distance D with s D + s^2/2 = 1``. With a small c the run cannot
leave the slope, with a large one it leaves early; in between, where the privacy noise lets about half of the runs
through, the mean gradient is largest. That c hardly depends on the size, because the noise is proportional to sqrt(N/T)
as well, up to logarithms: 2.5 for Algorithm 1, about 24 for Algorithm 2. There runs differ much from each other, so 8
is taken, where the noise holds nearly all of them back (NOTES_utility_simulation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpverify.kernels.tape import Seed
from dpverify.papers.tran2022.accounting.onset import Cell, Theorem, corrected_parts, steps_of
from dpverify.papers.tran2022.accounting.theorem_parameters import theorem_6, theorem_9
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.slopes.reduced_runs import reduced_slope_run
from dpverify.papers.tran2022.algorithms.slopes.runs import slope_run
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import proof_scales
from dpverify.problems.worst_slope import Slope

DELTA: Final = 1e-6
"""The delta of a Cell, if nothing else is said."""

STEEPNESS: Final[Mapping[Theorem, float]] = {"theorem-6": 2.5, "theorem-9": 8.0}
"""c."""


@dataclass(frozen=True)
class Size:
    """Where a theorem is simulated; delta = 10^-6."""

    examples: int  # N
    dimension: int = 1  # d
    epsilon: float = 10.0  # privacy asked for

    @property
    def cell(self) -> Cell:
        """The same without N."""
        return Cell(self.dimension, self.epsilon)

    def steps(self, theorem: Theorem) -> int:
        """Printed T, rounded down."""
        return steps_of(theorem, self.examples, self.cell)

    def unit(self, theorem: Theorem) -> float:
        """``sqrt(N/T)``: the rate that is claimed, with its logarithms."""
        return math.sqrt(self.examples / self.steps(theorem))

    def bound(self, theorem: Theorem) -> float:
        """Right side of the corrected theorem at G = L = R = 1."""
        return sum(corrected_parts(theorem, self.examples, self.cell))


def worst_slope(theorem: Theorem, size: Size) -> Slope:
    """Make the problem of a size. With G at most 1, L = 1 and R = 1."""
    slope = STEEPNESS[theorem] * size.unit(theorem)
    if slope > 1.0:
        raise ValueError(f"slope must be at most G = 1, got slope={slope:.3g} at {size}.")
    return Slope(size.examples, size.dimension, slope, (1.0 - slope**2 / 2.0) / slope, 1.0)


def mean_gradient(theorem: Theorem, size: Size, seed: Seed) -> float:
    """Run the theorem's algorithm on the worst slope; Algorithm 2 has the noise of the proof's sensitivities."""
    N, steps, root = size.examples, size.steps(theorem), math.sqrt(math.log(1.0 / DELTA))
    problem = worst_slope(theorem, size)
    if theorem == "theorem-6":
        p = theorem_6(N, size.dimension, size.epsilon, DELTA, steps)
        sigma = 2.0 * root / size.epsilon
        return slope_run(problem, Parameters(steps, min(1.0, p.alpha), p.eta, sigma, 1.0), seed).gradient
    p = theorem_9(N, size.dimension, size.epsilon, DELTA, steps)
    scales = proof_scales(N, steps, eta=p.eta, lipschitz=1.0, smoothness=1.0)
    sigma = 4.0 * root / size.epsilon
    parameters = SrParameters(steps, min(1.0, p.alpha), p.gamma, p.eta, sigma, 1.0, "fresh", scales)
    return reduced_slope_run(problem, parameters, seed).gradient


def seconds(theorem: Theorem, size: Size) -> float:
    """Core seconds of one run: measured, and a fifth more."""
    each = 12.0 + 5.0 * size.dimension if theorem == "theorem-6" else 600.0 + 30.0 * size.dimension
    return 1e-9 * each * size.steps(theorem)
