"""Exponents of the corrected Theorem 4.4 in n, d and epsilon from simulation, with intervals, beside its bound's.

Runs at G = L = D_F = 1, the best beta, and the accuracy zeta that the condition on the noise allows, on identical
examples: a slope of 3/2 zeta, down to a plain. There noise lets about half of the runs through.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.harness import PaperChecks
from dpverify.harness.simulation.slopes_check import Simulated, SlopesCheck, Sweeps
from dpverify.kernels.typing import Indices, Vector
from dpverify.papers.wang2019.accounting.onset import OnsetSetting, bound, printed_cost
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters

CHECKS = PaperChecks("wang2019", __name__)

STEEPNESS = 1.5
DELTA = 1e-6


@dataclass(frozen=True)
class AccurateSize:
    """Where the theorem is simulated."""

    examples: int  # n
    dimension: int = 1
    epsilon: float = 1.0

    @property
    def cell(self) -> OnsetSetting:
        """The same without n."""
        return OnsetSetting(self.dimension, self.epsilon, DELTA)

    @property
    def bound(self) -> float:
        """17/3 zeta."""
        return bound(printed_cost, self.examples, self.cell)

    @property
    def zeta(self) -> float:
        """The accuracy; a little more than what the condition allows."""
        return self.bound * 3.0 / 17.0 * (1.0 + 1e-9)

    @property
    def steps(self) -> int:
        """T, the least; the batches are those of 1/zeta examples."""
        return math.ceil(1.0 / self.zeta**2)

    @property
    def parameters(self) -> SrmParameters:
        """The theorem's, with its noise."""
        zeta = self.zeta
        std_0 = math.sqrt(self.steps * printed_cost(self.cell)) / self.examples
        batch = math.ceil(1.0 / zeta)
        length = (1.0 - zeta) * zeta + zeta
        return SrmParameters(self.steps, batch, batch, zeta, zeta, 1.0, std_0, length * std_0)


class Identical:
    """Examples with one loss, whose first slope is s far out, L x nearer, and 0 from 0 on."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def at(self, x: float) -> float:
        """The slope."""
        return min(max(x, 0.0), self.slope)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient into ``out``."""
        self.change(w, w, batch, 1.0, out)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write grad f(new) - (1 - gamma) grad f(old) into ``out``."""
        del batch
        out[:] = 0.0
        out[0] = self.at(new[0]) - (1.0 - gamma) * self.at(old[0])


def mean_gradient(size: AccurateSize, seed: int) -> float:
    """Mean gradient over the iterates of a run, of which the output is one."""
    problem = Identical(STEEPNESS * size.zeta)
    start = np.zeros(size.dimension)
    start[0] = 1.0 / problem.slope + 0.5 * problem.slope  # D_F = s x - s^2/2 = 1
    run = DpSrm(problem, size.examples, start, size.parameters, seed=seed, keep=True)
    run.advance()
    return float(np.mean([problem.at(w[0]) for w in run.iterates[:-1]]))


def _words(sweeps: Sweeps[AccurateSize], gradients: Mapping[str, Vector]) -> str:
    ratios = [size.bound / gradients["n"][:, place].mean() for place, size in enumerate(sweeps["n"])]
    return f"the corrected bound is {min(ratios):.3g} to {max(ratios):.3g} times the simulated gradient"


def _region(sweeps: Sweeps[AccurateSize]) -> str:
    n = sweeps["n"]
    d = sweeps["d"]
    epsilon = sweeps["epsilon"]
    return (
        f"G = L = D_F = 1, delta = 10^-6, T up to {max(size.steps for size in n)}; n from {n[0].examples} to "
        f"{n[-1].examples} at d = {n[0].dimension}, epsilon = {n[0].epsilon:g}; d from {d[0].dimension} to "
        f"{d[-1].dimension}, epsilon from {epsilon[0].epsilon:g} to {epsilon[-1].epsilon:g} at n = {d[0].examples}"
    )


STANDARD: dict[str, Sequence[AccurateSize]] = {
    "n": [AccurateSize(n) for n in (1000, 2000, 4000, 8000, 16000, 32000)],
    "d": [AccurateSize(8000, d) for d in (1, 4, 16, 64)],
    "epsilon": [AccurateSize(8000, 1, epsilon) for epsilon in (0.25, 0.5, 1.0, 2.0)],
}

CHECKS.add(
    SlopesCheck[AccurateSize](
        "theorem-4-4",
        "slopes",
        runs=Simulated(
            measure=mean_gradient,
            seconds=lambda size: 1.2e-4 * size.steps,
            steps=lambda size: size.steps,
            bound=lambda size: size.bound,
            printed=None,
            unit=lambda size: size.zeta,
            unit_name="zeta",
            rate={"n": -2 / 3, "d": 1 / 3, "epsilon": -2 / 3},
            words=_words,
            region=_region,
            fixed=lambda sweeps: {"at:d": [1.0], "at:epsilon": [1.0], "at:delta": [DELTA]},
            figure="accuracy-slopes",
            leaves_out="other problems and sizes, and examples that differ among them; the accuracy is the one chosen, "
            "so that the exponents are those of the condition on the noise",
            names=("n", "d", "epsilon"),
        ),
        sweeps={"standard": STANDARD, "full": STANDARD},
        replications={"standard": 24, "full": 80},
        least_budget="standard",
        room=0.1,
        variants=("amended",),
    )
)
