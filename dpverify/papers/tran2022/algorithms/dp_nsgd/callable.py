"""DP-NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

from dpverify.kernels.tape import Seed, normal_tape, shuffle
from dpverify.kernels.typing import Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import noisy_step
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.run import NsgdRun
from dpverify.papers.tran2022.algorithms.tree_noise.steps import AHEAD
from dpverify.problems.gradient_of_examples import IndexGradient, any_function, ask

__all__ = ["DpNsgdCallable", "IndexGradient"]


class DpNsgdCallable(NsgdRun):
    """DP-NSGD on a Python function: a model of PyTorch or JAX, a simulator, a closure.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, n)``: the gradient of the loss of example n (0, ..., N - 1) at w, shape (d,). It gets a copy of w.
    examples, start, parameters, seed, tape, keep
        As in ``NsgdRun``.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory; later, if a gradient
        has another shape than (d,), or is not finite.

    Notes
    -----
    Source: Algorithm 1.
    """

    def __init__(
        self, gradient: IndexGradient, examples: int, start: Vector, parameters: Parameters, *,
        seed: Seed = 0, tape: Tape | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self._function = any_function(gradient)
        super().__init__(examples, start, parameters, seed, tape, keep)
        self._chunk = 1
        self._epoch = self._block = -1  # which permutation, and which block of numbers drawn ahead, is at hand
        self._ahead = self._tape

    def _steps(self, first: int, last: int) -> None:
        for t in range(first, last + 1):
            self._step(t)

    def _step(self, t: int) -> None:
        p = self.parameters
        q, i = divmod(t - 1, len(self._order))
        if self._epoch < (q if p.ordering == "fresh" else 0):
            shuffle(self._order_rng, self._order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            self._epoch = q
        n = int(self._order[i])
        ask(self._function, self._w, n, t, self._gradient)
        unit = self._unit_of(t) if self._scale > 0.0 else self._unit
        if not noisy_step(t, p.alpha, p.eta, self._scale, self._decay, unit, self._gradient, *self._state):
            self._fail(t)

    def _unit_of(self, t: int) -> Vector:
        """Unit Gaussian of step t: a row of the tape, or of the block of numbers drawn ahead."""
        if len(self._tape):
            row: Vector = self._tape[t - 1]
            return row
        d = len(self._w)
        block, i = divmod(t - 1, max(1, AHEAD // d))
        if self._block < block:
            rows = min(max(1, AHEAD // d), self.parameters.steps - t + 1)
            self._ahead = normal_tape(self._noise_rng, rows, d)
            self._block = block
        row = self._ahead[i]
        return row
