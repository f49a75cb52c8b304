"""A run of Algorithm 1 that can be advanced, watched and interrupted."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS, fill_decay
from dpverify.problems.stepped_run import SteppedRun, not_finite


class NsgdRun(SteppedRun):
    """A run of Algorithm 1, as far as it has come. Subclasses know how to get a gradient.

    Shapes: ``start`` (d,), ``tape`` (T, d).
    """

    def __init__(
        self, examples: int, start: Vector, parameters: Parameters, seed: Seed, tape: Tape | None, keep: bool
    ) -> None:
        self.parameters = parameters
        steps, examples = parameters.steps, check.whole(1, examples=examples)
        start = check.array(None, start=start).copy()
        d = len(start)
        slots = steps.bit_length()
        check.memory((slots + (steps + 1 if keep else 0)) * d + examples, steps=steps, dimension=d, examples=examples)
        super().__init__(steps, start, keep, counters=1)
        self._tape = np.empty((0, d)) if tape is None else check.array(steps, d, tape=tape)
        self._scale = parameters.node_deviation(examples)
        self._decay = np.empty(LEVELS)
        fill_decay(parameters.alpha, self._decay)
        self._order = np.arange(examples)
        self._order_rng, self._noise_rng = generator(seed, 0), generator(seed, 1)
        self._m, self._m_hat, self._unit = np.zeros(d), np.zeros(d), np.zeros(d)  # m_0 <- m^_0 <- 0
        self._gradient = np.full(d, np.nan)  # an entry that a gradient leaves out is then seen
        self._slots = np.zeros((slots, d))

    @property
    def node_deviation(self) -> float:
        """Standard deviation of a node's noise, in units of the gradient."""
        return self._scale

    @property
    def _state(self) -> tuple[Vector, Vector, Vector, Matrix, Matrix, Indices]:
        """What a step changes."""
        return self._w, self._m, self._m_hat, self._slots, self._iterates, self._done

    def _fail(self, t: int) -> None:
        """Say what was not finite at step t."""
        example = int(self._order[(t - 1) % len(self._order)])
        if np.isfinite(self._gradient).all():
            raise check.ArgumentError("momentum", f"{self._m_hat.max()} at step {t}", "must stay finite")
        raise not_finite(self._gradient[np.newaxis], example, t)
