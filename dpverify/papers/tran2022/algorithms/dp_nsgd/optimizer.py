"""Algorithm 1 of the paper, DP-NSGD: normalized SGD with momentum, and tree noise on the momentum.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i})
    m^_t = m_t + NOISE_t
    w_{t+1} = w_t - eta m^_t / |m^_t|

with one example per step, t = 1..T. Epoch q = 0, 1, ... consists of the steps qN + 1 ..
(q + 1)N and visits all examples in the order of a permutation. The noise is the stream
of ``tree_noise.stream``, fused into the step.

Two classes compute the same iterates, bit for bit, from the same seed: :class:`DpNsgd`
takes a jitted gradient of one example, and :class:`DpNsgdCallable` takes any Python
function. Both draw permutations from the seed's stream 0 and noise from its stream 1.
``DpNsgd`` draws the noise with ``kernels.normal`` and ``DpNsgdCallable`` with NumPy.
The evidence for the claims does not use the noise of ``kernels.normal``.

Conventions for cases that the paper leaves open: if m^_t = 0, the iterate does not move. The paper returns w_1..w_T; we
also keep w_{T+1}, which it computes. If N divides T, the paper draws a last permutation for an epoch without steps; we
do not draw it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.epochs import ExampleOrder, example_of, prefetch_next_example
from dpverify.kernels.jit import for_types_of, kernel, step_kernel
from dpverify.kernels.normal import Words, fill_normal_from, take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Tape, Vector
from dpverify.kernels.vector import copy_into, move
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import decays, slot_noise
from dpverify.problems.stepped_run import (
    FunctionRun,
    IndexGradient,
    SteppedRun,
    compiled,
    compiling,
)


class NsgdNumbers(NamedTuple):
    """Constants of a run."""

    alpha: float  # momentum weight
    eta: float  # length of a step
    scale: float  # standard deviation of a node's noise; 0: no noise
    decay: Vector  # (LEVELS,) from ``decays``


class NsgdState(NamedTuple):
    """State of a run, which every step updates."""

    gradient: Vector  # (d,) gradient of the step's example at w_t
    w: Vector  # (d,) w_t, which becomes w_{t+1}
    m: Vector  # (d,) m_{t-1}, which becomes m_t
    m_hat: Vector  # (d,) receives m^_t
    # (floor(log2 T) + 1, d) Row k is NOISE_s of the last s whose lowest bit is 2^k;
    # zero at the start. If there is noise, the row of t's lowest bit receives before
    # step t the unit Gaussian of the node [t - lowbit(t) + 1, t].
    slots: Matrix
    # (T + 1, d) row t receives w_{t+1}; or (0, d): iterates are not stored
    iterates: Matrix
    # (1,) receives t; updated together with w, so that an interrupted run can continue
    done: Indices


def new_numbers(parameters: Parameters, examples: int) -> NsgdNumbers:
    """Return the constants of a run."""
    p = parameters
    return NsgdNumbers(p.alpha, p.eta, p.node_deviation(examples), decays(p.alpha))


@step_kernel
def noisy_step(
    t: int, numbers: NsgdNumbers, gradient: Vector, w: Vector, m: Vector, m_hat: Vector, slots: Matrix,
    iterates: Matrix, done: Indices,
) -> bool:  # fmt: skip
    """Do step t of Algorithm 1 for a given gradient; return whether m^_t is finite. If it is not, w does not move.

    The arrays are the fields of ``NsgdState``. They are passed separately, as passing the tuple costs up to a tenth of
    the time of a step.
    """
    alpha, d, noise = numbers.alpha, w.shape[0], slots[level(t)]
    beta = 1.0 - alpha
    if numbers.scale > 0.0:
        # NOISE <- sum over COMPOSE(1, t)
        slot_noise(t, numbers.decay, numbers.scale, slots)
    for j in range(d):
        # m_t <- (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i^q})
        m[j] = beta * m[j] + alpha * gradient[j]
        m_hat[j] = m[j] + noise[j]  # m^_t <- m_t + NOISE
    if not move(numbers.eta, m_hat, w):  # w_{t+1} <- w_t - eta m^_t / |m^_t|
        return False
    if iterates.shape[0] > 0:
        copy_into(iterates[t], w)
    done[0] = t
    return True


class NsgdRun(SteppedRun):
    """State of a run of Algorithm 1; subclasses compute the gradients."""

    def __init__(
        self,
        examples: int,
        start: Vector,
        parameters: Parameters,
        seed: Seed,
        tape: Tape | None,
        keep: bool,
    ) -> None:
        self.parameters = p = parameters
        slots = p.steps.bit_length()
        super().__init__(
            p.steps, examples, start, p.ordering, seed, keep=keep, vectors=slots
        )
        d = len(self._w)
        self._tape = (
            np.empty((0, d)) if tape is None else check.array(p.steps, d, tape=tape)
        )
        self._numbers = new_numbers(p, examples)
        # NaN reveals coordinates that a gradient does not write; m_0 = 0
        unknown = np.full(d, np.nan)
        m = np.zeros(d)
        m_hat = np.zeros(d)
        self._state = NsgdState(
            unknown, self._w, m, m_hat, np.zeros((slots, d)), self._iterates, self._done
        )

    @property
    def node_deviation(self) -> float:
        """Standard deviation of a node's noise, in units of the gradient."""
        return self._numbers.scale

    def _fail(self, t: int) -> None:
        """Raise an error that says what was not finite at step t."""
        self._refuse(self._state.gradient[np.newaxis], self._state.m_hat, t)


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
    """Do the steps ``first <= t <= last`` of Algorithm 1; return 0, or the step at which the momentum is not finite.

    Noise comes from ``tape``, whose row t - 1 is for step t. If ``tape`` has no rows, noise is drawn from ``words``,
    the state of an SFC64 generator, which is advanced. Shapes: ``x`` (N, p), ``y`` (N,), ``words`` (4,), ``tape`` (T,
    d) or (0, d).
    """
    rows = x.reshape(x.size)
    p = np.uint64(x.shape[1])
    g, w, m, m_hat, slots, iterates, done = state
    # for q = 0, ..., floor(T/N): for i = 1, ..., min(N, T - qN): t <- qN + i
    for t in range(first, last + 1):
        n = example_of(t, order)
        prefetch_next_example(t, order, rows, p)
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
        ``gradient(w, x_row, y, out)``: writes the gradient of one example's loss at w,
        all d coordinates, into ``out``.
    x : (N, p) array of float
        One row per example.
    y : (N,) array of float
        Labels.
    start, parameters, seed, tape, keep
        As in ``NsgdRun``.

    Raises
    ------
    ArgumentError
        If a shape is wrong, an entry is not finite, the stored arrays do not fit in
        memory, or the gradient is not compiled (``DpNsgdCallable`` takes any function).

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


class DpNsgdCallable(FunctionRun, NsgdRun):
    """DP-NSGD on a Python function, for example a PyTorch or JAX model, a simulator, or a closure.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, n)``: the gradient of the loss of example n (0, ..., N - 1) at w,
        shape (d,). It gets a copy of w.
    examples, start, parameters, seed, tape, keep
        As in ``NsgdRun``.

    Raises
    ------
    ArgumentError
        If a shape is wrong, an entry is not finite, or the stored arrays do not fit in
        memory. During the run, if a gradient does not have the shape (d,), or is not
        finite.

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
        self._set_gradient(gradient)
        self._noisy_step = for_types_of(noisy_step, 1, self._numbers, *self._state)

    def _step(self, t: int, n: int) -> None:
        state = self._state
        self._write_gradient(state.w, n, t, state.gradient)
        if self._numbers.scale > 0.0:
            unit = state.slots[(t & -t).bit_length() - 1]
            if len(self._tape):
                unit[:] = self._tape[t - 1]
            else:
                # bit for bit the numbers that the compiled code draws
                self._noise_rng.standard_normal(out=unit)
        if not self._noisy_step(t, self._numbers, *state):
            self._fail(t)
