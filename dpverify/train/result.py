"""What a training run gives, as typed records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from dpverify.ledger.records import Record
from dpverify.privacy.participation import Ordering
from dpverify.problems.rows import RowScaling

NOT_CERTIFIED = "not certified"


class Settings(Record, frozen=True, kw_only=True):
    """Every number that a run depends on besides its data."""

    steps: int  # T
    sigma: float  # noise multiplier
    alpha: float  # momentum weight
    gamma: float  # cross-batch weight of sr-nsgd; dp-nsgd has none and says 1
    eta: float  # length of a step
    lam: float  # weight of the regularizer
    ordering: Ordering
    scale: RowScaling
    # levels of the tree, ``floor(log2 T) + 1``: the paper's R, read as the number of levels (``b = 0..R-1``), the
    # fewest that hold every node of COMPOSE(1, t), t <= T
    depth: int
    seed: int  # seed of the permutations, the noise and the choice of examples


class DataInfo(Record, frozen=True, kw_only=True):
    """The data set: its name, its size (n examples, d features), its two classes, and what was done to its columns."""

    name: str
    n: int
    d: int
    classes: tuple[str, str]
    standardised: bool


class NoiseConstants(Record, frozen=True, kw_only=True):
    """What is certain of the problem, and the noise that follows."""

    lipschitz: float  # G, L and R of the problem, rounded up
    smoothness: float
    gap: float
    counts: dict[str, float]  # V as Algorithm 1 prints it, with ``depth`` for its R; both V of Algorithm 2
    # standard deviation of a coordinate of the noise of each kind of node: ``4*alpha*G*sigma*sqrt(V)`` for f
    node_std: dict[str, float]


class Point(Record, frozen=True, kw_only=True):
    """The run after ``step`` steps: loss F(w) and norm of its gradient, computed from the data without noise."""

    step: int
    loss: float
    gradient_norm: float


class TrainResult(Record, frozen=True, kw_only=True):
    """A training run, whole or interrupted.

    Attributes
    ----------
    path : list of Point
        From step 0 to the last step done.
    mean_gradient_norm : float
        Mean of the gradient's norm over the points of the path but the last: that of one of w_1, .., w_T drawn at
        random, the iterate that Theorems 6 and 9 speak of, as far as the points tell.
    w : list of float
        The last iterate.
    interrupted : bool
        Whether the run was stopped before its last step.
    seconds : float
        Time of the steps and the measurements between them.
    privacy : str
        What is certified, or ``not certified`` and why.
    epsilon, delta : float or None
        The guarantee, for replacing one example, if one is certified.
    notes : list of str
        What a user of the result should know.
    """

    schema: Literal[1] = 1
    algorithm: str
    privacy: str = NOT_CERTIFIED
    epsilon: float | None = None
    delta: float | None = None
    data: DataInfo
    settings: Settings
    constants: NoiseConstants
    path: list[Point]
    mean_gradient_norm: float
    w: list[float]
    interrupted: bool
    seconds: float
    notes: list[str] = []


def mean_gradient_norm(path: Sequence[Point]) -> float:
    """Mean of the gradient's norm over w_1, .., w_T, as far as they were measured.

    ``path`` has at least one point; the last one is w_{T+1}, which does not count unless it is the only one.
    """
    counted = path[:-1] or path
    return math.fsum(point.gradient_norm for point in counted) / len(counted)
