"""A run of Algorithm 2 that can be advanced, watched and interrupted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.tape import Seed, generator, seed_sequence
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.dp_nsgd_run import PATIENCE, Progress
from dpverify.papers.tran2022.reconstruct import new_constants, new_state, state_floats
from dpverify.papers.tran2022.sr_nsgd_noise import tape_rows
from dpverify.papers.tran2022.sr_nsgd_parameters import SrParameters
from dpverify.papers.tran2022.sr_nsgd_schedule import check_schedule, draw_schedule

BAD_GRADIENT, BAD_MOMENTUM = 1, 2
"""What a step says that was not done."""


class SrRun(ABC):
    """A run of Algorithm 2, as far as it has come. Subclasses know how to get a gradient.

    Parameters
    ----------
    examples : int
        N, at least 1.
    start : (d,) array of float
        w_1.
    parameters : SrParameters
        T, alpha, gamma, eta, and the noise.
    seed : int, sequence of int or SeedSequence
        Of permutations and noise.
    tape : (n, d) array of float or None
        Unit Gaussians to use instead of drawing them, with the rows of ``sr_nsgd_noise.tape_layout(N, T)``.
    schedule : (T,) array of int or None
        The example of each step, in place of permutations.
    keep : bool
        Whether to keep all iterates and momenta, about 3T vectors.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory.
    """

    def __init__(
        self, examples: int, start: Vector, parameters: SrParameters, seed: Seed, tape: Tape | None,
        schedule: Indices | None, keep: bool,
    ) -> None:  # fmt: skip
        self.parameters = p = parameters
        N, T, self._w = check.whole(1, examples=examples), p.steps, check.array(None, start=start).copy()
        d, kept = len(self._w), p.steps if keep else 0
        check.memory(2 * state_floats(N, T, d) + 3 * kept * d + 2 * N, examples=examples, steps=T, dimension=d)
        rows = tape_rows(N, T)
        self._tape = np.empty((0, d)) if tape is None else check.array(rows, d, tape=tape)
        self._given = np.empty(0, dtype=np.int64) if schedule is None else check_schedule(schedule, N, T)
        self._order, self._seed = np.arange(N), seed_sequence(seed)
        self._order_rng, self._noise_rng = generator(self._seed, 0), generator(self._seed, 1)
        self._deviations, self._constants = p.deviations(N), new_constants(N, p.alpha, p.gamma)
        self._state = new_state(N, T, d)
        self._left, self._nodes = np.zeros_like(self._state.prefixes), np.zeros_like(self._state.prefixes)
        self._gradients = np.full((3, d), np.nan)  # an entry that a gradient leaves out is then seen
        self._anchors = np.stack([self._w, self._w])
        self._m, self._m_hat, self._unit = np.zeros(d), np.zeros(d), np.zeros(d)
        self._iterates, self._momenta = np.full((kept + 1 if keep else 0, d), np.nan), np.full((2, kept, d), np.nan)
        self._iterates[:1] = self._w
        self._done = np.zeros(2, dtype=np.int64)
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
        return _read_only(self._iterates[: self.t + 1])

    @property
    def momenta(self) -> Matrix:
        """m_1, ..., m_t without noise, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return _read_only(self._momenta[0, : self.t])

    @property
    def released(self) -> Matrix:
        """m^_1, ..., m^_t, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return _read_only(self._momenta[1, : self.t])

    @property
    def schedule(self) -> Indices:
        """The example of each step 1..T, shape (T,): those given, or those that the seed gives."""
        if len(self._given):
            return self._given.copy()
        return draw_schedule(len(self._order), self.parameters.steps, self.parameters.ordering, self._seed)

    @property
    def deviations(self) -> Vector:
        """Standard deviations of nodes, shape (4,): G up to step 2N, G after it, Delta, r; in units of the gradient."""
        return self._deviations.copy()

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
    def _step_arguments(self) -> tuple[Any, ...]:
        """What ``sr_step`` takes after t."""
        p = self.parameters
        return (
            floor_log2(len(self._order)), p.alpha, p.eta, *self._constants, bool(p.sigma > 0.0), self._deviations,
            self._tape, self._noise_rng, self._unit, self._gradients, self._anchors, self._left, self._nodes,
            *self._state, self._w, self._m, self._m_hat, self._iterates, self._momenta, self._done,
        )  # fmt: skip

    @abstractmethod
    def _steps(self, first: int, last: int) -> None:
        """Do the steps ``first <= t <= last``, or raise."""

    def _fail(self, failed: int) -> None:
        """Say what was not finite at the step after those that are done."""
        t = self.t + 1
        if failed == BAD_MOMENTUM:
            raise check.ArgumentError("momentum", f"{self._m_hat.max()} at step {t}", "must stay finite")
        example = int(self._given[t - 1] if len(self._given) else self._order[(t - 1) % len(self._order)])
        row, column = np.argwhere(~np.isfinite(self._gradients))[0]
        value = f"{self._gradients[row, column]} in coordinate {column} for example {example} at step {t}"
        raise check.ArgumentError("gradient", value, "must write a finite number into every coordinate")


def _read_only(view: Matrix) -> Matrix:
    view.flags.writeable = False
    return view
