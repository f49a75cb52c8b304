"""Runs of Algorithm 2 of arora2023 on worst cases of its explicit bound, with L_0 = L_1 = 1 and eta = 1/(2 L_1) = 1/2.

*Bound* (note-lemma-b-1-direct). If q tau_2^2 eta^2 <= 1/2, the mean squared gradient at the output is at most
2 F_0/(eta T) + (T + 1)/T tau_1^2, and so at most 2 F_0/(eta T) + 2 tau_1^2. Here tau_1^2 is the mean squared error of
an estimate at the start of a phase. tau_2^2 is the mean squared error of a change over the squared length of the move.

*Decision.* The mean squared gradient over w_1, .., w_T of a run has the same expectation as the squared gradient at the
output. It is at least 0, and runs are independent, so ``lower_limit`` is valid for any law. A bound is refuted if this
limit is above it. Otherwise it is not refuted, which is not a proof.

*Sharpness of the cases.* Without errors, a step lowers F by at least eta (1 - L_1 eta/2) |grad F|^2, so no problem
exceeds 1/(2 - L_1 eta) = 2/3 of the first term. A long slope s attains 1/2. A wave has the slope s at the iterates, and
its slope dips between them as fast as L_1 allows. It falls by eta s^2 - L_1 (eta s)^2/4 in a step, and attains 4/7. On
quadratics, an error e that is constant during a phase moves w to the point with the gradient -e. So for long phases the
mean squared gradient tends to tau_1^2, which is 1/2 of the second term. On the left side, the factor of tau_1^2 cannot
be below 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpverify.harness.simulation.runs_check import lower_limit
from dpverify.kernels.typing import Indices, Vector
from dpverify.targets import load_object

SPIDER: Final[Any] = load_object(f"{Path(__file__).with_name('spider_boost.py')}:SPIDER_BOOST")[1]

ETA: Final = 0.5
ALPHA: Final = 1e-6  # upper bound on the probability that any case is refuted although the bound holds
RUNS: Final = 100  # number of runs of each case
FACTORS: Final = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 30.0, 100.0)  # sizes of the planted faults
STEPS: Final = 400


@dataclass(frozen=True)
class Fault:
    """A fault of the algorithm, which the bound does not take into account."""

    step: float = 1.0  # factor of eta
    noise: float = 1.0  # factors of the noise of gradients and of changes
    change_noise: float = 1.0
    spread: float = 1.0  # factor of the distance between gradients of examples


NO_FAULT: Final = Fault()
UPHILL: Final = Fault(step=-1.0)
LOUD: Final = Fault(noise=100.0)


class Bowl:
    """Gradients of F(w) = |w|^2/2 up to |w| = cap, and linear growth beyond, plus an offset +-a in coordinate 0.

    With ``has_waves``, the slope beyond cap dips between the iterates of a run without errors, which are eta cap apart.
    The sign of a is + for half of the examples and - for the others. The change of a gradient is the same for all
    examples. F has the smoothness 1. No gradient of an example is longer than cap + a <= 1, so clipping would change
    nothing and is left out.
    """

    clip = math.inf
    change_clip = math.inf

    def __init__(self, cap: float, offset: float, examples: int, *, has_waves: bool = False) -> None:
        self.cap = cap
        self.has_waves = has_waves
        self.offsets = offset * np.where(np.arange(examples) % 2, -1.0, 1.0)
        self.gradients = 0  # number of example gradients computed

    def mean(self, w: Vector) -> Vector:
        """Return the gradient of F, shape (d,)."""
        length = float(np.linalg.norm(w))
        if length <= self.cap:
            return w.copy()
        slope = self.cap
        if self.has_waves:
            phase = math.fmod(length - self.cap, ETA * self.cap)
            slope -= min(phase, ETA * self.cap - phase)
        gradient: Vector = w * (slope / length)
        return gradient

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the gradients."""
        self.gradients += len(batch)
        out[:] = self.mean(w)
        out[0] += self.offsets[batch].mean()

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean of the changes."""
        self.gradients += 2 * len(batch)
        out[:] = self.mean(new) - self.mean(old)


@dataclass(frozen=True)
class Case:
    """A bowl and the parameters of a run on it, which starts at a distance from the minimum."""

    name: str
    text: str
    fault_text: str  # description of the fault with a factor k
    fault: Callable[[float], Fault] = field(repr=False)
    examples: int = 64
    phase: int = 20
    steps: int = STEPS
    dimension: int = 10
    cap: float = 1.0
    offset: float = 0.0
    distance: float = 0.0  # with waves: cap plus an integer number of waves
    has_waves: bool = False
    first_batch: int = 64
    squared_noise: float = 1e-6  # mean squared length of the noise of a gradient
    squared_change_noise: float = 1e-6  # the same for a change, over the squared length of the move: tau_2^2

    @property
    def gap(self) -> float:
        """F_0, the loss at the start."""
        inside = min(self.distance, self.cap)
        slope = self.cap * (1.0 - ETA / 4.0) if self.has_waves else self.cap
        return inside**2 / 2.0 + slope * (self.distance - inside)

    @property
    def squared_error(self) -> float:
        """tau_1^2: the noise, plus the variance of a batch mean of the offsets, drawn without replacement."""
        b = self.first_batch
        return self.squared_noise + self.offset**2 / b * (self.examples - b) / (self.examples - 1)

    @property
    def start_term(self) -> float:
        """The first term, 2 F_0/(eta T)."""
        return 2.0 * self.gap / (ETA * self.steps)

    @property
    def left_bound(self) -> float:
        """The left side of note-lemma-b-1-direct."""
        return self.start_term + (self.steps + 1) / self.steps * self.squared_error

    @property
    def bound(self) -> float:
        """The right side of note-lemma-b-1-direct."""
        if self.phase * self.squared_change_noise * ETA**2 > 0.5:
            raise ValueError("q tau_2^2 eta^2 must be at most 1/2.")
        return self.start_term + 2.0 * self.squared_error


def squared_gradient(case: Case, seed: int, fault: Fault = NO_FAULT) -> float:
    """Return the mean squared gradient over w_1, .., w_T of a run; the output is uniform among these iterates."""
    b = case.first_batch
    unit = 0.5 * b / math.sqrt(case.dimension)  # multiplier for noise of mean squared length 1
    parameters = SPIDER.SpiderParameters(
        steps=case.steps,
        phase=case.phase,
        first_batch=b,
        batch=b,
        eta=fault.step * ETA,
        smoothness=1.0,
        first_multiplier=fault.noise * math.sqrt(case.squared_noise) * unit,
        multiplier=fault.change_noise * math.sqrt(case.squared_change_noise) * unit,
    )
    problem = Bowl(case.cap, fault.spread * case.offset, case.examples, has_waves=case.has_waves)
    start = np.zeros(case.dimension)
    start[0] = case.distance
    run = SPIDER.SpiderBoostRun(problem, case.examples, start, parameters, seed=seed, keep=True)
    run.advance()
    return float(np.mean([np.square(problem.mean(w)).sum() for w in run.iterates[1:]]))


def limit(case: Case, fault: Fault = NO_FAULT, runs: int = RUNS) -> tuple[float, float]:
    """Return the mean over runs and a lower confidence limit of its expectation, valid at ALPHA over all cases."""
    values = [squared_gradient(case, seed, fault) for seed in range(runs)]
    return float(np.mean(values)), lower_limit(values, ALPHA / len(CASES))


def smallest_fault(case: Case) -> str:
    """Return the smallest factor in FACTORS with which the fault of the case is detected."""
    for k in FACTORS:
        if limit(case, case.fault(k))[1] > case.bound:
            return f"{k:g}"
    return f"above {FACTORS[-1]:g}"


REACH: Final = 0.25
START: Final = Case(
    "start",
    "a slope as long as a quarter of the way of the run",
    "steps k times as short",
    lambda k: Fault(step=1.0 / k),
    dimension=1,
    distance=1.0 + REACH * STEPS * ETA,  # the slope ends at distance 1 from the minimum
)
WAVES: Final = replace(
    START,
    name="waves",
    text="the same with dips between the iterates, without noise",
    has_waves=True,
    squared_noise=0.0,
    squared_change_noise=0.0,
)
NOISE: Final = Case(
    "noise",
    "quadratics, start at the minimum",
    "noise of gradients k times as large",
    lambda k: Fault(noise=k),
    squared_noise=0.01,
)
SAMPLING: Final = Case(
    "sampling",
    "antipodal gradients, 8 of 64 in a batch",
    "gradients of examples k times as far apart",
    lambda k: Fault(spread=k),
    dimension=1,
    cap=0.8,
    offset=0.2,
    first_batch=8,
)
CHANGES: Final = Case(
    "changes",
    "quadratics, q tau_2^2 eta^2 = 1/2",
    "noise of changes k times as large",
    lambda k: Fault(change_noise=k),
    phase=5,
    squared_noise=1e-4,
    squared_change_noise=0.4,
)
CASES: Final = (START, WAVES, NOISE, SAMPLING, CHANGES)
