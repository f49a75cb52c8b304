"""Schedules of the paper's methods as data: the stages' lengths, step sizes, and steps with momentum."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Vector

HandOn: TypeAlias = Literal["uniform", "last"]
Decay: TypeAlias = Literal["none", "linear", "root"]

MOST_STEPS: Final = 1 << 53
POWERS: Final[dict[str, float]] = {"none": 0.0, "linear": 1.0, "root": 0.5}


@dataclass(frozen=True)
class Stage:
    """One call of Algorithm 2.

    Attributes
    ----------
    steps, momentum_steps : int
        T, at least 1, and t_Mon, from 0 to T: momentum is on at the indices t = 1, ...,
        t_Mon.
    eta : float
        Step size, above 0.
    decay : str
        The j-th step, j = 1, ..., T, has the size eta (``none``), eta/j (``linear``) or
        eta/sqrt(j) (``root``).

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    steps: int
    momentum_steps: int
    eta: float
    decay: Decay = "none"

    def __post_init__(self) -> None:
        check.whole(1, MOST_STEPS, steps=self.steps)
        check.whole(0, self.steps, momentum_steps=self.momentum_steps)
        check.positive(eta=self.eta)
        if self.decay not in POWERS:
            raise check.ArgumentError(
                "decay", self.decay, f"must be one of {', '.join(POWERS)}"
            )


@dataclass(frozen=True)
class StageSchedule:
    """Algorithm 1's parameters, stage by stage.

    Attributes
    ----------
    stages : tuple of Stage
        At least one.
    batch : int
        B, at least 1.
    rho : float
        Momentum, in [0, 1).
    std : float
        pi, deviation of a coordinate of the noise on the mean of a batch, at least 0.
    hand_on : str
        Result of a stage: one of omega_1, ..., omega_T with equal probability
        (``uniform``), or the ``last`` iterate.
    first : int
        Index t of a stage's first step, whose iterate omega_t is the stage's start: 1
        as in the printed loop, or 0 as in the arguments. With 1 a stage's start may be
        its result, and the iterate after its last step never is.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    stages: tuple[Stage, ...]
    batch: int
    rho: float = 0.0
    std: float = 0.0
    hand_on: HandOn = "uniform"
    first: Literal[0, 1] = 1

    def __post_init__(self) -> None:
        check.whole(1, stages=len(self.stages))
        check.whole(1, batch=self.batch)
        if not check.proportion(rho=self.rho) < 1.0:
            raise check.ArgumentError("rho", self.rho, "must lie in [0, 1)")
        check.not_negative(std=self.std)
        if self.hand_on not in ("uniform", "last"):
            raise check.ArgumentError(
                "hand_on", self.hand_on, "must be one of uniform, last"
            )
        check.whole(0, 1, first=self.first)
        check.whole(1, MOST_STEPS, steps=self.steps)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Number of steps of the whole run up to the end of each stage."""
        return tuple(accumulate(stage.steps for stage in self.stages))

    @property
    def steps(self) -> int:
        """Number of steps of all stages together."""
        return self.ends[-1]

    def factors(self, first: int, last: int) -> tuple[Vector, Vector]:
        """Return the step size and the momentum of each of the steps ``first <= s < last`` of the whole run, from 0."""
        etas = np.empty(last - first)
        rhos = np.zeros(last - first)
        at = first
        while at < last:
            place = bisect_right(self.ends, at)
            stage = self.stages[place]
            end = min(self.ends[place], last)
            begin = self.ends[place] - stage.steps
            # number of earlier steps of this stage
            done = np.arange(at - begin, end - begin, dtype=np.float64)
            etas[at - first : end - first] = (
                stage.eta * (done + 1.0) ** -POWERS[stage.decay]
            )
            index = done + self.first
            rhos[at - first : end - first] = self.rho * (
                (index >= 1) & (index <= stage.momentum_steps)
            )
            at = end
        return etas, rhos


def stagewise(
    stages: int, steps: int, momentum_steps: int, eta: float
) -> tuple[Stage, ...]:
    """Return the stages of Theorem 3.2: T^k = 2^k T^0, t_Mon^k = 2^k t_Mon^0, eta^k = eta^0/2^k for k = 1, ..., K."""
    k_most = check.whole(1, stages=stages)
    check.whole(1, steps=steps)
    check.whole(0, steps, momentum_steps=momentum_steps)
    if k_most > 60 or (steps << (k_most + 1)) > MOST_STEPS:
        raise check.ArgumentError(
            "stages",
            k_most,
            f"must leave 2^K T^0 small enough to run, with T^0={steps}",
        )
    return tuple(
        Stage(steps << k, momentum_steps << k, eta / 2**k) for k in range(1, k_most + 1)
    )
