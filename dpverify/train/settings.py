"""Every number that a training run depends on besides its data; and how those of zhang2021's methods are filled in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.mpc.limits import Noise
from dpverify.privacy.participation import Ordering
from dpverify.problems.rows import RowScaling

if TYPE_CHECKING:
    from dpverify.train.records import Request

DEFAULT_EPOCHS = 10
DEFAULT_SIGMA = 1.0
DEFAULT_STAGES = 3
DEFAULT_RHO = 0.9

HandOn: TypeAlias = Literal["uniform", "last"]
Decay: TypeAlias = Literal["none", "linear", "root"]
Staged: TypeAlias = Literal[
    "dpageem", "dpages", "dpagem", "sgd-stages", "dp-sgd", "dp-sgd-linear", "dp-sgd-root", "dp-sgdm", "dp-sgdem"
]
STAGED: Final[tuple[str, ...]] = get_args(Staged)


@dataclass(frozen=True)
class Kind:
    """What makes a method of zhang2021 one of its own: stages or one, where momentum is on, how its steps shrink."""

    staged: bool
    momentum: Literal["off", "early", "on"]
    decay: Decay = "none"

    def steps_with_momentum(self, steps: int) -> int:
        """How many of a stage's steps have momentum; early momentum is on in the first half."""
        return {"off": 0, "early": steps // 2, "on": steps}[self.momentum]


KINDS: Final[dict[str, Kind]] = {
    "dpageem": Kind(True, "early"),
    "dpages": Kind(True, "off"),
    "dpagem": Kind(True, "on"),
    "sgd-stages": Kind(True, "off"),
    "dp-sgd": Kind(False, "off"),
    "dp-sgd-linear": Kind(False, "off", "linear"),
    "dp-sgd-root": Kind(False, "off", "root"),
    "dp-sgdm": Kind(False, "on"),
    "dp-sgdem": Kind(False, "early"),
}


class Settings(Record, frozen=True, kw_only=True):
    """Every number that a run depends on besides its data."""

    steps: int  # T
    sigma: float  # noise multiplier
    alpha: float  # momentum weight; dp-srm says 1
    gamma: float  # cross-batch weight of sr-nsgd, momentum weight of dp-srm; dp-nsgd has none and says 1
    eta: float  # length of a step; of dp-srm zeta, L times the longest one
    lam: float  # weight of the regularizer
    ordering: Ordering
    scale: RowScaling
    # levels of the tree, ``floor(log2 T) + 1``: the paper's R, read as the number of levels (``b = 0..R-1``), the
    # fewest that hold every node of COMPOSE(1, t), t <= T
    depth: int
    seed: int  # seed of the permutations, the noise and the choice of examples
    batch: int = 1  # examples a step
    change_clip: float | None = None  # C_2 of dp-srm
    parties: int = 1  # m of ddp-srm, and how its noise is made
    noise: Noise = "shares"
    fraction_bits: int = 24
    stages: int = 1  # K, T^0, t_Mon^0, rho and what a stage hands on, of the methods of zhang2021; there eta is eta^0
    stage_steps: int = 0
    momentum_steps: int = 0
    rho: float = 0.0
    hand_on: HandOn = "uniform"


def left_out(algorithm: str) -> tuple[str, ...]:
    """Name the stages' arguments that a method does not have."""
    kind = KINDS.get(algorithm)
    if kind is None:
        return "stages", "momentum_steps", "rho", "hand_on"
    missing = [] if kind.staged else ["stages"]
    missing += {"off": ["momentum_steps", "rho"], "on": ["momentum_steps"], "early": []}[kind.momentum]
    return (*missing, "sigma", "epsilon") if algorithm == "sgd-stages" else tuple(missing)


def settle_staged(asked: Request, examples: int) -> Settings:
    """Fill in the settings of a method of zhang2021; the steps of all stages are 2^(K+1) - 2 times T^0."""
    kind = KINDS[asked.algorithm]
    batch = max(1, round(math.sqrt(examples))) if asked.batch is None else asked.batch
    check.whole(1, examples, batch=batch)
    wanted = asked.steps or max(1, (asked.epochs or DEFAULT_EPOCHS) * examples // batch)
    stages = (asked.stages or DEFAULT_STAGES) if kind.staged else 1
    parts = (1 << (stages + 1)) - 2 if kind.staged else 1
    if wanted < parts:
        rule = f"must be at least 2^(K+1) - 2 = {parts} for K = {stages} stages of 2 T^0, ..., 2^K T^0 steps"
        raise check.ArgumentError("steps", wanted, rule)
    one = wanted // parts
    momentum = kind.steps_with_momentum(one)
    if asked.momentum_steps is not None:
        momentum = check.whole(0, one, momentum_steps=asked.momentum_steps)
    rho = 0.0 if kind.momentum == "off" else DEFAULT_RHO if asked.rho is None else float(asked.rho)
    return Settings(
        steps=one * parts,
        sigma=0.0 if asked.algorithm == "sgd-stages" else DEFAULT_SIGMA if asked.sigma is None else float(asked.sigma),
        alpha=1.0,
        gamma=1.0,
        eta=1.0 - rho if asked.eta is None else float(asked.eta),
        lam=float(asked.lam),
        ordering=asked.ordering,
        scale=asked.scale,
        depth=0,
        seed=asked.seed,
        batch=batch,
        stages=stages,
        stage_steps=one,
        momentum_steps=momentum,
        rho=rho,
        hand_on=asked.hand_on or "uniform",
    )
