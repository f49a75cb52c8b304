"""Simulate Algorithm 1 on the worst case of each term of our bound, and estimate the exponents of Theorem 4.4.

The terms are start, noise, sampling and curvature. Exponents of the corrected Theorem 4.4 in n, d and epsilon have
intervals and are compared with those of its bound. These runs have G = L = D_F = 1, the best beta, and the accuracy
zeta that the condition on the noise allows. All examples are identical: a slope of 3/2 zeta, down to a plain. On this
slope the noise lets about half of the runs reach the plain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify.harness import PaperChecks, Point
from dpverify.harness.checks import as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.harness.simulation.slopes_check import Simulated, SlopesCheck, Sweeps
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.accounting.onset import OnsetSetting, bound, printed_cost
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.worst_slope import Slope

CHECKS = PaperChecks("wang2019", __name__)

SECONDS_PER_STEP = 70e-6
LOUD = OptimizerFault("loud", "the noise is a hundred times as large", noise=100.0)


@dataclass(frozen=True)
class SrmCase:
    """A slope (``problems.worst_slope``) of smoothness 1 and the parameters of a run on it."""

    name: str  # short: "slope"
    steps: int
    batch: int
    gamma: float
    zeta: float
    variance: float = 1e-8
    dimension: int = 1
    # end of the slope, in units of the largest length of the whole run, T zeta/L
    reach: float = 0.0
    rise: float = 0.0  # r and a, with s = 1
    offset: float = 0.0
    examples: int = 64
    parties: int = 1

    @property
    def problem(self) -> Slope:
        """The problem's loss."""
        drop = self.reach * self.steps * self.zeta
        return Slope(
            self.examples, self.dimension, 1.0, drop, 1.0, self.rise, self.offset
        )

    @property
    def top(self) -> float:
        """Largest norm of the mean gradient."""
        return 1.0

    @property
    def point(self) -> Point:
        """Values of the claim's symbols; the first batch and its noise equal the later ones."""
        values = {
            name: Fraction(getattr(self, name))
            for name in ("gamma", "zeta", "variance")
        }
        return as_point(
            {
                **values,
                "variance_0": values["variance"],
                "G": 1 + Fraction(self.offset),
                "L": 1,
                "gap": Fraction(self.problem.drop) + Fraction(1, 2),
                "T": self.steps,
                "b": self.batch,
                "b_0": self.batch,
                "d": self.dimension,
                "n": self.examples,
            }
        )

    @property
    def words(self) -> str:
        """Description of the problem for a report."""
        parts = [f"down to {self.reach:g} of the way"] if self.reach else []
        parts += [f"rise {self.rise:g}"] if self.rise else []
        parts += [f"antipodal gradients {self.offset:g}"] if self.offset else []
        parts += [f"{self.parties} parties"] if self.parties > 1 else []
        size = f"n = {self.examples}, T = {self.steps}, b = {self.batch}, d = {self.dimension}"
        return f"{self.name} ({size}): {', '.join(parts) or 'a valley'}"

    @property
    def all_words(self) -> str:
        """Description of the problem with every parameter."""
        return f"{self.words}, gamma = {self.gamma:g}, zeta = {self.zeta:g}, variance = {self.variance:g}"


def _mean_gradient(
    statement: Statement, case: SrmCase, seed: int, fault: OptimizerFault
) -> float:
    """Return the mean norm of the whole gradient over the iterates of one run, of which its output is one."""
    problem = case.problem
    offsets = problem.offsets

    def gradients(w: Vector, batch: Indices) -> Matrix:
        rows = np.zeros((len(batch), case.dimension))
        rows[:, 0] = fault.direction * (problem.gradient(w)[0] + offsets[batch])
        return rows

    std = fault.noise * math.sqrt(case.variance)
    numbers = SrmParameters(
        case.steps,
        case.batch,
        case.batch,
        case.gamma,
        case.zeta,
        problem.smoothness,
        std,
        std,
        case.parties,
    )
    run = DpSrm(
        ExampleGradients(gradients),
        case.examples,
        problem.start,
        numbers,
        seed=seed,
        keep=True,
    )
    run.advance(case.steps)
    return (
        sum(float(np.linalg.norm(problem.gradient(w))) for w in run.iterates[:-1])
        / case.steps
    )


