"""A run of Algorithm 1 that can be advanced, watched and interrupted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.dp_nsgd_parameters import Parameters
from dpverify.papers.tran2022.tree_noise import LEVELS, fill_decay

PATIENCE = 0.05
"""Seconds of compiled code between two looks at the keyboard and the progress bar."""

Progress = Callable[[int, Vector], None]


class NsgdRun(ABC):
    """A run of Algorithm 1, as far as it has come. Subclasses know how to get a gradient.

    Parameters
    ----------
    examples : int
        N, at least 1.
    start : (d,) array of float
        w_1.
    parameters : Parameters
        T, alpha, eta, and the noise.
    seed : int, sequence of int or SeedSequence
        Of permutations and noise.
    tape : (T, d) array of float or None
        Unit Gaussians to use instead of drawing them; row t - 1 belongs to step t.
    keep : bool
        Whether to keep all iterates, T + 1 vectors.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory.
    """

    def __init__(
        self, examples: int, start: Vector, parameters: Parameters, seed: Seed, tape: Tape | None, keep: bool
    ) -> None:
        self.parameters = parameters
        steps, examples = parameters.steps, check.whole(1, examples=examples)
        self._w = check.array(None, start=start).copy()
        d = len(self._w)
        slots = steps.bit_length()
        check.memory((slots + (steps + 1 if keep else 0)) * d + examples, steps=steps, dimension=d, examples=examples)
        self._tape = np.empty((0, d)) if tape is None else check.array(steps, d, tape=tape)
        self._scale = parameters.node_deviation(examples)
        self._decay = np.empty(LEVELS)
        fill_decay(parameters.alpha, self._decay)
        self._order = np.arange(examples)
        self._order_rng, self._noise_rng = generator(seed, 0), generator(seed, 1)
        self._m, self._m_hat, self._unit = np.zeros(d), np.zeros(d), np.zeros(d)  # m_0 <- m^_0 <- 0
        self._gradient = np.full(d, np.nan)  # an entry that a gradient leaves out is then seen
        self._slots = np.zeros((slots, d))
        self._iterates = np.full((steps + 1 if keep else 0, d), np.nan)
        self._iterates[:1] = self._w
        self._done = np.zeros(1, dtype=np.int64)
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
        kept = self._iterates[: self.t + 1]
        kept.flags.writeable = False
        return kept

    @property
    def node_deviation(self) -> float:
        """Standard deviation of a node's noise, in units of the gradient."""
        return self._scale

    def advance(self, steps: int | None = None, progress: Progress | None = None) -> None:
        """Do some steps. Ctrl-C is answered within a fraction of a second; ``t`` and ``w`` fit together after it.

        Parameters
        ----------
        steps : int or None
            How many, at most those that are left; None: all of these.
        progress : callable or None
            ``progress(t, w)``, called every twentieth of a second or so, and after the last step.

        Raises
        ------
        ArgumentError
            If a gradient is not finite, or there are fewer steps left.
        """
        left = self.parameters.steps - self.t
        last = self.t + (left if steps is None else check.whole(0, left, steps=steps))
        while self.t < last:
            until, began = min(last, self.t + self._chunk), time.perf_counter()
            self._steps(self.t + 1, until)
            pace = PATIENCE / max(time.perf_counter() - began, 1e-9)
            self._chunk = max(1, min(1 << 24, int(self._chunk * min(pace, 8.0))))
            if progress is not None:
                progress(self.t, self.w)

    @property
    def _state(self) -> tuple[Vector, Vector, Vector, Matrix, Matrix, Indices]:
        """What a step changes."""
        return self._w, self._m, self._m_hat, self._slots, self._iterates, self._done

    @abstractmethod
    def _steps(self, first: int, last: int) -> None:
        """Do the steps ``first <= t <= last``, or raise."""

    def _fail(self, t: int) -> None:
        """Say what was not finite at step t."""
        example = int(self._order[(t - 1) % len(self._order)])
        bad = np.flatnonzero(~np.isfinite(self._gradient))
        if len(bad) == 0:
            rule = "must stay finite"
            raise check.ArgumentError("momentum", f"{self._m_hat.max()} at step {t}", rule)
        value = f"{self._gradient[bad[0]]} in coordinate {bad[0]} for example {example} at step {t}"
        raise check.ArgumentError("gradient", value, "must write a finite number into every coordinate")
