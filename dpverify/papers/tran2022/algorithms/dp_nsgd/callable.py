"""DP-NSGD on any Python function that gives the gradient of one example."""

from __future__ import annotations

from dpverify.kernels.jit import for_types_of
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.run import NsgdRun
from dpverify.papers.tran2022.algorithms.dp_nsgd.step import noisy_step
from dpverify.problems.gradient_of_examples import IndexGradient
from dpverify.problems.stepped_run import FunctionRun


class DpNsgdCallable(FunctionRun, NsgdRun):
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
        self,
        gradient: IndexGradient,
        examples: int,
        start: Vector,
        parameters: Parameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        keep: bool = False,
    ) -> None:
        super().__init__(examples, start, parameters, seed, tape, keep)
        self._ask_with(gradient)
        self._noisy_step = for_types_of(noisy_step, 1, self._numbers, *self._state)

    def _step(self, t: int, n: int) -> None:
        state = self._state
        self._ask(state.w, n, t, state.gradient)
        if self._numbers.scale > 0.0:
            unit = state.slots[(t & -t).bit_length() - 1]
            if len(self._tape):
                unit[:] = self._tape[t - 1]
            else:
                self._noise_rng.standard_normal(out=unit)  # the numbers that compiled code draws, bit for bit
        if not self._noisy_step(t, self._numbers, *state):
            self._fail(t)
