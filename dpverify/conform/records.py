"""What is described to the tests: an optimizer, its promise, and what a step releases.

A step may release the clip length that it used and noised statistics besides its vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dpverify.conform.rounding import DTYPES, Dtype

if TYPE_CHECKING:
    from dpverify.privacy.matrix import MatrixMechanism, Participation


@dataclass(frozen=True)
class Statistic:
    """Numbers that each step releases besides its vector, with noise of their own.

    Parameters
    ----------
    sensitivity : float
        Largest change of these numbers by one example, in the Euclidean norm, above 0.
    deviation : float
        Standard deviation of the noise of each of them, above 0.
    size : int
        How many numbers there are, at least 1.
    """

    sensitivity: float
    deviation: float
    size: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name in ("sensitivity", "deviation"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be finite and above 0, got {name}={getattr(self, name)}.")
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got size={self.size}.")


@dataclass(frozen=True)
class Release:
    """What a step releases, if that is more than a vector.

    Parameters
    ----------
    vector : array
        The released vector.
    clip_length : float, optional
        Clip length that this step used, if ``Promise.adaptive_clip`` is set. It may depend on earlier releases only.
    statistic : array
        The noised numbers that ``Promise.statistic`` describes, such as the noised share of gradients that are not
        clipped.
    """

    vector: Any
    clip_length: float | None = None
    statistic: Any = ()


Sampling: TypeAlias = Literal["poisson", "batches", "epochs"]
SAMPLINGS: tuple[Sampling, ...] = ("poisson", "batches", "epochs")
NEIGHBOURS = ("add-remove", "replace-one")
# of a promise that an event makes
LEAST_EXAMPLES = 64
MOST_EXAMPLES = 10_000

Step: TypeAlias = Callable[[Any, "np.ndarray[Any, Any]", np.random.Generator], tuple[Any, Any]]
Batches: TypeAlias = Callable[[int, int, np.random.Generator], Iterable["np.ndarray[Any, Any]"]]


@dataclass(frozen=True)
class Promise:
    """What the accounting of an optimizer presumes.

    Parameters
    ----------
    sigma : float
        Noise multiplier, above 0: the released vector has noise of deviation ``sigma * clip / divisor`` in each
        coordinate.
    clip : float
        Largest norm that one example's gradient keeps, above 0.
    divisor : float
        What the sum of clipped gradients is divided by, above 0; 1 for a sum, the expected batch size for a mean.
    steps : int
        Steps of a trajectory that is tested, at least 2.
    dimension : int
        Length of a gradient, at least 2.
    sampling : {"poisson", "batches", "epochs"}
        Each example with probability ``batch / examples``; ``batch`` examples without replacement, anew in each step;
        a fresh order of all examples in each epoch, cut into batches.
    examples, batch : int
        Size of the data and of a batch, the expected one under Poisson sampling.
    neighbours : {"add-remove", "replace-one"}
        What one example does: it is there or not, or another one is there. If all batches have one size, an example
        that is not there leaves a gradient of 0.
    covariance : sequence of sequence of float, optional
        Of the noise of one coordinate over the steps, in units of its variance in a step without reuse; by default
        the noise of each step is independent. Trees have the number of nodes that two steps share.
    clip_schedule : sequence of float, optional
        Clip length of each step, if it follows a public schedule; ``clip`` is then the unit of the results. The noise
        of a step has deviation ``sigma`` times its own clip length over ``divisor``.
    adaptive_clip : bool
        Whether each step returns a :class:`Release` that names its clip length, which may depend on earlier releases.
        The noise of a step has deviation ``sigma`` times that clip length over ``divisor``.
    statistic : Statistic, optional
        Numbers that each step releases besides its vector, in a :class:`Release`, such as the noised share of gradients
        that are not clipped.
    memory : sequence of sequence of float, optional
        Weight of the clipped gradients of each step (column) in what is released in each step (row), for momentum of
        gradients that was released with correlated noise only: a lower triangular matrix. By default a step releases
        its own gradients only. The accounting must cover this memory.
    dtype : {"float64", "float32", "bfloat16", "float16"}
        Type of the released numbers. What one example changes and the law of the noise are tested with its rounding.
        Clipping and sums must be computed in float32 at least, whatever the type.
    participation : Participation, optional
        In which steps one example can take part, if the accounting presumes this and nothing else of the batches, as
        that of a matrix mechanism does. ``sampling`` then says only which sizes batches have.

    Examples
    --------
    >>> import dpverify as dv
    >>> promise = dv.Promise(sigma=1.1, clip=1.0, divisor=16, examples=200, batch=16)
    >>> promise.sensitivity
    0.0625
    """

    sigma: float
    clip: float
    divisor: float = 1.0
    steps: int = 8
    dimension: int = 8
    sampling: Sampling = "poisson"
    examples: int = 64
    batch: int = 8
    neighbours: Literal["add-remove", "replace-one"] = "add-remove"
    covariance: Any = None
    clip_schedule: Sequence[float] | None = None
    adaptive_clip: bool = False
    statistic: Statistic | None = None
    memory: Any = None
    dtype: Dtype = "float64"
    participation: Participation | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name in ("sigma", "clip", "divisor"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and above 0, got {name}={getattr(self, name)}.")
        for name, least in (("steps", 2), ("dimension", 2), ("batch", 1), ("examples", 4)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {name}={getattr(self, name)}.")
        if self.batch > self.examples:
            raise ValueError(f"batch must be at most examples={self.examples}, got batch={self.batch}.")
        for name, words in (("sampling", SAMPLINGS), ("neighbours", NEIGHBOURS), ("dtype", DTYPES)):
            if getattr(self, name) not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, got {getattr(self, name)!r}.")
        self._check_steps()

    def _check_steps(self) -> None:
        """Refuse what does not fit the number of steps."""
        schedule = self.clip_schedule
        if schedule is not None and (
            len(schedule) != self.steps or not all(0 < length < np.inf for length in schedule)
        ):
            raise ValueError(f"clip_schedule must have {self.steps} finite lengths above 0, one per step.")
        if schedule is not None and self.adaptive_clip:
            raise ValueError("clip_schedule and adaptive_clip exclude each other.")
        if self.memory is not None:
            memory = np.asarray(self.memory, dtype=float)
            right = memory.shape == (self.steps, self.steps) and np.isfinite(memory).all()
            if not right or np.triu(memory, 1).any() or not np.diag(memory).all():
                raise ValueError(
                    f"memory must be lower triangular, {self.steps} by {self.steps}, without 0 on its diagonal."
                )

    @classmethod
    def of_event(cls, event: Any, *, clip: float, examples: int | None = None, **fields: Any) -> Promise:
        """Read a promise from a dp-accounting event.

        Parameters
        ----------
        event : dp_accounting.DpEvent
            Gaussian steps that are all alike, sampled by Poisson or not, and composed.
        clip : float
            Largest norm that one example's gradient keeps, above 0: the event does not say.
        examples : int, optional
            Size of the data; by default the fewest from 64 on of which the sampled part is a whole number.
        **more
            The other fields, such as ``divisor``.

        Raises
        ------
        ValueError
            If the event holds another mechanism or steps of several kinds, or a batch would not be whole.
        """
        from dpverify.privacy.accounting import steps_of_event

        kinds = {(step.rate, step.noise) for step in steps_of_event(event)}
        if len(kinds) != 1:
            raise ValueError(f"event must hold steps of one kind, got {len(kinds)}.")
        ((rate, sigma),) = kinds
        part = Fraction(rate).limit_denominator(MOST_EXAMPLES).denominator
        examples = part * -(-LEAST_EXAMPLES // part) if examples is None else examples
        batch = round(rate * examples)
        if abs(batch - rate * examples) > 1e-9 * examples:
            raise ValueError(f"rate * examples must be an integer, got rate={rate}, examples={examples}.")
        return cls(sigma=sigma, clip=clip, examples=examples, batch=batch, sampling="poisson", **fields)

    @classmethod
    def of_mechanism(cls, mechanism: MatrixMechanism, *, sigma: float, clip: float, **fields: Any) -> Promise:
        """Promise the noise ``C^-1 Z`` of a matrix mechanism in each step.

        Parameters
        ----------
        mechanism : MatrixMechanism
            With a square matrix C, which gives the number of steps and the covariance.
        sigma, clip : float
            Standard deviation of a number of Z in clip lengths, and the clip length, above 0.
        **fields
            The other fields, such as ``divisor``.

        Raises
        ------
        ValueError
            If the matrix is not square, or a field is out of its range.
        """
        return cls(sigma=sigma, clip=clip, steps=mechanism.steps, covariance=mechanism.covariance(), **fields)

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate of a step's noise."""
        return self.sigma * self.clip / self.divisor

    @property
    def sensitivity(self) -> float:
        """Most that one example may change a released vector."""
        return (2.0 if self.neighbours == "replace-one" else 1.0) * self.clip / self.divisor

    @property
    def statistic_sensitivity(self) -> float:
        """Most that one example may change the statistic, scaled so that its noise has the vector's deviation."""
        return 0.0 if self.statistic is None else self.deviation * self.statistic.sensitivity / self.statistic.deviation

    @property
    def joint_sensitivity(self) -> float:
        """Most that one example may change the vector and the scaled statistic together."""
        return float(np.hypot(self.sensitivity, self.statistic_sensitivity))

    @property
    def joint_multiplier(self) -> float:
        """Noise multiplier of the vector and the statistic together, as an accountant needs it."""
        return self.sigma * self.sensitivity / self.joint_sensitivity

    @property
    def released_dimension(self) -> int:
        """Numbers that a step releases."""
        return self.dimension + (0 if self.statistic is None else self.statistic.size)

    def weight(self, step: int, of: int) -> float:
        """Weight of the gradients of a step in the release of a step, both counted from 0."""
        if self.memory is None:
            return float(step == of)
        return float(np.asarray(self.memory, dtype=float)[step, of])


