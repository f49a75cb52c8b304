"""A run of Algorithm 2 that can be advanced, watched and interrupted."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.epochs import draw_schedule
from dpverify.kernels.normal import NO_WORDS
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import state_floats
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import BAD_GRADIENT, new_sr_numbers, new_sr_state
from dpverify.problems.stepped_run import SteppedRun, read_only


class SrRun(SteppedRun):
    """A run of Algorithm 2, as far as it has come. Subclasses know how to get a gradient.

    ``tape`` (n, d): unit Gaussians to use instead of drawing them, with the rows of ``sr_nsgd.noise.tape_layout(N,
    T)``. Shapes: ``start`` (d,), ``schedule`` (T,).
    """

    def __init__(
        self,
        examples: int,
        start: Vector,
        parameters: SrParameters,
        seed: Seed,
        tape: Tape | None,
        schedule: Indices | None,
        keep: bool,
    ) -> None:
        self.parameters = p = parameters
        examples = check.whole(1, examples=examples)
        vectors = 2 * state_floats(examples, p.steps, 1) + (2 * p.steps if keep else 0)
        super().__init__(
            p.steps, examples, start, p.ordering, seed, schedule=schedule, keep=keep, vectors=vectors, counters=2
        )
        d = len(self._w)
        rows = tape_rows(examples, p.steps)
        tape = np.empty((0, d)) if tape is None else check.array(rows, d, tape=tape)
        self._noise = NodeNoise(p.deviations(examples), tape, NO_WORDS, self._noise_rng, np.zeros(d))
        self._numbers = new_sr_numbers(p, examples)
        self._state = new_sr_state(examples, p.steps, self._w, self._iterates, self._done)

    @property
    def momenta(self) -> Matrix:
        """m_1, ..., m_t without noise, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return read_only(self._state.momenta[0, : self.t])

    @property
    def released(self) -> Matrix:
        """m^_1, ..., m^_t, shape (t, d), if they were kept, else no rows; a view that cannot be written."""
        return read_only(self._state.momenta[1, : self.t])

    @property
    def schedule(self) -> Indices:
        """The example of each step 1..T, shape (T,): those given, or those that the seed gives."""
        order = self._order
        p = self.parameters
        if len(order.given):
            return order.given.copy()
        return draw_schedule(len(order.permutation), p.steps, p.ordering, self._seed)

    @property
    def deviations(self) -> Vector:
        """Standard deviations of nodes, shape (4,): G up to step 2N, G after it, Delta, r; in units of the gradient."""
        return self._noise.deviations.copy()

    def _fail(self, failed: int) -> None:
        """Say what was not finite at the step after those that are done."""
        gradients = self._state.gradients[: 3 if failed == BAD_GRADIENT else 0]
        self._refuse(gradients, self._state.m_hat, self.t + 1)
