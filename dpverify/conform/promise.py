"""The promise of an optimizer: the assumptions of its accounting, which the tests check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dpverify.conform.rounding import DTYPES, Dtype

if TYPE_CHECKING:
    from dpverify.privacy.matrix import MatrixMechanism, Participation


def _check_positive(record: object, *names: str) -> None:
    """Raise ValueError if one of these fields is not a finite number above 0."""
    for name in names:
        value = getattr(record, name)
        is_number = isinstance(value, Real)
        if not is_number or not 0 < value < np.inf:
            raise ValueError(
                f"{name} must be a finite number above 0, got {name}={value!r}."
            )


def _check_integer(record: object, name: str, minimum: int) -> None:
    """Raise ValueError if this field is not an integer of at least ``minimum``."""
    value = getattr(record, name)
    is_integer = isinstance(value, Integral)
    if not is_integer or value < minimum:
        raise ValueError(
            f"{name} must be an integer of at least {minimum}, got {name}={value!r}."
        )


def _is_covariance(covariance: Any, steps: int) -> bool:
    """Test whether this is a symmetric and positive definite matrix with a row for each step."""
    try:
        matrix = np.asarray(covariance, dtype=float)
        np.linalg.cholesky(matrix)
    except (TypeError, ValueError):  # LinAlgError is a ValueError
        return False
    return (
        matrix.shape == (steps, steps)
        and np.isfinite(matrix).all()
        and np.allclose(matrix, matrix.T)
    )


@dataclass(frozen=True)
class Statistic:
    """Additional numbers that each step releases, with independent noise.

    Parameters
    ----------
    sensitivity : float
        Largest change of these numbers by one example, in the Euclidean norm, above 0.
    deviation : float
        Standard deviation of the noise of each number, above 0.
    size : int
        Number of released numbers, at least 1.
    """

    sensitivity: float
    deviation: float
    size: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError if a field is out of range."""
        _check_positive(self, "sensitivity", "deviation")
        _check_integer(self, "size", 1)


Sampling: TypeAlias = Literal["poisson", "batches", "epochs"]
SAMPLINGS: tuple[Sampling, ...] = ("poisson", "batches", "epochs")
NEIGHBOURS = ("add-remove", "replace-one")
# limits of Promise.of_event
MIN_EXAMPLES = 64
MAX_EXAMPLES = 10_000


