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
    """A training run, whole or interrupted."""

    schema: Literal[1] = 1
    algorithm: str
    privacy: str = NOT_CERTIFIED  # what is certified for replacing one example, or why nothing is
    epsilon: float | None = None
    delta: float | None = None
    data: DataInfo
    settings: Settings
    constants: NoiseConstants
    path: list[Point]  # from step 0 to the last step done
    # over the path but its last point: that of one of w_1, .., w_T drawn at random, of which Theorems 6 and 9 speak
    mean_gradient_norm: float
    w: list[float]  # the last iterate
    interrupted: bool  # before its last step
    seconds: float  # of the steps and the measurements between them
    notes: list[str] = []  # what a user of the result should know


def mean_gradient_norm(path: Sequence[Point]) -> float:
    """Mean of the gradient's norm over the measured points of w_1, .., w_T; w_{T+1} counts only where it is alone."""
    counted = path[:-1] or path
    return math.fsum(point.gradient_norm for point in counted) / len(counted)
