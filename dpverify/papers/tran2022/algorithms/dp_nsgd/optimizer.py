"""Algorithm 1 of the paper, DP-NSGD: normalized SGD with momentum, and tree noise on the momentum.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i})
    m^_t = m_t + NOISE_t
    w_{t+1} = w_t - eta m^_t / |m^_t|

with one example a step, t = 1..T. Epoch q = 0, 1, ... owns the steps qN + 1 .. (q + 1)N and goes through all examples
in the order of a permutation. The noise is the stream of ``tree_noise.stream``, fused into the step.

Two forms give the same iterates, bit for bit, from the same seed: :class:`DpNsgd` on a jitted gradient of one example,
and ``DpNsgdCallable`` on any Python function. Both draw permutations from the seed's stream 0 and noise from its stream
1, the second by the library and the first by ``kernels.normal``: no evidence rests on the noise that it draws.

Conventions where the box is silent: a momentum m^_t of length 0 moves nothing; the box returns w_1..w_T, we keep
w_{T+1}, which it computes, as well; its last permutation, of an epoch without steps where N divides T, is not drawn.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.epochs import ExampleOrder, ask_ahead, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, fill_normal_from, take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import ExampleGradient, Matrix, Tape, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.run import NsgdRun
from dpverify.papers.tran2022.algorithms.dp_nsgd.step import NsgdNumbers, NsgdState, noisy_step
from dpverify.problems.gradient_of_examples import compiled, compiling


@kernel
def run_steps(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    first: int,
    last: int,
    order: ExampleOrder,
    words: Words,
    tape: Tape,
    numbers: NsgdNumbers,
    state: NsgdState,
) -> int:
    """Do the steps ``first <= t <= last`` of Algorithm 1: 0, or the step at which the momentum is not finite.

    Noise comes from ``tape``, whose row t - 1 is for step t, or where it has no rows from ``words``, the state of an
    SFC64, which is advanced. Shapes: ``x`` (N, p), ``y`` (N,), ``words`` (4,), ``tape`` (T, d) or (0, d).
    """
    rows = x.reshape(x.size)
    p = np.uint64(x.shape[1])
    g, w, m, m_hat, slots, iterates, done = state
    for t in range(first, last + 1):  # for q = 0, ..., floor(T/N): for i = 1, ..., min(N, T - qN): t <- qN + i
        n = example_of(t, order)
        ask_ahead(t, order, rows, p)
        gradient(w, x[n], y[n], g)
        if numbers.scale > 0.0:
            unit = slots[level(t)]
            if tape.shape[0] > 0:
                copy_into(unit, tape[t - 1])
            else:
                fill_normal_from(words, unit)
        if not noisy_step(t, numbers, g, w, m, m_hat, slots, iterates, done):
            return t
    return 0


class DpNsgd(NsgdRun):
    """DP-NSGD on arrays and a jitted gradient of one example.

    Parameters
    ----------
    gradient : kernel
        ``gradient(w, x_row, y, out)``: writes the gradient of one example's loss at w, all d coordinates, into ``out``.
    x : (N, p) array of float
        One row per example.
    y : (N,) array of float
        Labels.
    start, parameters, seed, tape, keep
        As in ``NsgdRun``.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, what is kept does not fit in memory, or the gradient is not
        compiled (``DpNsgdCallable`` takes any function).

    Notes
    -----
    Source: Algorithm 1.
    """

    def __init__(
        self,
        gradient: ExampleGradient,
        x: Matrix,
        y: Vector,
        start: Vector,
        parameters: Parameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        keep: bool = False,
    ) -> None:
        self._compiled = compiled(gradient, "DpNsgdCallable")
        self._x = check.array(None, None, x=x)
        self._y = check.array(len(self._x), y=y)
        super().__init__(len(self._x), start, parameters, seed, tape, keep)
        self._words = take_words(self._noise_rng)

    def _steps(self, first: int, last: int) -> None:
        with compiling(self._compiled), wrapping():
            failed = run_steps(
                self._compiled,
                self._x,
                self._y,
                first,
                last,
                self._order,
                self._words,
                self._tape,
                self._numbers,
                self._state,
            )
        if failed:
            self._fail(failed)
