"""Runs of an optimizer that can be advanced, observed and interrupted. Subclasses implement the step of a paper.

The caller provides the gradient of one example, as a kernel or as a Python function. A faulty gradient function raises
an error with a one-line message.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.kernels import check
from dpverify.kernels.epochs import check_schedule, example_of, last_shuffle, new_order
from dpverify.kernels.jit import CompilationError, is_kernel, python_of
from dpverify.kernels.tape import Seed, generator, seed_sequence
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.shared_types import Ordering

IndexGradient: TypeAlias = Callable[[Vector, int], ArrayLike]
"""``gradient(w, n)``: the gradient of the loss of example n, 0..N-1, at w, shape (d,)."""


def compiled(gradient: ExampleGradient, otherwise: str = "") -> ExampleGradient:
    """Return a compiled gradient, or raise an ArgumentError; ``otherwise`` names a class that takes any function."""
    if not is_kernel(gradient):
        see = f"; see {otherwise}" if otherwise else ""
        raise check.ArgumentError(
            "gradient", gradient, f"must be a kernel (w, x_row, y, out){see}"
        )
    return gradient


@contextmanager
def compiling(gradient: ExampleGradient) -> Iterator[None]:
    """Turn compilation errors of a gradient into an ArgumentError with one line."""
    try:
        yield
    except CompilationError as error:
        text = str(error).strip().splitlines()[0]
        rule = "must compile as (w, x_row, y, out) with float64 arrays and a float y"
        raise check.ArgumentError("gradient", f"{gradient!r}: {text}", rule) from error


def any_function(gradient: IndexGradient) -> IndexGradient:
    """Return a callable gradient, or raise an ArgumentError."""
    if not callable(gradient):
        raise check.ArgumentError("gradient", gradient, "must be a function (w, n)")
    return gradient


def ask(gradient: IndexGradient, w: Vector, n: int, t: int, out: Vector) -> None:
    """Call a Python gradient and write its result to ``out``. Shapes: ``w`` (d,), ``out`` (d,)."""
    value_at_w = np.asarray(gradient(w.copy(), n))
    if value_at_w.shape != w.shape or value_at_w.dtype.kind not in "fiu":
        value = f"{value_at_w.dtype} of shape {value_at_w.shape} for example {n} at step {t}"
        raise check.ArgumentError(
            "gradient", value, f"must be an array of numbers of shape {w.shape}"
        )
    out[:] = value_at_w


# seconds of compiled code between two checks for Ctrl-C and updates of the progress bar
PATIENCE = 0.05

Progress = Callable[[int, Vector], None]

_example_of = python_of(example_of)


class LongRun(ABC):
    """State of a run. Subclasses implement the steps.

    ``keep``: whether to keep all iterates. ``vectors``: number of other vectors of length d in memory. ``counters``:
    number of integer counters, the first of which is t. Noise comes from the seed's stream 1.
    """

    def __init__(
        self,
        steps: int,
        examples: int,
        start: Vector,
        seed: Seed,
        *,
        keep: bool,
        vectors: int,
        counters: int,
    ) -> None:
        start = check.array(None, start=start).copy()
        kept = steps + 1 if keep else 0
        check.memory(
            (vectors + kept) * len(start) + 2 * examples,
            steps=steps,
            dimension=len(start),
            examples=examples,
        )
        self._last, self._w, self._seed = steps, start, seed_sequence(seed)
        self._noise_rng = generator(self._seed, 1)
        self._iterates = np.full((kept, len(start)), np.nan)
        self._iterates[:1] = start
        self._done = np.zeros(counters, dtype=np.int64)
        self._chunk = 256

    @property
    def t(self) -> int:
        """Number of steps done."""
        return int(self._done[0])

    @property
    def w(self) -> Vector:
        """A copy of w_{t+1}, the iterate after the steps done so far, shape (d,)."""
        return self._w.copy()

    @property
    def iterates(self) -> Matrix:
        """A read-only view of w_1, ..., w_{t+1}, shape (t + 1, d), or of no rows if iterates are not kept."""
        return read_only(self._iterates[: self.t + 1])

    def advance(
        self, steps: int | None = None, progress: Progress | None = None
    ) -> None:
        """Do some steps. Ctrl-C takes effect within a fraction of a second, and leaves ``t`` and ``w`` consistent."""
        left = self._last - self.t
        last = self.t + (left if steps is None else check.whole(0, left, steps=steps))
        while self.t < last:
            until = min(last, self.t + self._chunk)
            began = time.perf_counter()
            self._steps(self.t + 1, until)
            pace = PATIENCE / max(time.perf_counter() - began, 1e-9)
            self._chunk = max(1, min(1 << 24, int(self._chunk * min(pace, 8.0))))
            if progress is not None:
                progress(self.t, self.w)

    @abstractmethod
    def _steps(self, first: int, last: int) -> None:
        """Do the steps ``first <= t <= last``, or raise an ArgumentError."""


class SteppedRun(LongRun):
    """A run that uses one example in each step, in the order of permutations from the seed's stream 0.

    ``schedule`` (T,): the example of each step, to replace the permutations.
    """

    def __init__(
        self,
        steps: int,
        examples: int,
        start: Vector,
        ordering: Ordering,
        seed: Seed,
        *,
        schedule: Indices | None = None,
        keep: bool = False,
        vectors: int = 0,
        counters: int = 1,
    ) -> None:
        N = check.whole(1, examples=examples)
        super().__init__(
            steps, N, start, seed, keep=keep, vectors=vectors, counters=counters
        )
        fixed_schedule = (
            None if schedule is None else check_schedule(schedule, N, steps)
        )
        self._order = new_order(
            N, last_shuffle(ordering, steps), self._seed, fixed_schedule
        )

    def _refuse(self, gradients: Matrix, momentum: Vector, t: int) -> None:
        """Raise an ArgumentError: a gradient or the momentum was not finite at step t. Shapes: ``gradients`` (n, d)."""
        if np.isfinite(gradients).all():
            raise check.ArgumentError(
                "momentum", f"{momentum.max()} at step {t}", "must stay finite"
            )
        raise not_finite(gradients, _example_of(t, self._order), t)


class FunctionRun(SteppedRun):
    """Mixin for runs on a Python gradient function, step by step; list it before the class with the state."""

    def _set_gradient(self, gradient: IndexGradient) -> None:
        self._function = any_function(gradient)
        self._chunk = 1

    def _write_gradient(self, w: Vector, n: int, t: int, out: Vector) -> None:
        """Write the gradient of example n at ``w`` to ``out``, both of shape (d,)."""
        ask(self._function, w, n, t, out)

    def _steps(self, first: int, last: int) -> None:
        for t in range(first, last + 1):
            self._step(t, _example_of(t, self._order))

    @abstractmethod
    def _step(self, t: int, n: int) -> None:
        """Do step t on example n, or raise an ArgumentError."""


def not_finite(gradients: Matrix, example: int, step: int) -> check.ArgumentError:
    """Return the error for ``gradients`` (n, d) with an entry that is not finite or was not written."""
    row, column = np.argwhere(~np.isfinite(gradients))[0]
    value = f"{gradients[row, column]} in coordinate {column} for example {example} at step {step}"
    return check.ArgumentError(
        "gradient", value, "must write a finite number into every coordinate"
    )


def read_only(view: Matrix) -> Matrix:
    """Return the view after making it read-only."""
    view.flags.writeable = False
    return view
