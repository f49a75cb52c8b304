"""Check the corrected Theorems 4.4 and 5.2 in runs at their parameters, on problems that are hard for one term."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dpverify.harness import PaperChecks, Point
from dpverify.harness.checks import as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT, UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.kernels.typing import Indices, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.utility.checks.simulation import LOUD
from dpverify.symbolic.exact.evaluate import definitions, requires_hold
from dpverify.symbolic.exact.numbers import to_ball, to_value

CHECKS = PaperChecks("wang2019", __name__)

SHORT_STEPS = OptimizerFault(
    "short steps", "every step is a hundredth as long", direction=0.01
)
BETA = Fraction(1, 2)
DELTA = Fraction(1, 10**5)


@dataclass(frozen=True)
class Ramp:
    """Slope s down to a plain, or to a rise of r, in the first coordinate; G = 1; deviations cancel pairwise."""

    name: str
    slope: Fraction = Fraction(1)  # s, then r
    rise: Fraction = Fraction(0)
    # first coordinate of theta^0; from s/L_0 on the slope is s
    start: Fraction = Fraction(1)
    bend: Fraction = Fraction(2)  # L_0, of the mean loss
    # L - L_0; slopes differ from the mean's by (1 - s) cos(wave x/(1 - s))
    wave: Fraction = Fraction(0)
    zeta: Fraction = Fraction(1, 10)
    dimension: int = 1
    parties: int = 1

    @property
    def gap(self) -> Fraction:
        """F(theta^0) minus the least F."""
        return self.slope * self.start - self.slope**2 / (2 * self.bend)

    @property
    def smoothness(self) -> Fraction:
        """L of every loss."""
        return self.bend + self.wave

    @property
    def examples(self) -> int:
        """The least n that the condition on the noise allows, rounded up so that all parties have equally many."""
        alpha = math.log(1 / DELTA) / (1 - float(BETA)) + 1
        drop = float(self.smoothness * self.gap)
        least = math.sqrt(
            14
            * self.dimension
            * alpha
            * (2 * drop + 3)
            / (float(BETA) * float(self.zeta) ** 3)
        )
        return 2 * self.parties * math.ceil((least + 1) / (2 * self.parties))

    @property
    def point(self) -> Point:
        """Values of the symbols of the record."""
        m = self.parties
        drop = self.smoothness * self.gap
        size = (
            {"n": self.examples} if m == 1 else {"m": m, "n_party": self.examples // m}
        )
        return as_point(
            {
                **size,
                "d": self.dimension,
                "epsilon": 1,
                "delta": DELTA,
                "beta": BETA,
                "G": 1,
                "zeta": self.zeta,
                "L": self.smoothness,
                "gap": self.gap,
                "T": math.ceil(drop / self.zeta**2),
                "b": m * math.ceil(1 / self.zeta / m),
                "b_0": m * math.ceil(1 / (self.zeta * drop) / m),
            }
        )

    @property
    def words(self) -> str:
        """Description of the problem."""
        differ = (
            f", slopes that differ by {2 * (1 - self.slope)}" if self.slope < 1 else ""
        )
        return f"{self.name} (d = {self.dimension}): slope {self.slope} from {self.start}, rise {self.rise}{differ}"

    @property
    def all_words(self) -> str:
        """Description of the problem with curvature, accuracy and parties."""
        return f"{self.words}, L = {self.bend} + {self.wave}, zeta = {self.zeta}, m = {self.parties}"

    def mean_slope(self, x: float) -> float:
        """Return the first coordinate of the gradient of F; the others are 0."""
        return max(-float(self.rise), min(float(self.slope), float(self.bend) * x))


class RampOracle:
    """Batch means of a ramp's gradients: examples add a deviation to the mean loss, with alternating sign."""

    def __init__(self, ramp: Ramp) -> None:
        self._ramp, self._apart, self._wave = (
            ramp,
            1.0 - float(ramp.slope),
            float(ramp.wave),
        )

    def _slope(self, x: float, excess: float) -> float:
        amplitude = excess * self._apart
        turned = math.cos(self._wave * x / self._apart) if self._wave else 1.0
        return self._ramp.mean_slope(x) + amplitude * turned

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean gradient at w."""
        self.change(w, w, batch, 1.0, out)

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean of grad f(new) - (1 - gamma) grad f(old)."""
        excess = 1.0 - 2.0 * float(np.mean(batch % 2))
        out[:] = 0.0
        out[0] = self._slope(new[0], excess) - (1.0 - gamma) * self._slope(
            old[0], excess
        )


