"""What a user asks of a calibration, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpverify.kernels import check
from dpverify.kernels.dyadic import MOST_STEPS
from dpverify.privacy.participation import Ordering, check_ordering

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
