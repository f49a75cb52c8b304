"""Sensitivity-reduced NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

from dpverify.kernels.tape import Seed, shuffle
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruct.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import sr_step
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import SrRun
from dpverify.problems.gradient_of_examples import IndexGradient, any_function, ask


class SrNsgdCallable(SrRun):
    """Sensitivity-reduced NSGD on a Python function: a model of PyTorch or JAX, a simulator, a closure.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, n)``: the gradient of the loss of example n (0, ..., N - 1) at w, shape (d,). It gets a copy of w,
        and is called two times a step in the first epoch and three times after it.
    examples, start, parameters, seed, tape, schedule, keep
        As in ``SrRun``.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, or what is kept does not fit in memory; later, if a gradient
        has another shape than (d,), or is not finite.

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self, gradient: IndexGradient, examples: int, start: Vector, parameters: SrParameters, *,
        seed: Seed = 0, tape: Tape | None = None, schedule: Indices | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self._function = any_function(gradient)
        super().__init__(examples, start, parameters, seed, tape, schedule, keep)
        self._chunk = 1
        self._epoch = -1  # which permutation is at hand

    def _steps(self, first: int, last: int) -> None:
        for t in range(first, last + 1):
            n = self._example(t)
            self._ask(G, self._anchors[0], n, t)
            if t > len(self._order):
                self._ask(DELTA, self._anchors[1], n, t)
            self._ask(R, self._w, n, t)
            failed = sr_step(t, *self._step_arguments)
            if failed:
                self._fail(failed)

    def _example(self, t: int) -> int:
        if len(self._given):
            return int(self._given[t - 1])
        q, i = divmod(t - 1, len(self._order))
        if self._epoch < (q if self.parameters.ordering == "fresh" else 0):
            shuffle(self._order_rng, self._order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            self._epoch = q
        return int(self._order[i])

    def _ask(self, f: int, w: Vector, n: int, t: int) -> None:
        ask(self._function, w, n, t, self._gradients[f])