def _mean_gradient(
    statement: Statement, case: Ramp, seed: int, fault: OptimizerFault = NO_FAULT
) -> float:
    """Return the mean norm of the gradient of F over all T iterates, one of which is the output."""
    point = case.point
    start = np.zeros(case.dimension)
    if requires_hold(statement, point) is not True:
        raise ValueError(f"the theorem's conditions must hold on {case.all_words}")
    values = definitions(statement, point)
    gamma, variance, variance_0 = (
        float(to_ball(to_value(values[k])).mid())
        for k in ("gamma", "variance", "variance_0")
    )
    start[0] = float(case.start)
    steps, batch_0, batch = (int(point[name]) for name in ("T", "b_0", "b"))
    parameters = SrmParameters(
        steps,
        batch_0,
        batch,
        gamma,
        float(case.zeta) * abs(fault.direction),
        float(case.smoothness),
        fault.noise * math.sqrt(variance_0),
        fault.noise * math.sqrt(variance),
        parties=case.parties,
    )
    oracle = (_Uphill if fault is UPHILL else RampOracle)(case)
    run = DpSrm(oracle, case.examples, start, parameters, seed=seed, keep=True)
    run.advance(steps)
    return float(np.mean([abs(case.mean_slope(w[0])) for w in run.iterates[:steps]]))


class _Uphill(RampOracle):
    """A ramp's oracle with the sign of every gradient reversed."""

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        super().change(new, old, batch, gamma, out)
        out *= -1.0


def _bound(statement: Statement, case: Ramp) -> float:
    return printed_side(statement, case.point)


def _top(statement: Statement, case: Ramp) -> float:
    return float(max(case.slope, case.rise))


def _seconds(case: Ramp) -> float:
    return 1e-4 * float(case.smoothness * case.gap / case.zeta**2)


HALF = Fraction(1, 2)
TENTH = Fraction(1, 10)
NOISY = Ramp("slope", dimension=50)
ALL = (
    NOISY,
    Ramp("one dimension"),
    Ramp("valley", rise=Fraction(1)),
    Ramp("opposite slopes", slope=Fraction(4, 5), zeta=Fraction(1, 20)),
    Ramp(
        "waves", slope=HALF, start=Fraction(2), wave=Fraction(1), zeta=Fraction(1, 20)
    ),
)
PARTIES = (Ramp("four parties", slope=Fraction(4, 5), parties=4),)
FAULTS = ((UPHILL, "slope"), (LOUD, "slope"), (SHORT_STEPS, "slope"))

_runs = partial(
    RunsCheck[Ramp],
    bound=_bound,
    top=_top,
    measure=_mean_gradient,
    seconds_each=_seconds,
    variants=("amended",),
    leaves_out="floats; other problems and accuracies; examples whose losses are of more than two kinds",
)

CHECKS.add(
    _runs(
        "theorem-4-4",
        "runs",
        cases={"smoke": (NOISY,), "standard": ALL, "full": ALL},
        faults=FAULTS,
        region="Algorithm 1 at the corrected parameters, n the least that they allow at epsilon = 1, delta = 10^-5, "
        "beta = 1/2: a slope that ends in a plain or a valley, noise in 50 dimensions, gradients and curvatures that "
        "differ between examples",
    ),
    _runs(
        "theorem-5-2",
        "runs",
        cases={"standard": PARTIES, "full": PARTIES},
        least_budget="standard",
        faults=((UPHILL, "four parties"),),
        region="Algorithm 2's recursion with four parties of equally many examples and equal batches, gradients that "
        "differ between examples; what is released, not how the parties compute it",
    ),
)
