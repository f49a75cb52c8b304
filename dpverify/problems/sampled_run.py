"""Runs on batches drawn without replacement, whose output is a random iterate, and noisy descent as such a run.

w^t+1 = w^t - eta_t (mean over B_t of grad f_i(w^t) + std u^t) + rho_t (w^t - w^t-1),   u^t ~ N(0, I),   0 <= t < T
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, draw_batch, generator
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.example_gradients import BatchMean, CompiledDescent
from dpverify.problems.stepped_run import LongRun

# streams of the seed; noise uses stream 1
BATCHES = 4
OUTPUT = 6


class SampledRun(LongRun):
    """State of a run on n examples from w^0 = ``start``; each step draws a new uniform batch."""

    def __init__(
        self,
        steps: int,
        examples: int,
        start: Vector,
        seed: Seed,
        *,
        keep: bool = False,
        vectors: int = 0,
    ) -> None:
        super().__init__(
            steps, examples, start, seed, keep=keep, vectors=vectors, counters=1
        )
        self._examples = examples
        self._chunk = 16
        self._batches = generator(self._seed, BATCHES)
        self._chosen = int(generator(self._seed, OUTPUT).integers(steps))
        self._output = self._w.copy()

    @property
    def output(self) -> Vector:
        """A copy of a uniformly drawn one of w^0, ..., w^(T-1); reading it before its step is an ArgumentError."""
        if self.t < self._chosen:
            raise check.ArgumentError(
                "t", self.t, f"must have reached the output's step {self._chosen}"
            )
        return self._output.copy()

    def _steps(self, first: int, last: int) -> None:
        del first  # equals t + 1
        while self.t < last:
            until = self._chosen if self.t < self._chosen < last else last
            self._walk(self.t, until)
            if self.t == self._chosen:
                self._output[:] = self._w

    @abstractmethod
    def _walk(self, first: int, last: int) -> None:
        """Do the steps from w^first to w^last, or raise an ArgumentError."""

    def _moved(self, t: int) -> None:
        """Record that w^t was reached, and store it if iterates are kept."""
        if len(self._iterates):
            self._iterates[t] = self._w
        self._done[0] = t

    def _batch(self, size: int) -> Indices:
        n = self._examples
        return (
            np.arange(n)
            if size == n
            else self._batches.choice(n, size, replace=False, shuffle=False)
        )


class DescentSchedule(Protocol):
    """The parameters of each step of noisy descent."""

    @property
    def steps(self) -> int: ...  # noqa: D102 -- T
    @property
    def batch(self) -> int: ...  # noqa: D102 -- b
    @property
    def std(self) -> float: ...  # noqa: D102 -- deviation of a coordinate of the noise on the mean

    def factors(self, first: int, last: int) -> tuple[Vector, Vector]:
        """Return eta_t and rho_t for ``first <= t < last``."""


@dataclass(frozen=True)
class DescentParameters:
    """Parameters of noisy descent with one step size and no momentum.

    Attributes
    ----------
    steps, batch : int
        T and b, at least 1; b is at most n.
    eta : float
        Step size, above 0.
    std : float
        Standard deviation of each coordinate of the noise, at least 0.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    steps: int
    batch: int
    eta: float
    std: float = 0.0

    def __post_init__(self) -> None:
        check.whole(1, steps=self.steps)
        check.whole(1, batch=self.batch)
        check.positive(eta=self.eta)
        check.not_negative(std=self.std)

    def factors(self, first: int, last: int) -> tuple[Vector, Vector]:
        """Return eta_t and rho_t for ``first <= t < last``."""
        return np.full(last - first, self.eta), np.zeros(last - first)


class NoisyDescent(SampledRun):
    """Descent with noise, and with momentum if the schedule has it: the formula in the module docstring, w^-1 = w^0.

    For logistic regression, many steps run in one compiled kernel.

    Parameters
    ----------
    oracle : BatchMean
        ``BatchGradient`` for logistic regression, ``ExampleGradients`` for any gradient
        function.
    examples : int
        n.
    start : (d,) array of float
        w^0.
    parameters : DescentSchedule
        Parameters of the run: ``DescentParameters`` or any other schedule.
    seed : int, sequence of int or SeedSequence
        Seed. Noise comes from its stream 1, batches from stream 4, and the choice of
        the output from stream 6.
    keep : bool
        Whether to keep all iterates.

    Raises
    ------
    ArgumentError
        If a batch is larger than n, or the stored vectors do not fit in memory. During
        the run, if an estimate is not finite.
    """

    def __init__(
        self,
        oracle: BatchMean,
        examples: int,
        start: Vector,
        parameters: DescentSchedule,
        *,
        seed: Seed = 0,
        keep: bool = False,
    ) -> None:
        self.parameters = parameters
        check.whole(1, check.whole(1, examples=examples), batch=parameters.batch)
        super().__init__(parameters.steps, examples, start, seed, keep=keep, vectors=3)
        self._oracle, self._order = oracle, np.arange(examples)
        self._mean, self._old = np.zeros_like(self._w), self._w.copy()

    def _walk(self, first: int, last: int) -> None:
        p = self.parameters
        w = self._w
        old = self._old
        etas, rhos = p.factors(first, last)
        if isinstance(self._oracle, CompiledDescent):
            iterates = self._iterates[first + 1 : last + 1]
            arguments = (p.std, w, old, self._batches, self._noise_rng, iterates)
            done = self._oracle.descend(self._order, p.batch, etas, rhos, *arguments)
            self._done[0] = first + done
            if first + done < last:
                raise check.ArgumentError(
                    "w",
                    f"an infinite number or NaN at step {first + done}",
                    "must stay finite",
                )
            return
        for t, (eta, rho) in enumerate(
            zip(etas.tolist(), rhos.tolist(), strict=True), first
        ):
            if p.batch < self._examples:
                draw_batch(self._batches, self._order, p.batch)
            self._oracle(w, self._order[: p.batch], self._mean)
            if p.std > 0.0:
                self._mean += p.std * self._noise_rng.standard_normal(len(w))
            if not np.isfinite(self._mean).all():
                raise check.ArgumentError(
                    "w", f"an infinite number or NaN at step {t}", "must stay finite"
                )
            move = eta * self._mean - rho * (w - old)
            old[:] = w
            w -= move
            self._moved(t + 1)
