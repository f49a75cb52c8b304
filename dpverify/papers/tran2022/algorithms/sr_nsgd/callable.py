"""Sensitivity-reduced NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

from dpverify.kernels.jit import for_types_of
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import SrRun
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import sr_step
from dpverify.problems.gradient_of_examples import IndexGradient
from dpverify.problems.stepped_run import FunctionRun


class SrNsgdCallable(FunctionRun, SrRun):
    """Sensitivity-reduced NSGD on a Python function: a model of PyTorch or JAX, a simulator, a closure.

    Parameters
    ----------
    gradient : callable
        As in ``DpNsgdCallable``; it is called two times a step in the first epoch and three times after it.
    examples, start, parameters, seed, tape, schedule, keep
        As in ``SrRun``.

    Raises
    ------
    ArgumentError
        As in ``DpNsgdCallable``.

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self,
        gradient: IndexGradient,
        examples: int,
        start: Vector,
        parameters: SrParameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        schedule: Indices | None = None,
        keep: bool = False,
    ) -> None:
        super().__init__(examples, start, parameters, seed, tape, schedule, keep)
        self._ask_with(gradient)
        self._sr_step = for_types_of(sr_step, 1, self._numbers, self._noise, *self._state)

    def _step(self, t: int, n: int) -> None:
        state = self._state
        self._ask(state.anchors[0], n, t, state.gradients[G])
        if t > len(self._order.permutation):
            self._ask(state.anchors[1], n, t, state.gradients[DELTA])
        self._ask(state.w, n, t, state.gradients[R])
        failed = self._sr_step(t, self._numbers, self._noise, *state)
        if failed:
            self._fail(failed)
