"""A run of a jitted optimizer that can be advanced, watched and interrupted: what Algorithms 1 and 2 have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector

PATIENCE = 0.05
"""Seconds of compiled code between two looks at the keyboard and the progress bar."""

Progress = Callable[[int, Vector], None]


class SteppedRun(ABC):
    """A run, as far as it has come. Subclasses know what a step is.

    ``keep``: whether to keep all iterates, T + 1 vectors; the subclass sees to it that they fit in memory. Shapes:
    ``start`` (d,).
    """

    def __init__(self, steps: int, start: Vector, keep: bool, counters: int) -> None:
        self._last, self._w = steps, start
        self._iterates = np.full((steps + 1 if keep else 0, len(start)), np.nan)
        self._iterates[:1] = start
        self._done = np.zeros(counters, dtype=np.int64)
        self._chunk = 256

    @property
    def t(self) -> int:
        """How many steps were done."""
        return int(self._done[0])

    @property
    def w(self) -> Vector:
        """w_{t+1}, the iterate after the steps done so far, shape (d,); a copy."""
        return self._w.copy()

    @property
    def iterates(self) -> Matrix:
        """w_1, ..., w_{t+1}, shape (t + 1, d), if they were kept, else no rows; a view that cannot be written."""
        return read_only(self._iterates[: self.t + 1])

    def advance(self, steps: int | None = None, progress: Progress | None = None) -> None:
        """Do some steps. Ctrl-C is answered within a fraction of a second; ``t`` and ``w`` fit together after it."""
        left = self._last - self.t
        last = self.t + (left if steps is None else check.whole(0, left, steps=steps))
        while self.t < last:
            until, began = min(last, self.t + self._chunk), time.perf_counter()
            self._steps(self.t + 1, until)
            pace = PATIENCE / max(time.perf_counter() - began, 1e-9)
            self._chunk = max(1, min(1 << 24, int(self._chunk * min(pace, 8.0))))
            if progress is not None:
                progress(self.t, self.w)

    @abstractmethod
    def _steps(self, first: int, last: int) -> None:
        """Do the steps ``first <= t <= last``, or raise."""


def not_finite(gradients: Matrix, example: int, step: int) -> check.ArgumentError:
    """The error of a gradient that is not finite, or that leaves an entry out.

    It names the entry, the example and the step. Shapes: ``gradients`` (n, d).
    """
    row, column = np.argwhere(~np.isfinite(gradients))[0]
    value = f"{gradients[row, column]} in coordinate {column} for example {example} at step {step}"
    return check.ArgumentError("gradient", value, "must write a finite number into every coordinate")


def read_only(view: Matrix) -> Matrix:
    """The same view, which cannot be written."""
    view.flags.writeable = False
    return view
