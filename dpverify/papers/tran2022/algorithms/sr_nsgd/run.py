"""A run of Algorithm 2 that can be advanced, watched and interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.tape import Seed, generator, seed_sequence
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruct.stream import new_constants, new_state, state_floats
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.schedule import check_schedule, draw_schedule
from dpverify.problems.stepped_run import SteppedRun, not_finite, read_only

BAD_GRADIENT, BAD_MOMENTUM = 1, 2
"""What a step says that was not done."""


class SrRun(SteppedRun):
    """A run of Algorithm 2, as far as it has come. Subclasses know how to get a gradient.

    ``tape`` (n, d): unit Gaussians to use instead of drawing them, with the rows of ``sr_nsgd_noise.tape_layout(N,
    T)``. Shapes: ``start`` (d,), ``schedule`` (T,).
    """

    def __init__(
        self, examples: int, start: Vector, parameters: SrParameters, seed: Seed, tape: Tape | None,
        schedule: Indices | None, keep: bool,
    ) -> None:  # fmt: skip
        self.parameters = p = parameters
        N, T, start = check.whole(1, examples=examples), p.steps, check.array(None, start=start).copy()
        d, kept = len(start), p.steps if keep else 0
        check.memory(2 * state_floats(N, T, d) + 3 * kept * d + 2 * N, examples=examples, steps=T, dimension=d)
        super().__init__(T, start, keep, counters=2)
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
        self._momenta = np.full((2, kept, d), np.nan)

    @property
    def momenta(self) -> Matrix:
        """m_1, ..., m_t without noise, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return read_only(self._momenta[0, : self.t])

    @property
    def released(self) -> Matrix:
        """m^_1, ..., m^_t, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return read_only(self._momenta[1, : self.t])

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

    @property
    def _step_arguments(self) -> tuple[Any, ...]:
        """What ``sr_step`` takes after t."""
        p = self.parameters
        return (
            floor_log2(len(self._order)), p.alpha, p.eta, *self._constants, bool(p.sigma > 0.0), self._deviations,
            self._tape, self._noise_rng, self._unit, self._gradients, self._anchors, self._left, self._nodes,
            *self._state, self._w, self._m, self._m_hat, self._iterates, self._momenta, self._done,
        )  # fmt: skip

    def _fail(self, failed: int) -> None:
        """Say what was not finite at the step after those that are done."""
        t = self.t + 1
        if failed == BAD_MOMENTUM:
            raise check.ArgumentError("momentum", f"{self._m_hat.max()} at step {t}", "must stay finite")
        example = int(self._given[t - 1] if len(self._given) else self._order[(t - 1) % len(self._order)])
        raise not_finite(self._gradients, example, t)
