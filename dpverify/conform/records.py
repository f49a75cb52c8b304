"""What is described to the tests, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dpverify.shown import ShownAsTable

Sampling: TypeAlias = Literal["poisson", "batches", "epochs"]
SAMPLINGS: tuple[Sampling, ...] = ("poisson", "batches", "epochs")
NEIGHBOURS = ("add-remove", "replace-one")
LEAST_EXAMPLES, MOST_EXAMPLES = 64, 10_000  # of a promise that an event makes

Step: TypeAlias = Callable[[Any, "np.ndarray[Any, Any]", np.random.Generator], "tuple[Any, np.ndarray[Any, Any]]"]
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
        What one example does: it is there or not, or another one is there.
    covariance : sequence of sequence of float, optional
        Of the noise of one coordinate over the steps, in units of its variance in a step without reuse; by default
        the noise of each step is independent. Trees have the number of nodes that two steps share.

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
        for name, words in (("sampling", SAMPLINGS), ("neighbours", NEIGHBOURS)):
            if getattr(self, name) not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, got {getattr(self, name)!r}.")

    @classmethod
    def of_event(cls, event: Any, *, clip: float, examples: int | None = None, **more: Any) -> Promise:
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
            raise ValueError(f"examples must be such that rate={rate} of them is whole, got examples={examples}.")
        return cls(sigma=sigma, clip=clip, examples=examples, batch=batch, sampling="poisson", **more)

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate of a step's noise."""
        return self.sigma * self.clip / self.divisor

    @property
    def sensitivity(self) -> float:
        """Most that one example may change a released vector."""
        return (2.0 if self.neighbours == "replace-one" else 1.0) * self.clip / self.divisor


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
        ``released`` is the vector that leaves, with its noise. All noise must come from ``rng``, a numpy Generator.
        A state can be copied by ``copy.deepcopy``.
    start : callable
        ``start() -> state`` before the first step; None by default.
    batches : callable, optional
        ``batches(examples, steps, rng)`` gives the indices of the batch of each step. Without it, sampling is not
        tested.

    Examples
    --------
    >>> import dpverify as dv
    >>> import numpy as np
    >>> def step(state, gradients, rng):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     total = (gradients * np.minimum(1, 1 / np.maximum(norms, 1e-12))).sum(axis=0)
    ...     return state, (total + 2.0 * rng.standard_normal(total.shape)) / 8
    >>> bool(dv.conformance(dv.PrivateOptimizer(step), dv.Promise(sigma=2.0, clip=1.0, divisor=8)))
    True
    """

    step: Step
    start: Callable[[], Any] = no_state
    batches: Batches | None = None


@dataclass(frozen=True)
class ConformanceTest:
    """One test, and what it found."""

    name: str
    passed: bool
    found: str  # with numbers
    sees: str  # the smallest fault that it would have seen, or what it cannot see
    alpha: float = 0.0  # most that the chance of a false alarm is; 0 where nothing is drawn or a draw decides nothing
    because: str = ""  # what another test is about whose fault makes this one fail; "" where none is known to
    error: str = ""  # of a call that ended without a value

    def __str__(self) -> str:
        return f"{'ok   ' if self.passed else 'FAULT'}  {self.name}: {self.found}. It sees: {self.sees}."


@dataclass(frozen=True, repr=False)
class Conformance(ShownAsTable):
    """All that was found; it is true where every test passed."""

    shown_by: ClassVar[str] = "dpverify.conform.tables:conformance_table"

    tests: list[ConformanceTest] = field(default_factory=list)

    def __bool__(self) -> bool:
        return all(test.passed for test in self.tests)

    @property
    def failed(self) -> list[ConformanceTest]:
        """The tests that found a fault."""
        return [test for test in self.tests if not test.passed]

    @property
    def alpha(self) -> float:
        """Most that the chance is that a correct optimizer fails any test."""
        return sum(test.alpha for test in self.tests)

    def text(self, *, verbose: bool = False, width: int = 100) -> str:
        """Return a report: faults first, each cause once; ``verbose`` adds every test with what it detects."""
        from dpverify.conform.causes import report

        return "\n".join(line.text for line in report(self.tests, self.alpha, width, verbose=verbose))

    def __str__(self) -> str:
        return self.text()
