"""Algorithm 1 of the paper, DP-NSGD: normalized SGD with momentum, and tree noise on the momentum.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i})
    m^_t = m_t + NOISE_t
    w_{t+1} = w_t - eta m^_t / |m^_t|

with one example a step, t = 1..T. Epoch q = 0, 1, ... owns the steps qN + 1 .. (q + 1)N and goes through all examples
in the order of a permutation. The noise is the stream of ``tree_noise.stream``, fused into the
step.

Two forms give the same iterates, bit for bit, from the same seed: :class:`DpNsgd` on a jitted gradient of one example,
and ``DpNsgdCallable`` on any Python function. Both draw permutations
from the seed's stream 0 and noise from its stream 1, the second by the library and the first by
``kernels.normal``: no evidence rests on the noise that it draws.

Conventions where the box is silent: a momentum m^_t of length 0 moves nothing; the box returns w_1..w_T, we keep
w_{T+1}, which it computes, as well; its last permutation, of an epoch without steps where N divides T, is not drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, fill_normal_from, take_words, wrapping
from dpverify.kernels.tape import Seed, shuffle
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Tape, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.dp_nsgd.kernels import ask_ahead, begins, move
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.run import NsgdRun
from dpverify.problems.gradient_of_examples import compiled, compiling


@kernel
def noisy_step(
    t: int, alpha: float, eta: float, scale: float, decay: Vector, unit: Vector, gradient: Vector,
    w: Vector, m: Vector, m_hat: Vector, slots: Matrix, iterates: Matrix, done: Indices,
) -> bool:  # fmt: skip
    """Do step t of Algorithm 1, from the gradient on.

    Parameters
    ----------
    t : int
        Step, from 1.
    alpha, eta, scale : float
        Momentum weight, length of a step, deviation of a node.
    decay : (LEVELS,) array of float
        From ``fill_decay``.
    unit : (d,) array of float
        Unit Gaussian of the node that ends at t with length lowbit(t); not read where ``scale`` is 0.
    gradient : (d,) array of float
        Of this step's example, at w_t.
    w, m : (d,) array of float
        w_t becomes w_{t+1}, m_{t-1} becomes m_t.
    m_hat : (d,) array of float
        Receives m^_t.
    slots : (floor(log2 T) + 1, d) array of float
        Row k is the last NOISE_s whose lowest bit is 2^k; zero at the start.
    iterates : (T + 1, d) or (0, d) array of float
        Row t receives w_{t+1}; no rows: nothing is kept.
    done : (1,) array of int
        Receives t. It changes with w, so that a run interrupted from the keyboard knows where it is.

    Returns
    -------
    bool
        Whether m^_t is finite. Where it is not, the step is not done.
    """
    d = w.shape[0]
    k = level(t)
    noise = slots[k]
    if scale > 0.0:
        before = t - (1 << k)
        if before == 0:
            for j in range(d):
                noise[j] = scale * unit[j]
        else:  # NOISE <- sum over S = COMPOSE(1, t) of (1 - alpha)^{t - S_i[1]} Z[S_i], as the stream has it
            past, c = slots[level(before)], decay[k]
            for j in range(d):
                noise[j] = c * past[j] + scale * unit[j]
    beta = 1.0 - alpha
    for j in range(d):
        m[j] = beta * m[j] + alpha * gradient[j]  # m_t <- (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{pi_i^q})
        m_hat[j] = m[j] + noise[j]  # m^_t <- m_t + NOISE
    if not move(eta, m_hat, w):  # w_{t+1} <- w_t - eta m^_t / |m^_t|
        return False
    if iterates.shape[0] > 0:
        copy_into(iterates[t], w)
    done[0] = t
    return True


@kernel
def run_steps(
    gradient: ExampleGradient, x: Matrix, y: Vector, first: int, last: int, order: Indices, fresh: bool,
    order_rng: Generator, words: Words, tape: Tape, alpha: float, eta: float, scale: float, decay: Vector,
    unit: Vector, g: Vector, w: Vector, m: Vector, m_hat: Vector, slots: Matrix, iterates: Matrix, done: Indices,
) -> int:  # fmt: skip
    """Do the steps ``first <= t <= last`` of Algorithm 1; arrays as in ``noisy_step``, the rest as follows.

    Parameters
    ----------
    gradient : kernel
        ``gradient(w, x_row, y, out)``.
    x, y : (N, p) and (N,) array of float
        Examples.
    first, last : int
        Steps.
    order : (N,) array of int
        The permutation; shuffled at each epoch's first step.
    fresh : bool
        Whether it is shuffled after the first epoch too.
    order_rng : Generator
        For the permutations.
    words : (4,) array of uint64
        For the noise where there is no tape: state of an SFC64, which is advanced.
    tape : (T, d) or (0, d) array of float
        Unit Gaussians, row t - 1 for step t; no rows: they are drawn.
    unit, g : (d,) array of float
        Working space.

    Returns
    -------
    int
        0, or the step at which the momentum stopped being finite.
    """
    N, rows, p = order.shape[0], x.reshape(x.size), np.uint64(x.shape[1])
    for t in range(first, last + 1):  # for q = 0, ..., floor(T/N): for i = 1, ..., min(N, T - qN): t <- qN + i
        if begins(t, N, fresh):
            shuffle(order_rng, order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
        n = order[(t - 1) % N]
        ask_ahead(t, order, rows, p)
        gradient(w, x[n], y[n], g)
        if scale > 0.0:
            if tape.shape[0] > 0:
                copy_into(unit, tape[t - 1])
            else:
                fill_normal_from(words, unit)
        if not noisy_step(t, alpha, eta, scale, decay, unit, g, w, m, m_hat, slots, iterates, done):
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
        self, gradient: ExampleGradient, x: Matrix, y: Vector, start: Vector, parameters: Parameters, *,
        seed: Seed = 0, tape: Tape | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self._compiled = compiled(gradient, "DpNsgdCallable")
        self._x = check.array(None, None, x=x)
        self._y = check.array(len(self._x), y=y)
        super().__init__(len(self._x), start, parameters, seed, tape, keep)
        self._words = take_words(self._noise_rng)

    def _steps(self, first: int, last: int) -> None:
        p = self.parameters
        with compiling(self._compiled), wrapping():
            failed = run_steps(
                self._compiled, self._x, self._y, first, last, self._order, p.ordering == "fresh",
                self._order_rng, self._words, self._tape, p.alpha, p.eta, self._scale, self._decay,
                self._unit, self._gradient, *self._state,
            )  # fmt: skip
        if failed:
            self._fail(failed)
