"""Problems and sizes for simulations of the utility theorems, with exact G, L and R."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpverify.harness import Point
from dpverify.harness.checks import as_point
from dpverify.harness.simulation.runs import NO_FAULT, OptimizerFault
from dpverify.kernels.tape import Seed
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.scales import printed_scales, proof_scales
from dpverify.papers.tran2022.algorithms.slope_runs import (
    RunMeans,
    reduced_slope_run,
    slope_run,
)
from dpverify.problems.worst_slope import Slope
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import to_ball, to_value


def rounded_up(value: Fraction, digits: int = 4) -> Fraction:
    """Round a positive number up to a few digits, so that a counterexample is short."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return -(-value // unit) * unit


@dataclass(frozen=True)
class SlopeCase:
    """A slope (``problems.worst_slope``) and the size of a run, in units in which G is about 1."""

    name: str  # short: "ramp"
    examples: int  # N, T, d
    steps: int
    dimension: int = 1
    delta: Fraction = Fraction(1, 10**6)
    slope: float = 1.0  # s
    # D in units of the length of the whole run, ``eta T = sqrt(T/N)``; with 1 or more
    # no run leaves the slope
    reach: float = 1.0
    bend: float = 1.0  # L in units of ``s/(eta T)``
    rise: float = 0.0  # r and a
    offset: float = 0.0

    @property
    def path_length(self) -> float:
        """Length of the whole run, ``eta T = sqrt(T/N)``."""
        return math.sqrt(self.steps / self.examples)

    @property
    def problem(self) -> Slope:
        """The problem's loss."""
        return Slope(
            self.examples,
            self.dimension,
            self.slope,
            self.reach * self.path_length,
            self.bend * self.slope / self.path_length,
            self.rise,
            self.offset,
        )

    @property
    def top(self) -> float:
        """Largest norm of the mean gradient, ``max(s, r)``: no run can exceed it."""
        return max(self.slope, self.rise)

    @property
    def point(self) -> Point:
        """N, T, d, delta, then G, L and R of the problem's floats, rounded up, then the parameters of the problem."""
        p = self.problem
        slope = Fraction(p.slope)
        drop = Fraction(p.drop)
        smooth = Fraction(p.smoothness)
        return as_point(
            {
                "N": self.examples,
                "T": self.steps,
                "d": self.dimension,
                "delta": self.delta,
                "G": rounded_up(Fraction(self.top) + Fraction(p.offset)),
                "L": rounded_up(smooth),
                "R": rounded_up(slope * drop + slope**2 / (2 * smooth)),
                "slope": slope,
                "fall": drop,
                "bend": smooth,
                "rise": Fraction(p.rise),
                "apart": Fraction(p.offset),
            }
        )

    @property
    def words(self) -> str:
        """Description of the problem for a report."""
        parts = [f"slope {self.slope:g}", f"down to {self.reach:g} of the way"]
        parts += [f"rise {self.rise:g}"] if self.rise else []
        parts += [f"antipodal gradients {self.offset:g}"] if self.offset else []
        return f"{self.name} (N = {self.examples}, T = {self.steps}, d = {self.dimension}): {', '.join(parts)}"

    @property
    def all_words(self) -> str:
        """Description of the problem with L and delta."""
        return f"{self.words}, bend {self.bend:g}, delta = {float(self.delta):.6g}"


HEAVY = OptimizerFault("heavy", "alpha is 64 times as large", weight=64.0)
LOUD = OptimizerFault("loud", "sigma is a hundred times as large", noise=100.0)
SHORT_STEPS = OptimizerFault(
    "short steps", "every step is a hundredth as long", direction=0.01
)


@dataclass(frozen=True)
class SlopeFamily:
    """The space of problems for a search: powers of two between the ends of each range."""

    # ends of log2 N, log2 T, log2 d, log2 reach and log2 bend of a :class:`SlopeCase`
    examples: tuple[float, float]
    steps: tuple[float, float]
    dimension: tuple[float, float] = (0.0, 3.0)
    reach: tuple[float, float] = (-6.0, 0.5)
    bend: tuple[float, float] = (0.0, 6.0)
    deltas: Sequence[Fraction] = (Fraction(1, 10**6),)  # values of delta
    scales: Sequence[float] = (1.0,)  # values of ``s + a``: the unit of the gradients

    @property
    def parameters(self) -> int:
        """Number of coordinates of a problem."""
        return 9

    def case(self, place: Sequence[float]) -> SlopeCase:
        """Return the problem at a point of the unit cube, with rounded numbers, so that a counterexample is short."""
        logs = (self.examples, self.steps, self.dimension, self.reach, self.bend)
        n, steps, d, reach, bend = (
            2.0 ** (low + u * (high - low))
            for u, (low, high) in zip(place, logs, strict=False)
        )
        delta = self.deltas[min(int(place[5] * len(self.deltas)), len(self.deltas) - 1)]
        scale = self.scales[min(int(place[6] * len(self.scales)), len(self.scales) - 1)]
        # half of the problems have no antipodes
        share = 0.0 if place[7] < 0.5 else round(2 * place[7] - 1, 1) * 0.9
        examples = max(4, round(n))
        slope = scale * (1.0 - share)
        return SlopeCase(
            "found",
            examples,
            max(4 * examples, round(steps)),
            max(1, round(d)),
            delta,
            slope=slope,
            reach=float(f"{reach:.2g}"),
            bend=float(f"{bend:.2g}"),
            rise=slope if place[8] > 0.75 else 0.0,
            offset=scale * share,
        )


def theorem_values(statement: Statement, case: SlopeCase) -> Mapping[str, float]:
    """Return the theorem's printed alpha, eta, sigma and, if it exists, gamma for a case."""
    values = definitions(statement, case.point)
    names = [name for name in ("alpha", "eta", "sigma", "gamma") if name in values]
    return {name: float(to_ball(to_value(values[name])).mid()) for name in names}


def run_theorem_6(
    statement: Statement, case: SlopeCase, seed: Seed, fault: OptimizerFault = NO_FAULT
) -> RunMeans:
    """Run Algorithm 1 with the parameters of Theorem 6."""
    values = theorem_values(statement, case)
    problem = case.problem
    parameters = Parameters(
        case.steps,
        min(1.0, fault.weight * values["alpha"]),
        values["eta"],
        fault.noise * values["sigma"],
        float(case.point["G"]),
        "once" if statement.reading.get("ordering") == "once" else "fresh",
    )
    return slope_run(problem, parameters, seed, direction=fault.direction)


def run_theorem_9(
    statement: Statement,
    case: SlopeCase,
    seed: Seed,
    fault: OptimizerFault = NO_FAULT,
    *,
    box: bool = False,
) -> RunMeans:
    """Run Algorithm 2 with Theorem 9's parameters; ``box`` selects the box's noise, which lacks the factor L."""
    values = theorem_values(statement, case)
    problem = case.problem
    ordering: Ordering = (
        "once" if statement.reading.get("ordering") == "once" else "fresh"
    )
    eta = values["eta"]
    G = float(case.point["G"])
    L = float(case.point["L"])
    if box:
        scales = printed_scales(case.examples, case.steps, eta=eta, lipschitz=G)
    else:
        scales = proof_scales(
            case.examples, case.steps, eta=eta, lipschitz=G, smoothness=L
        )
    parameters = SrParameters(
        case.steps,
        values["alpha"],
        values["gamma"],
        eta,
        fault.noise * values["sigma"],
        G,
        ordering,
        scales,
    )
    return reduced_slope_run(problem, parameters, seed, direction=fault.direction)
