"""What Algorithm 1 reaches, in runs on the worst case of each term of our bound: start, noise, sampling, curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify.harness import PaperChecks, Point
from dpverify.harness.context import as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.worst_slope import Slope

CHECKS = PaperChecks("wang2019", __name__)

SECONDS_PER_STEP = 70e-6
LOUD = OptimizerFault("loud", "the noise is a hundred times as large", noise=100.0)


@dataclass(frozen=True)
class SrmCase:
    """A slope (``problems.worst_slope``) of smoothness 1 and the numbers of a run on it."""

    name: str  # short: "slope"
    steps: int
    batch: int
    gamma: float
    zeta: float
    variance: float = 1e-8
    dimension: int = 1
    reach: float = 0.0  # where the slope ends, in units of the longest way of the whole run, T zeta/L
    rise: float = 0.0  # r and a, with s = 1
    offset: float = 0.0
    examples: int = 64
    parties: int = 1

    @property
    def problem(self) -> Slope:
        """The loss."""
        drop = self.reach * self.steps * self.zeta
        return Slope(self.examples, self.dimension, 1.0, drop, 1.0, self.rise, self.offset)

    @property
    def top(self) -> float:
        """Largest norm of the mean gradient."""
        return 1.0

    @property
    def point(self) -> Point:
        """Values of the claim's symbols; the first batch is the later ones', and so is its noise."""
        values = {name: Fraction(getattr(self, name)) for name in ("gamma", "zeta", "variance")}
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
        """The problem in words, for a report."""
        parts = [f"down to {self.reach:g} of the way"] if self.reach else []
        parts += [f"rise {self.rise:g}"] if self.rise else []
        parts += [f"antipodal gradients {self.offset:g}"] if self.offset else []
        parts += [f"{self.parties} parties"] if self.parties > 1 else []
        size = f"n = {self.examples}, T = {self.steps}, b = {self.batch}, d = {self.dimension}"
        return f"{self.name} ({size}): {', '.join(parts) or 'a valley'}"

    @property
    def all_words(self) -> str:
        """The same with every parameter."""
        return f"{self.words}, gamma = {self.gamma:g}, zeta = {self.zeta:g}, variance = {self.variance:g}"


def _mean_gradient(statement: Statement, case: SrmCase, seed: int, fault: OptimizerFault) -> float:
    """Mean norm of the whole gradient over the iterates of one run, of which its output is one."""
    problem = case.problem
    offsets = problem.offsets

    def gradients(w: Vector, batch: Indices) -> Matrix:
        rows = np.zeros((len(batch), case.dimension))
        rows[:, 0] = fault.direction * (problem.gradient(w)[0] + offsets[batch])
        return rows

    std = fault.noise * math.sqrt(case.variance)
    numbers = SrmParameters(
        case.steps, case.batch, case.batch, case.gamma, case.zeta, problem.smoothness, std, std, case.parties
    )
    run = DpSrm(ExampleGradients(gradients), case.examples, problem.start, numbers, seed=seed, keep=True)
    run.advance(case.steps)
    return sum(float(np.linalg.norm(problem.gradient(w))) for w in run.iterates[:-1]) / case.steps


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
