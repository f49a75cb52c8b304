"""What a calibration gives, as typed records."""

from __future__ import annotations

import math
from typing import Literal

from dpverify.ledger.records import Record

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


class Calibration(Record, frozen=True, kw_only=True):
    """An answer to: which sigma?"""

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