SLOPE = SrmCase("slope", 100, 64, 0.5, 0.1, 1e-4, 3, reach=0.25)
NOISE = SrmCase("noise", 400, 64, 0.5, 0.2, 0.02, 2, rise=1.0)
SAMPLING = SrmCase("sampling", 400, 8, 0.1, 0.05, reach=0.1, offset=0.7)
CURVATURE = SrmCase("curvature", 400, 64, 0.05, 0.4, 1e-4, rise=1.0)
PARTIES = SrmCase("parties", 400, 8, 0.1, 0.05, reach=0.1, offset=0.7, parties=4)

CHECKS.add(
    RunsCheck[SrmCase](
        "note-utility",
        "runs",
        cases={
            "smoke": (SLOPE,),
            "standard": (SLOPE, NOISE, SAMPLING, CURVATURE, PARTIES),
            "full": (SLOPE, NOISE, SAMPLING, CURVATURE, PARTIES),
        },
        measure=_mean_gradient,
        bound=lambda statement, case: printed_side(statement, case.point),
        top=lambda statement, case: case.top,
        faults=((UPHILL, "slope"), (UPHILL, "curvature"), (LOUD, "noise")),
        seconds_each=lambda case: SECONDS_PER_STEP * case.steps,
        variants=("printed",),
        region="Algorithm 1 on slopes that end in a plain or a valley: the way from the start, noise in two dimensions,"
        " antipodal gradients in small batches, also drawn by four parties, and large steps against the curvature",
        leaves_out="floats; other problems and sizes",
    )
)


STEEPNESS = 1.5
DELTA = 1e-6


@dataclass(frozen=True)
class AccurateSize:
    """Size of a simulation of the theorem."""

    examples: int  # n
    dimension: int = 1
    epsilon: float = 1.0

    @property
    def cell(self) -> OnsetSetting:
        """The setting of these d and epsilon."""
        return OnsetSetting(self.dimension, self.epsilon, DELTA)

    @property
    def bound(self) -> float:
        """The bound 17/3 zeta."""
        return bound(printed_cost, self.examples, self.cell)

    @property
    def zeta(self) -> float:
        """The accuracy, slightly more than the condition allows."""
        return self.bound * 3.0 / 17.0 * (1.0 + 1e-9)

    @property
    def steps(self) -> int:
        """The least T."""
        return math.ceil(1.0 / self.zeta**2)

    @property
    def parameters(self) -> SrmParameters:
        """The theorem's parameters and noise, with batches of 1/zeta examples, rounded up."""
        zeta = self.zeta
        std_0 = math.sqrt(self.steps * printed_cost(self.cell)) / self.examples
        batch = math.ceil(1.0 / zeta)
        length = (1.0 - zeta) * zeta + zeta
        return SrmParameters(
            self.steps, batch, batch, zeta, zeta, 1.0, std_0, length * std_0
        )


class Identical:
    """Examples with the same loss of the first coordinate x: its slope is x for 0 <= x <= s, and constant outside."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def at(self, x: float) -> float:
        """Return the slope at x."""
        return min(max(x, 0.0), self.slope)

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the gradient into ``out``."""
        self.change(w, w, batch, 1.0, out)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write grad f(new) - (1 - gamma) grad f(old) into ``out``."""
        del batch
        out[:] = 0.0
        out[0] = self.at(new[0]) - (1.0 - gamma) * self.at(old[0])


def mean_gradient(size: AccurateSize, seed: int) -> float:
    """Return the mean gradient over the iterates of a run, of which the output is one."""
    problem = Identical(STEEPNESS * size.zeta)
    start = np.zeros(size.dimension)
    start[0] = 1.0 / problem.slope + 0.5 * problem.slope  # D_F = s x - s^2/2 = 1
    run = DpSrm(problem, size.examples, start, size.parameters, seed=seed, keep=True)
    run.advance()
    return float(np.mean([problem.at(w[0]) for w in run.iterates[:-1]]))


def _words(sweeps: Sweeps[AccurateSize], gradients: Mapping[str, Vector]) -> str:
    ratios = [
        size.bound / gradients["n"][:, place].mean()
        for place, size in enumerate(sweeps["n"])
    ]
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
            fixed=lambda sweeps: {
                "at:d": [1.0],
                "at:epsilon": [1.0],
                "at:delta": [DELTA],
            },
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
