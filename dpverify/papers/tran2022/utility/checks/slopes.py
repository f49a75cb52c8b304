"""Exponents of Theorems 6 and 9 in N, d and epsilon, from simulation with intervals and from the bounds.

Runs have G = L = R = 1 and identical examples, with the slope s = c sqrt(N/T) down to the distance D with
``s D + s^2/2 = 1``. The mean gradient is largest where the noise lets about half of the runs leave the slope: c = 2.5
for Algorithm 1 and about 24 for Algorithm 2. Runs of Algorithm 2 differ much at 24, so c = 8 is used
(NOTES_utility_simulation.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from dpverify.harness import PaperChecks
from dpverify.harness.simulation.slopes_check import (
    ROUNDING,
    Simulated,
    SlopesCheck,
    Sweeps,
)
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.noise import theorem_6, theorem_9
from dpverify.papers.tran2022.accounting.onset import (
    Cell,
    Theorem,
    corrected_parts,
    printed_bound,
    steps_of,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.scales import proof_scales
from dpverify.papers.tran2022.algorithms.slope_runs import reduced_slope_run, slope_run
from dpverify.problems.worst_slope import Slope

DELTA: Final = 1e-6  # The default delta of a Cell.

STEEPNESS: Final[Mapping[Theorem, float]] = {"theorem-6": 2.5, "theorem-9": 8.0}  # c.


@dataclass(frozen=True)
class Size:
    """Size of a simulation of a theorem, with delta = 10^-6."""

    examples: int  # N
    dimension: int = 1  # d
    epsilon: float = 10.0  # requested privacy

    @property
    def cell(self) -> Cell:
        """The cell with this d and epsilon."""
        return Cell(self.dimension, self.epsilon)

    def steps(self, theorem: Theorem) -> int:
        """Return the printed T, rounded down."""
        return steps_of(theorem, self.examples, self.cell)

    def unit(self, theorem: Theorem) -> float:
        """Return ``sqrt(N/T)``, the claimed rate with its logarithms."""
        return math.sqrt(self.examples / self.steps(theorem))

    def bound(self, theorem: Theorem) -> float:
        """Return the right side of the corrected theorem at G = L = R = 1."""
        return sum(corrected_parts(theorem, self.examples, self.cell))


def worst_slope(theorem: Theorem, size: Size) -> Slope:
    """Return the problem of a size, with G at most 1, L = 1 and R = 1."""
    slope = STEEPNESS[theorem] * size.unit(theorem)
    if slope > 1.0:
        raise ValueError(
            f"slope must be at most G = 1, got slope={slope:.3g} at {size}."
        )
    return Slope(
        size.examples, size.dimension, slope, (1.0 - slope**2 / 2.0) / slope, 1.0
    )


def mean_gradient(theorem: Theorem, size: Size, seed: Seed) -> float:
    """Run the theorem's algorithm on the worst slope; Algorithm 2 has the noise of the proof's sensitivities."""
    N = size.examples
    steps = size.steps(theorem)
    root = math.sqrt(math.log(1.0 / DELTA))
    problem = worst_slope(theorem, size)
    if theorem == "theorem-6":
        p = theorem_6(N, size.dimension, size.epsilon, DELTA, steps)
        sigma = 2.0 * root / size.epsilon
        return slope_run(
            problem, Parameters(steps, min(1.0, p.alpha), p.eta, sigma, 1.0), seed
        ).gradient
    p = theorem_9(N, size.dimension, size.epsilon, DELTA, steps)
    scales = proof_scales(N, steps, eta=p.eta, lipschitz=1.0, smoothness=1.0)
    sigma = 4.0 * root / size.epsilon
    parameters = SrParameters(
        steps, min(1.0, p.alpha), p.gamma, p.eta, sigma, 1.0, "fresh", scales
    )
    return reduced_slope_run(problem, parameters, seed).gradient


def seconds(theorem: Theorem, size: Size) -> float:
    """Return the core seconds of one run: a measured value plus a fifth."""
    nanoseconds = (
        12.0 + 5.0 * size.dimension
        if theorem == "theorem-6"
        else 600.0 + 30.0 * size.dimension
    )
    return 1e-9 * nanoseconds * size.steps(theorem)


CHECKS = PaperChecks("tran2022", __name__)

ASYMPTOTIC: Mapping[Theorem, Mapping[str, float]] = {
    "theorem-6": {"N": -1 / 2, "d": 1 / 4, "epsilon": -1 / 2},
    "theorem-9": {"N": -2 / 3, "d": 1 / 3, "epsilon": -2 / 3},
}
"""Exponents of the first term of the rates. The second term, 1/sqrt(N), is smaller at all tested sizes."""


def _terms(
    theorem: Theorem, sweeps: Sweeps[Size], gradient_norms: Mapping[str, Vector]
) -> str:
    """Return a text: the dominant term of the bound at the largest N, and the ratio of bound and runs."""
    largest = sweeps["N"][-1]
    noise_free, noise = corrected_parts(theorem, largest.examples, largest.cell)
    last = 2.0 / np.sqrt(2 * largest.examples - 1) if theorem == "theorem-6" else 0.0
    ratios = [
        size.bound(theorem) / gradient_norms["N"][:, place].mean()
        for place, size in enumerate(sweeps["N"])
    ]
    vacuous = sum(size.bound(theorem) >= 1.0 for size in sweeps["N"])
    trivial = (
        f", and above the trivial bound G at {vacuous} of {len(ratios)} sizes"
        if vacuous
        else ""
    )
    fixed = [
        bool(
            (
                gradient_norms[name][:, place]
                >= (1.0 - ROUNDING) * worst_slope(theorem, size).slope
            ).all()
        )
        for name, sizes in sweeps.items()
        for place, size in enumerate(sizes)
    ]
    stays = (
        f"; at {sum(fixed)} of {len(fixed)} sizes no run leaves its slope, a multiple of sqrt(N/T)"
        * any(fixed)
    )
    sampling = f", the term 1/sqrt(N) {last / (noise_free + noise):.0%}" if last else ""
    return (
        f"at N = {largest.examples} (T = {largest.steps(theorem)}) the noise is {noise / (noise_free + noise):.0%} "
        f"of the corrected bound{sampling}: the exponents are those of the noise and of the way, sqrt(N/T); the "
        f"bound is {min(ratios):.3g} to {max(ratios):.3g} times the simulated gradient{trivial}{stays}"
    )


def _region(theorem: Theorem, sweeps: Sweeps[Size]) -> str:
    n = sweeps["N"]
    d = sweeps["d"]
    epsilon = sweeps["epsilon"]
    return (
        f"G = L = R = 1, delta = 10^-6, the printed T (up to {max(size.steps(theorem) for size in n)}); N from "
        f"{n[0].examples} to {n[-1].examples} at d = {n[0].dimension} and epsilon = {n[0].epsilon:g}; d from "
        f"{d[0].dimension} to {d[-1].dimension} and epsilon from {epsilon[0].epsilon:g} to {epsilon[-1].epsilon:g} at "
        f"N = {d[0].examples}"
    )


SWEEPS_6: dict[str, dict[str, Sequence[Size]]] = {
    "smoke": {
        "N": [Size(n) for n in (500, 1000, 2000, 4000)],
        "d": [Size(1000, d) for d in (1, 4, 16)],
        "epsilon": [Size(1000, 1, epsilon) for epsilon in (5.0, 10.0, 20.0)],
    },
    "standard": {
        "N": [Size(n) for n in (500, 1000, 2000, 4000, 8000, 16000)],
        "d": [Size(2000, d) for d in (1, 4, 16, 64)],
        "epsilon": [Size(2000, 1, epsilon) for epsilon in (2.0, 5.0, 10.0, 20.0, 40.0)],
    },
}
SWEEPS_9: dict[str, dict[str, Sequence[Size]]] = {
    "standard": {
        "N": [Size(n) for n in (40, 55, 75, 100)],
        "d": [Size(80, d) for d in (1, 2, 4)],
        "epsilon": [Size(60, 1, epsilon) for epsilon in (7.0, 12.0, 20.0)],
    },
}


def simulated(theorem: Theorem) -> Simulated[Size]:
    """Return the settings of the simulations for a theorem's check."""
    return Simulated(
        measure=partial(mean_gradient, theorem),
        seconds=partial(seconds, theorem),
        steps=lambda size: size.steps(theorem),
        bound=lambda size: size.bound(theorem),
        printed=lambda size: printed_bound(theorem, size.examples, size.cell),
        unit=lambda size: size.unit(theorem),
        unit_name="sqrt(N/T)",
        rate=ASYMPTOTIC[theorem],
        words=partial(_terms, theorem),
        region=partial(_region, theorem),
        fixed=_fixed,
        figure=f"utility-slopes-{theorem}",
        leaves_out="other problems and sizes: the regime in which 1/sqrt(N) is the larger term is not reached, and "
        "logarithms are part of every exponent",
    )


def _fixed(sweeps: Sweeps[Size]) -> dict[str, list[float]]:
    first = sweeps["N"][0]
    return {
        "at:d": [float(first.dimension)],
        "at:epsilon": [first.epsilon],
        "at:delta": [DELTA],
    }


CHECKS.add(
    SlopesCheck(
        "theorem-6-rate",
        "slopes",
        runs=simulated("theorem-6"),
        sweeps={**SWEEPS_6, "full": SWEEPS_6["standard"]},
        replications={"smoke": 8, "standard": 12, "full": 40},
        room=0.1,
        variants=("amended",),
    ),
    SlopesCheck(
        "theorem-9-rate",
        "slopes",
        runs=simulated("theorem-9"),
        sweeps={**SWEEPS_9, "full": SWEEPS_9["standard"]},
        replications={"standard": 6, "full": 40},
        least_budget="standard",
        room=0.25,
    ),
)
