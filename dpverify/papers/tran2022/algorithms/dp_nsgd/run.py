"""A run of Algorithm 1 that can be advanced, watched and interrupted."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.step import NsgdState, new_numbers
from dpverify.problems.stepped_run import SteppedRun


class NsgdRun(SteppedRun):
    """A run of Algorithm 1, as far as it has come; subclasses know how to get a gradient."""

    def __init__(
        self, examples: int, start: Vector, parameters: Parameters, seed: Seed, tape: Tape | None, keep: bool
    ) -> None:
        self.parameters = p = parameters
        slots = p.steps.bit_length()
        super().__init__(p.steps, examples, start, p.ordering, seed, keep=keep, vectors=slots)
        d = len(self._w)
        self._tape = np.empty((0, d)) if tape is None else check.array(p.steps, d, tape=tape)
        self._numbers = new_numbers(p, examples)
        # what a gradient leaves out is seen; m_0 = 0
        unknown = np.full(d, np.nan)
        m = np.zeros(d)
        m_hat = np.zeros(d)
        self._state = NsgdState(unknown, self._w, m, m_hat, np.zeros((slots, d)), self._iterates, self._done)

    @property
    def node_deviation(self) -> float:
        """Standard deviation of a node's noise, in units of the gradient."""
        return self._numbers.scale

    def _fail(self, t: int) -> None:
        """Say what was not finite at step t."""
        self._refuse(self._state.gradient[np.newaxis], self._state.m_hat, t)
