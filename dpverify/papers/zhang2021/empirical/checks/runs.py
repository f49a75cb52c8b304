"""Check the corrected Theorem 3.2 in runs at its own parameters, on losses that are not convex."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpverify.harness import PaperChecks, Point
from dpverify.harness.checks import as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.papers.zhang2021.algorithms.stages import StageSchedule, stagewise
from dpverify.papers.zhang2021.empirical.recursion import added_noise_power
from dpverify.problems.nonconvex_losses import Waves
from dpverify.symbolic.exact.evaluate import requires_hold

CHECKS = PaperChecks("zhang2021", __name__)

SHORT_STEPS = OptimizerFault(
    "short steps", "every step is a thousandth as long", direction=0.001
)
LESS_DATA = OptimizerFault("less data", "noise for a tenth of the data", noise=10.0)
# n, B, K; values are clipped at ROOM times the bound
EXAMPLES = 40
BATCH = 4
STAGES = 2
ROOM = 3


@dataclass(frozen=True)
class WavyRun:
    """A run of Algorithm 1 on a quadratic with a wave, whose losses cancel pairwise in the first coordinate."""

    name: str
    wave: float  # c; above 1 the losses are not convex
    epsilon: Fraction
    spread: float = 1.0  # length of the offsets
    rho: Fraction = Fraction(0)
    part: Fraction = Fraction(0)  # fraction of a stage's steps with momentum
    curvatures: tuple[float, ...] = (1.0, 1.0)
    begin: float = 0.0  # each coordinate of omega^0
    # the Lipschitz constant holds inside; runs that leave this radius are not used
    radius: float = 10.0

    @cached_property
    def problem(self) -> Waves:
        """The problem's losses."""
        offsets = np.zeros((EXAMPLES, len(self.curvatures)))
        offsets[:, 0] = self.spread * (1 - 2 * (np.arange(EXAMPLES) % 2))
        return Waves(np.array(self.curvatures), self.wave, offsets)

    @property
    def start(self) -> np.ndarray:
        """omega^0."""
        return np.full(len(self.curvatures), self.begin)

    @cached_property
    def point(self) -> Point:
        """Values of the claim's symbols: the longest steps, and stages that about halve the remaining excess."""
        constants = self.problem.constants(self.radius)
        theta, mu, beta = (
            Fraction(x) for x in (constants.theta, constants.mu, constants.smoothness)
        )
        eta_0 = theta * (1 - self.rho) ** 2 / beta
        T_0 = math.floor(16 * (1 + self.rho) / (mu * theta * eta_0)) + 1
        return as_point(
            {
                "K": STAGES,
                "T_0": T_0,
                "t_0": math.floor(self.part * T_0),
                "rho": self.rho,
                "eta_0": eta_0,
                "theta": theta,
                "mu": mu,
                "beta": beta,
                "L": Fraction(constants.lipschitz),
                "n": EXAMPLES,
                "B": BATCH,
                "sigma": Fraction(
                    math.nextafter(math.sqrt(constants.variance), math.inf)
                ),
                "c_2": 1,
                "d": len(self.curvatures),
                "epsilon": self.epsilon,
                "delta": Fraction(1, 10**5),
                "gap": Fraction(self.problem.loss(self.start) * (1 + 1e-12)),
            }
        )

    @property
    def words(self) -> str:
        """Description of the problem."""
        momentum = (
            f", momentum {self.rho} in {self.part} of the steps" if self.rho else ""
        )
        return (
            f"{self.name}: a wave of {self.wave}, examples apart by {self.spread}, "
            f"epsilon = {self.epsilon}{momentum}"
        )

    @property
    def all_words(self) -> str:
        """Description of the problem with the spectrum, the start and the radius."""
        return f"{self.words}, spectrum {self.curvatures}, from {self.start.tolist()}, inside radius {self.radius}"


def _excess(
    statement: Statement, case: WavyRun, seed: int, fault: OptimizerFault = NO_FAULT
) -> float:
    """Return F(omega^K) of a run, or NaN if the run left the radius."""
    point = case.point
    if requires_hold(statement, point) is not True:
        raise ValueError(f"the theorem's conditions must hold on {case.all_words}")
    T_0, t_0, d = (int(point[name]) for name in ("T_0", "t_0", "d"))
    total = added_noise_power(
        T_0 * ((2 << STAGES) - 2),
        point["c_2"],
        d,
        point["L"],
        point["delta"],
        EXAMPLES * case.epsilon,
    )
    stages = stagewise(STAGES, T_0, t_0, fault.direction * float(point["eta_0"]))
    std = fault.noise * math.sqrt(float(total.mid()) / d)
    schedule = StageSchedule(stages, BATCH, float(case.rho), std)
    run = StagedDescent(
        case.problem, EXAMPLES, case.start, schedule, seed=seed, keep=True
    )
    run.advance(schedule.steps)
    farthest = float(np.sqrt((run.iterates**2).sum(axis=1).max()))
    return case.problem.loss(run.output) if farthest <= case.radius else math.nan


def _bound(statement: Statement, case: WavyRun) -> float:
    return printed_side(statement, case.point)


def _top(statement: Statement, case: WavyRun) -> float:
    return ROOM * _bound(statement, case)


def _seconds(case: WavyRun) -> float:
    return 3e-5 * float(case.point["T_0"]) * ((2 << STAGES) - 2)


HALF = Fraction(1, 2)
EVERY = Fraction(1)
NOISY = WavyRun("noise", 2.0, Fraction(50), spread=0.0, radius=40.0)
GENTLE = replace(NOISY, wave=1.2)  # needs a fifth of the steps
ALL = (
    NOISY,
    WavyRun("start", 2.0, Fraction(10**6), spread=0.0, begin=2.2),
    WavyRun("examples", 2.0, Fraction(10**6), spread=2.0),
    WavyRun("spectrum", 1.5, Fraction(100), spread=0.5, curvatures=(1.0, 0.5, 0.5)),
    WavyRun("half momentum", 1.5, Fraction(50), spread=0.5, rho=HALF, part=HALF),
    WavyRun("always momentum", 1.5, Fraction(50), spread=0.5, rho=HALF, part=EVERY),
)

CHECKS.add(
    RunsCheck[WavyRun](
        "note-theorem-3-2",
        "runs",
        cases={"smoke": (GENTLE,), "standard": ALL, "full": ALL},
        measure=_excess,
        bound=_bound,
        top=_top,
        faults=((LESS_DATA, "noise"), (SHORT_STEPS, "start")),
        seconds_each=_seconds,
        region="quadratics with waves, of one curvature or several, not convex: noise that reaches across the waves, a "
        "start beyond them, examples that differ, no momentum to momentum always on",
        leaves_out="floats; other losses, schedules and batches; runs that leave the radius of the Lipschitz constant",
    )
)