def no_state() -> None:
    """Start without a state."""


@dataclass(frozen=True)
class PrivateOptimizer:
    """An optimizer, as far as privacy sees it.

    Parameters
    ----------
    step : callable
        ``step(state, gradients, rng) -> (state, released)``: ``gradients`` is a ``(batch, dimension)`` array of
        float64, one row per example of the batch that was drawn, as they come from the model and not yet clipped;
        ``released`` is the vector that leaves, with its noise, or a :class:`Release`. All noise must come from ``rng``,
        a numpy Generator. A state can be copied by ``copy.deepcopy``.
    start : callable
        ``start() -> state`` before the first step; None by default.
    batches : callable, optional
        ``batches(examples, steps, rng)`` gives the indices of the batch of each step. Without it, sampling is not
        tested.
    at_clip : callable, optional
        ``at_clip(length)`` builds the same optimizer with another clip length. With it, sensitivity and noise are
        tested at a second clip length, which finds one that is not passed on, or noise that is scaled by its square.

    Examples
    --------
    >>> import dpverify as dv
    >>> import numpy as np
    >>> def step(state, gradients, rng):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     total = (gradients * np.minimum(1, 0.7 / np.maximum(norms, 1e-12))).sum(axis=0)
    ...     return state, (total + 2.0 * 0.7 * rng.standard_normal(total.shape)) / 8
    >>> bool(dv.conformance(dv.PrivateOptimizer(step), dv.Promise(sigma=2.0, clip=0.7, divisor=8)))
    True
    """

    step: Step
    start: Callable[[], Any] = no_state
    batches: Batches | None = None
    at_clip: Callable[[float], PrivateOptimizer] | None = None
