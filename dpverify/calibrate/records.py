"""What a user asks of a calibration, checked, and what it gives, as typed records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.ledger.records import Record
from dpverify.privacy.participation import Ordering, check_ordering
from dpverify.shown import ShownAsTable

ALGORITHMS = ("dp-nsgd", "sr-nsgd")


@dataclass(frozen=True)
class CalibrateRequest:
    """Arguments of a calibration."""

    algorithm: str  # ``dp-nsgd`` or ``sr-nsgd``: Algorithm 1 or 2 of tran2022
    n: int  # examples and dimensions, at least 1
    d: int
    epsilon: float  # what is asked for: epsilon above 0, delta in (0, 1)
    delta: float
    steps: int | None = None  # T, or T in units of N; one of the two. None: the T that the utility theorem prints.
    epochs: int | None = None
    lipschitz: float = 1.0  # G above 0, L at least 0
    smoothness: float = 1.0
    # none: as the utility theorem prints them for this T; alpha at least 1/N and at most 1, gamma at most 1
    alpha: float | None = None
    gamma: float | None = None
    eta: float | None = None
    ordering: Ordering = "fresh"

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise check.ArgumentError("algorithm", self.algorithm, f"must be one of {', '.join(ALGORITHMS)}")
        check_ordering(self.ordering)
        check.whole(1, MOST_STEPS - 1, n=self.n)
        check.whole(1, MOST_STEPS - 1, d=self.d)
        check.positive(epsilon=self.epsilon)
        if not check.positive(delta=self.delta) < 1.0:
            raise check.ArgumentError("delta", self.delta, "must be above 0 and below 1")
        if self.steps is not None and self.epochs is not None:
            both = f"steps={self.steps} and epochs={self.epochs}"
            raise check.ArgumentError("steps or epochs", both, "must be given, not both")
        if self.steps is not None:
            check.whole(1, MOST_STEPS - 1, steps=self.steps)
        if self.epochs is not None:
            check.whole(1, (MOST_STEPS - 1) // self.n, epochs=self.epochs)
        check.positive(lipschitz=self.lipschitz)
        check.not_negative(smoothness=self.smoothness)
        if self.alpha is not None:
            check.weight(alpha=self.alpha)
        if self.gamma is not None and not check.not_negative(gamma=self.gamma) <= 1.0:
            raise check.ArgumentError("gamma", self.gamma, "must be at least 0 and at most 1")
        if self.eta is not None:
            check.positive(eta=self.eta)

    @property
    def asked_steps(self) -> int | None:
        """T, if it was given in one way or the other."""
        return self.steps if self.epochs is None else self.epochs * self.n

    @property
    def log_delta(self) -> float:
        """log(1/delta), above 0."""
        return -math.log(self.delta)


Real = float | str  # a number; infinity is the string "inf"


class Trio(Record, frozen=True, kw_only=True):
    """One quantity as the paper prints it, as its proof supports it, and by the accountant's upper bound, certified."""

    printed: Real
    proof: Real
    exact: Real


class RunParameters(Record, frozen=True, kw_only=True):
    """The run that is calibrated."""

    n: int
    d: int
    steps: int
    alpha: float
    gamma: float
    eta: float
    lipschitz: float
    smoothness: float
    ordering: str


class Theorem(Record, frozen=True, kw_only=True):
    """What the utility theorem prints for this budget: its T, and alpha, gamma and eta at the T that is run."""

    claim: str
    steps: float
    alpha: Real
    gamma: float
    eta: float


class Calibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """An answer to: which sigma?"""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float  # what was asked for
    delta: float
    run: RunParameters
    theorem: Theorem
    # Noise multipliers of the paper's box. ``exact`` is certified; the others are what the paper and its proof say.
    sigma: Trio
    node_std: dict[str, Trio]  # standard deviations of each kind of node, in units of the gradient
    epsilon_bought: Real  # what the printed sigma really buys at this delta, rounded up and certified
    delta_bought: float  # what the printed sigma really buys at this epsilon
    bought: Trio  # epsilon that each of the three sigmas buys at this delta
    # whether each of the three sigmas gives (epsilon, delta), by the accountant's upper bound
    certified: dict[str, bool]
    # the accountant's lower and upper bound of the Gaussian privacy parameter at ``sigma.exact``
    mu: tuple[float, float]
    # its lower and upper bound of epsilon at ``sigma.exact`` and this delta; the upper one is the guarantee
    epsilon_bounds: tuple[float, float]
    # No sigma up to the first gives (epsilon, delta) by this analysis; the second is ``sigma.exact``. For sr-nsgd the
    # analysis adds up what each node can show at most, which one loss need not reach in all nodes at once.
    sigma_bounds: tuple[float, float]
    warnings: list[str] = []  # conditions that fail, printed or needed


def real(value: float) -> Real:
    """A float, or "inf"."""
    return value if math.isfinite(value) else "inf"