@dataclass(frozen=True)
class Promise:
    """Assumptions of the accounting of an optimizer.

    Parameters
    ----------
    sigma : float
        Noise multiplier, above 0: the noise of each coordinate of the released vector
        has standard deviation ``sigma * clip / divisor``.
    clip : float
        Largest norm that one example's gradient keeps, above 0.
    divisor : float
        Divisor of the sum of clipped gradients, above 0: 1 for a sum, the expected
        batch size for a mean.
    steps : int
        Number of steps of a tested run, at least 2.
    dimension : int
        Length of a gradient, at least 2.
    sampling : {"poisson", "batches", "epochs"}
        ``"poisson"`` includes each example with probability ``batch / examples``.
        ``"batches"`` draws ``batch`` examples without replacement in each step.
        ``"epochs"`` permutes all examples in each epoch and cuts the permutation into
        batches.
    examples, batch : int
        Size of the data set, and size of a batch (the expected size under Poisson
        sampling).
    neighbours : {"add-remove", "replace-one"}
        Neighbouring data sets differ by adding or removing one example, or by replacing
        one. If all batches have the same size, a removed example leaves a gradient of
        0.
    covariance : sequence of sequence of float, optional
        Covariance of the noise of one coordinate over the steps, in units of
        ``(sigma * clip / divisor)**2``. By default the noise of different steps is
        independent. For tree aggregation, the entry of two steps is the number of nodes
        that they share.
    clip_schedule : sequence of float, optional
        Clip length of each step, if it follows a public schedule; results are then in
        units of ``clip``. The noise of a step has standard deviation ``sigma`` times
        the step's clip length over ``divisor``.
    adaptive_clip : bool
        Whether each step returns a :class:`Release` that names its clip length, which
        may depend on earlier releases. The noise of a step has standard deviation
        ``sigma`` times that clip length over ``divisor``.
    statistic : Statistic, optional
        Additional numbers that each step releases in a :class:`Release`, such as the
        noised fraction of gradients that are not clipped.
    memory : sequence of sequence of float, optional
        Lower triangular matrix: the weight of the clipped gradients of each step
        (column) in the release of each step (row). It is needed if momentum of
        gradients is released with correlated noise only. By default a release contains
        the gradients of its own step only. The accounting must cover this memory.
    dtype : {"float64", "float32", "bfloat16", "float16"}
        Type of the released numbers. The tests of sensitivity and noise allow for its
        rounding. For every type, clipping and sums must be computed in float32 or a
        wider type.
    participation : Participation, optional
        Constraint on the steps in which one example can take part, if the accounting
        assumes nothing else about the batches, as for matrix mechanisms. ``sampling``
        then determines only the batch sizes.

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
        """Raise ValueError if a field is out of range."""
        _check_positive(self, "sigma", "clip", "divisor")
        for name, minimum in (
            ("steps", 2),
            ("dimension", 2),
            ("batch", 1),
            ("examples", 4),
        ):
            _check_integer(self, name, minimum)
        if self.batch > self.examples:
            raise ValueError(
                f"batch must be at most examples={self.examples}, got batch={self.batch}."
            )
        for name, allowed_values in (
            ("sampling", SAMPLINGS),
            ("neighbours", NEIGHBOURS),
            ("dtype", DTYPES),
        ):
            if getattr(self, name) not in allowed_values:
                raise ValueError(
                    f"{name} must be one of {', '.join(allowed_values)}, got {getattr(self, name)!r}."
                )
        self._check_steps()

    def _check_steps(self) -> None:
        """Raise ValueError if a field does not fit the number of steps."""
        schedule = self.clip_schedule
        if schedule is not None and (
            len(schedule) != self.steps
            or not all(0 < length < np.inf for length in schedule)
        ):
            raise ValueError(
                f"clip_schedule must have {self.steps} finite lengths above 0, one per step."
            )
        if schedule is not None and self.adaptive_clip:
            raise ValueError("clip_schedule and adaptive_clip exclude each other.")
        if self.covariance is not None and not _is_covariance(
            self.covariance, self.steps
        ):
            rule = (
                f"must be symmetric and positive definite, {self.steps} by {self.steps}"
            )
            raise ValueError(
                f"covariance {rule}, got covariance={short_repr(self.covariance)}."
            )
        if self.memory is not None:
            memory = np.asarray(self.memory, dtype=float)
            is_valid = (
                memory.shape == (self.steps, self.steps) and np.isfinite(memory).all()
            )
            if not is_valid or np.triu(memory, 1).any() or not np.diag(memory).all():
                raise ValueError(
                    f"memory must be lower triangular, {self.steps} by {self.steps}, without 0 on its diagonal."
                )

    @classmethod
    def of_event(
        cls, event: Any, *, clip: float, examples: int | None = None, **fields: Any
    ) -> Promise:
        """Read a promise from a dp-accounting event.

        Parameters
        ----------
        event : dp_accounting.DpEvent
            Composition of identical Gaussian steps, with or without Poisson sampling.
        clip : float
            Largest norm that one example's gradient keeps, above 0; the event does not
            contain it.
        examples : int, optional
            Size of the data set; by default the smallest size of at least 64 with an
            integer expected batch size.
        **fields
            The other fields, such as ``divisor``.

        Raises
        ------
        ValueError
            If the event has another mechanism or different steps, or if the expected
            batch size is not an integer.
        """
        from dpverify.privacy.accounting import steps_of_event

        kinds = {(step.rate, step.noise) for step in steps_of_event(event)}
        if len(kinds) != 1:
            raise ValueError(f"event must hold steps of one kind, got {len(kinds)}.")
        ((rate, sigma),) = kinds
        denominator = Fraction(rate).limit_denominator(MAX_EXAMPLES).denominator
        examples = (
            denominator * -(-MIN_EXAMPLES // denominator)
            if examples is None
            else examples
        )
        batch = round(rate * examples)
        if abs(batch - rate * examples) > 1e-9 * examples:
            raise ValueError(
                f"rate * examples must be an integer, got rate={rate}, examples={examples}."
            )
        return cls(
            sigma=sigma,
            clip=clip,
            examples=examples,
            batch=batch,
            sampling="poisson",
            **fields,
        )

    @classmethod
    def of_mechanism(
        cls, mechanism: MatrixMechanism, *, sigma: float, clip: float, **fields: Any
    ) -> Promise:
        """Promise the noise ``C^-1 Z`` of a matrix mechanism in each step.

        Parameters
        ----------
        mechanism : MatrixMechanism
            Mechanism with a square matrix C, which determines the number of steps and
            the covariance.
        sigma, clip : float
            Standard deviation of an entry of Z in clip lengths, and the clip length;
            both above 0.
        **fields
            The other fields, such as ``divisor``.

        Raises
        ------
        ValueError
            If the matrix is not square or a field is out of range.
        """
        return cls(
            sigma=sigma,
            clip=clip,
            steps=mechanism.steps,
            covariance=mechanism.covariance(),
            **fields,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one coordinate in one step."""
        return self.sigma * self.clip / self.divisor

    @property
    def sensitivity(self) -> float:
        """Largest allowed change of a released vector by one example."""
        return (
            (2.0 if self.neighbours == "replace-one" else 1.0)
            * self.clip
            / self.divisor
        )

    @property
    def statistic_sensitivity(self) -> float:
        """Largest allowed change of the statistic by one example, in units in which its noise has ``deviation``."""
        return (
            0.0
            if self.statistic is None
            else self.deviation * self.statistic.sensitivity / self.statistic.deviation
        )

    @property
    def joint_sensitivity(self) -> float:
        """Largest allowed joint change of the vector and the scaled statistic by one example."""
        return float(np.hypot(self.sensitivity, self.statistic_sensitivity))

    @property
    def joint_multiplier(self) -> float:
        """Noise multiplier of the joint release of vector and statistic, for an accountant."""
        return self.sigma * self.sensitivity / self.joint_sensitivity

    @property
    def released_dimension(self) -> int:
        """Number of released numbers per step."""
        return self.dimension + (0 if self.statistic is None else self.statistic.size)

    def weight(self, step: int, gradient_step: int) -> float:
        """Return the weight of the gradients of ``gradient_step`` in the release of ``step``, both counted from 0."""
        if self.memory is None:
            return float(step == gradient_step)
        return float(np.asarray(self.memory, dtype=float)[step, gradient_step])
