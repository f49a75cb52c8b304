"""What a user asks of a training run, checked; the settings that follow once N is known; and what a run gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.mpc.limits import LEAST_PARTIES, MOST_PARTIES, Noise
from dpverify.privacy.participation import Ordering
from dpverify.problems.rows import RowScaling
from dpverify.train.settings import (
    DEFAULT_EPOCHS,
    DEFAULT_SIGMA,
    STAGED,
    HandOn,
    Settings,
    left_out,
    settle_staged,
)

OF_SRM = ("batch", "change_clip")  # arguments of dp-srm and ddp-srm; the methods of zhang2021 have batches too
SRM = ("dp-srm", "ddp-srm")
OF_DDP = ("parties",)  # ddp-srm alone
DEFAULT_CHANGE_CLIP = 0.01  # C_2 in section 6.1 of wang2019

LEFT_OUT = {
    "dp-nsgd": ("gamma", *OF_SRM, *OF_DDP),
    "sr-nsgd": (*OF_SRM, *OF_DDP),
    "dp-srm": ("alpha", *OF_DDP),
    "ddp-srm": ("alpha",),
    **dict.fromkeys(STAGED, ("alpha", "gamma", "change_clip", *OF_DDP)),
}
DEFAULT_PARTIES = 5
MOST_STEPS = 1 << 53  # a float counts this far, and no run gets there


@dataclass(frozen=True)
class Request:
    """Arguments of a training run; nothing but ``data`` is read until it starts.

    Parameters
    ----------
    algorithm : str
        ``dp-nsgd``: Algorithm 1 of tran2022. ``sr-nsgd``: its Algorithm 2. ``dp-srm``: Algorithm 1 of wang2019.
        ``ddp-srm``: its Algorithm 2, in a multi-party computation; what is said of dp-srm below holds for it.
        Of zhang2021: ``dpageem``, in stages ``dpages`` without momentum, ``dpagem`` with it always on, ``sgd-stages``
        without noise; in one stage ``dp-sgd``, ``dp-sgd-linear`` (steps eta/t), ``dp-sgd-root`` (eta/sqrt(t)),
        ``dp-sgdm`` and ``dp-sgdem``, with momentum and with early momentum. Their gradients are clipped at 1.
    data, n : Path or None, int or None
        LIBSVM or CSV file, or of scikit-learn ``iris``, ``wine``, ``digits`` or, if None, ``breast_cancer``; so many of
        its examples, drawn with the seed, or all. More than two classes: softmax regression, not for ddp-srm.
    steps, epochs : int or None
        T, or T in units of N; one of the two. None: 10 epochs.
    sigma, epsilon, delta : float or None
        Noise multiplier, at least 0 (None: 1); or the privacy asked for, and sigma is the smallest that is certified.
        delta with sigma: the epsilon that it buys.
    alpha, gamma, eta : float or None
        Momentum weight, at least 1/N where there is noise (None: 1/N); cross-batch weight in [0, 1], of sr-nsgd only
        (None: eta N, at most 1); length of every step (None: 1/sqrt(N T)). Defaults are those of Theorems 6 and 9,
        where the printed alpha is (T/N) / T for its T. For dp-srm gamma is its momentum weight (None: C_2), and eta
        its zeta, L times the longest step (None: C_2); it has no alpha, and two gradients of an example are a visit.
    batch, change_clip : int or None, float or None
        b (None: the root of N, rounded) and C_2 (None: 0.01) of dp-srm; its C_1 is 1. For ddp-srm b is a multiple of m.
    parties : int or None
        m of ddp-srm, at least 3 (None: 5).
    stages, momentum_steps, rho : int, int or float, or None
        K (None: 3), t_Mon^0, at most T^0 (None: half of it), and the momentum, in [0, 1) (None: 0.9), of the methods of
        zhang2021. Stage k has 2^k T^0 steps of eta/2^k; ``steps`` and ``epochs`` are those of all stages together, of
        which a remainder is left. One stage has T^0 = T. eta is by default 1 - rho, b the root of N, rounded.
    hand_on : str or None
        What each of their stages hands on: a ``uniform`` one of its iterates, as the box has it (None), or the
        ``last``.
    noise, fraction_bits : str, int
        How noise of ddp-srm is made: ``shares`` of the parties, or inside, from shared random ``bits`` or by the
        ``ratio`` of uniforms. Numbers that are added up are rounded to 2^-fraction_bits, or to a fixed part of the
        noise where it is made inside.
    lam : float
        Weight of the nonconvex regularizer.
    ordering, scale : str
        ``fresh``: a new permutation in each epoch; ``once``: one for all. Rows get norm 1 (``unit``), are shortened to
        norm 1 (``clip``), or are left as they are (``none``).
    standardise : bool or None
        Columns get mean 0 and deviation 1; None: in the bundled data only.
    points : int or None
        How many times loss and gradient norm are measured after the start; None: up to 100, as far as they take at
        most about a fifth of the time.
    seed : int
        The same seed gives the same run.

    Raises
    ------
    ArgumentError
        If an argument is out of its domain, or two exclude each other.
    """

    algorithm: str = "dp-nsgd"
    data: Path | None = None
    n: int | None = None
    steps: int | None = None
    epochs: int | None = None
    sigma: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    alpha: float | None = None
    gamma: float | None = None
    eta: float | None = None
    batch: int | None = None
    change_clip: float | None = None
    parties: int | None = None
    stages: int | None = None
    momentum_steps: int | None = None
    rho: float | None = None
    hand_on: HandOn | None = None
    noise: Noise = "shares"
    fraction_bits: int = 24
    lam: float = 0.001
    ordering: Ordering = "fresh"
    scale: RowScaling = "unit"
    standardise: bool | None = None
    points: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of(("dp-nsgd", "sr-nsgd", *SRM, *STAGED), algorithm=self.algorithm)
        _one_of(("uniform", "last"), hand_on=self.hand_on or "last")
        _one_of(get_args(Noise), noise=self.noise)
        check.whole(0, 40, fraction_bits=self.fraction_bits)
        if self.parties is not None:
            check.whole(LEAST_PARTIES, MOST_PARTIES, parties=self.parties)
        _one_of(("fresh", "once"), ordering=self.ordering)
        _one_of(("unit", "clip", "none"), scale=self.scale)
        _check_privacy(self.epsilon, self.delta, self.sigma)
        if self.steps is not None and self.epochs is not None:
            both = f"steps={self.steps} and epochs={self.epochs}"
            raise check.ArgumentError("steps or epochs", both, "must be given, not both")
        for name, value in (("n", self.n), ("steps", self.steps), ("epochs", self.epochs), ("points", self.points)):
            if value is not None:
                check.whole(1, MOST_STEPS, **{name: value})
        check.whole(0, seed=self.seed)
        check.not_negative(lam=self.lam)
        if self.sigma is not None:
            check.not_negative(sigma=self.sigma)
        if self.alpha is not None:
            check.weight(alpha=self.alpha)
        if self.gamma is not None:
            (check.weight if self.algorithm in SRM else check.proportion)(gamma=self.gamma)
        if self.eta is not None:
            check.positive(eta=self.eta)
        if self.batch is not None:
            check.whole(1, batch=self.batch)
        if self.change_clip is not None:
            check.positive(change_clip=self.change_clip)
        if self.stages is not None:
            check.whole(1, 60, stages=self.stages)
        if self.momentum_steps is not None:
            check.whole(0, momentum_steps=self.momentum_steps)
        if self.rho is not None and not check.proportion(rho=self.rho) < 1.0:
            raise check.ArgumentError("rho", self.rho, "must lie in [0, 1)")
        for name in (*LEFT_OUT[self.algorithm], *left_out(self.algorithm)):
            if getattr(self, name) is not None:
                raise check.ArgumentError(name, getattr(self, name), f"must be left out, {self.algorithm} has none")
        if self.algorithm in (*SRM, *STAGED) and self.ordering != "fresh":
            raise check.ArgumentError(
                "ordering", self.ordering, f"must be fresh: {self.algorithm} draws each batch anew"
            )

    def settle(self, n_examples: int) -> Settings:
        """Fill in what depends on the number of examples; refuse too many steps, and alpha below 1/N under noise."""
        if self.algorithm in SRM:
            return self._settle_srm(n_examples)
        if self.algorithm in STAGED:
            return settle_staged(self, n_examples)
        steps = self.steps if self.steps is not None else (self.epochs or DEFAULT_EPOCHS) * n_examples
        check.whole(1, MOST_STEPS, steps=steps)
        sigma = DEFAULT_SIGMA if self.sigma is None else float(self.sigma)  # with epsilon: until it is calibrated
        alpha = 1 / n_examples if self.alpha is None else float(self.alpha)
        if sigma > 0 and alpha < 1 / n_examples:
            rule = f"must be at least 1/N = {1 / n_examples:.6g}, on which the noise 4*alpha*G*sigma*sqrt(V) rests"
            raise check.ArgumentError("alpha", alpha, rule)
        eta = 1 / math.sqrt(n_examples * steps) if self.eta is None else float(self.eta)
        gamma = min(1.0, eta * n_examples) if self.gamma is None else float(self.gamma)
        return Settings(
            steps=steps,
            sigma=sigma,
            alpha=alpha,
            gamma=gamma if self.algorithm == "sr-nsgd" else 1.0,
            eta=eta,
            lam=float(self.lam),
            ordering=self.ordering,
            scale=self.scale,
            depth=steps.bit_length(),
            seed=self.seed,
        )

    def _settle_srm(self, n_examples: int) -> Settings:
        """The same for dp-srm; an epoch is n/(2b) steps, at least one."""
        m = 1 if self.algorithm == "dp-srm" else self.parties or DEFAULT_PARTIES
        usual = m * max(1, round(math.sqrt(n_examples) / m))
        batch = check.whole(1, n_examples, batch=usual if self.batch is None else self.batch)
        steps = self.steps or max(1, (self.epochs or DEFAULT_EPOCHS) * n_examples // (2 * batch))
        clip = DEFAULT_CHANGE_CLIP if self.change_clip is None else float(self.change_clip)
        return Settings(
            steps=check.whole(1, MOST_STEPS, steps=steps),
            sigma=DEFAULT_SIGMA if self.sigma is None else float(self.sigma),
            alpha=1.0,
            gamma=min(1.0, clip) if self.gamma is None else float(self.gamma),
            eta=clip if self.eta is None else float(self.eta),
            lam=float(self.lam),
            ordering=self.ordering,
            scale=self.scale,
            depth=0,
            seed=self.seed,
            batch=batch,
            change_clip=clip,
            parties=m,
            noise=self.noise,
            fraction_bits=self.fraction_bits,
        )


def _check_privacy(epsilon: float | None, delta: float | None, sigma: float | None) -> None:
    """Refuse epsilon without delta, and with sigma."""
    if epsilon is not None:
        check.positive(epsilon=epsilon)
        if delta is None:
            raise check.ArgumentError("delta", delta, "must be given with epsilon")
        if sigma is not None:
            raise check.ArgumentError("sigma", sigma, f"must be left out where epsilon={epsilon} is asked for")
    if delta is not None and not check.positive(delta=delta) < 1.0:
        raise check.ArgumentError("delta", delta, "must be above 0 and below 1")


def _one_of(choices: tuple[str, ...], **named: str) -> None:
    """Take one of a few words; the keyword is the variable's name."""
    ((variable, value),) = named.items()
    if value not in choices:
        raise check.ArgumentError(variable, value, f"must be one of {', '.join(choices)}")


NOT_CERTIFIED = "not certified"


class DataInfo(Record, frozen=True, kw_only=True):
    """The data set: its name, its size (n examples, d weights), its classes, and what was done to its columns."""

    name: str
    n: int
    d: int
    classes: tuple[str, ...]
    standardised: bool

    @property
    def called(self) -> str:
        """The classes in a sentence."""
        return f"{', '.join(self.classes[:-1])} and {self.classes[-1]}"


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


class PartyResult(Record, frozen=True, kw_only=True):
    """What one party of ddp-srm may know, and show."""

    schema: Literal[1] = 1
    privacy: str
    settings: Settings
    w: list[float]  # the last iterate
    output: list[float]  # one of the others, drawn with the seed


def mean_gradient_norm(path: Sequence[Point]) -> float:
    """Mean of the gradient's norm over the measured points of w_1, .., w_T; w_{T+1} counts only where it is alone."""
    counted = path[:-1] or path
    return math.fsum(point.gradient_norm for point in counted) / len(counted)
