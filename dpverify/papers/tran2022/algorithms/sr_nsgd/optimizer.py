"""Algorithm 2 of the paper, sensitivity-reduced NSGD: momentum from differences of gradients, which need less noise.

With x_t the example of step t, a_t the iterate at the first step of t's epoch, and b_t that of the epoch before, the
nodes of three trees are released with noise,

    F^G_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) grad f(a_t, x_t),
    F^Delta_[y,z] = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(a_t, x_t) - grad f(b_t, x_t)),     y > N,
    F^r_[y,z]     = sum over t in [y, z] of (1 - alpha)^(z - t) (grad f(w_t, x_t) - grad f(a_t, x_t)),

and m^_t, which stands for m_t = alpha sum_i (1 - alpha)^(t - i) grad f(w_i, x_i), is put together from them by the
stream of ``reconstruct.stream``. A node is made from its two halves when its last step is done.
A whole run keeps O(N d) numbers, and a step costs O(d) beside its two or three gradients.

Conventions where the box is silent or does not run stand in ``sr_nsgd.repairs``. As in
``dp_nsgd.optimizer``, a momentum m^_t of length 0 moves nothing, w_{T+1} is kept as well, and
permutations come from the seed's stream 0 and noise from its stream 1. Nodes that no step reads get no noise and are
not drawn; see ``sr_nsgd.noise``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed, shuffle
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.kernels import ask_ahead, begins, move
from dpverify.papers.tran2022.algorithms.reconstruct.stream import DELTA, G, R, Stack, reconstruct_step
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import add_noise
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import BAD_GRADIENT, BAD_MOMENTUM, SrRun
from dpverify.problems.gradient_of_examples import compiled, compiling


@kernel
def grow(t: int, N: int, K: int, decay: Vector, leaves: Matrix, left: Stack, nodes: Stack) -> None:
    """Make the nodes that end at step t from their halves, without noise.

    ``nodes`` (3, levels, d): receives in row k the node [t - 2^k + 1, t]: of G and DELTA up to the length 2^K, of R
    all. Shapes: ``decay`` (LEVELS,), ``leaves`` (3, d), ``left`` (3, levels, d).
    """
    d, top = leaves.shape[1], level(t)
    for f in range(3):
        highest = top if f == R else min(top, K)
        while f == DELTA and highest >= 0 and t - (1 << highest) < N:  # these begin in the first epoch
            highest -= 1
        if highest >= 0:
            for j in range(d):
                nodes[f, 0, j] = leaves[f, j]
        for k in range(1, highest + 1):  # F_[y,z] = (1 - alpha)^(length / 2) F_left half + F_right half
            c = decay[k - 1]
            for j in range(d):
                nodes[f, k, j] = c * left[f, k - 1, j] + nodes[f, k - 1, j]
        if highest == top:
            for j in range(d):
                left[f, top, j] = nodes[f, top, j]


@kernel
def sr_step(
    t: int, K: int, alpha: float, eta: float, weights: Vector, powers: Vector, decay: Vector, noisy: bool,
    deviations: Vector, tape: Tape, rng: Generator, unit: Vector, gradients: Matrix, anchors: Matrix, left: Stack,
    nodes: Stack, rings: Stack, prefixes: Stack, w: Vector, m: Vector, m_hat: Vector, iterates: Matrix, momenta: Stack,
    done: Indices,
) -> int:  # fmt: skip
    """Do step t of Algorithm 2, from the gradients on.

    Parameters
    ----------
    t : int
        Step, from 1.
    K : int
        floor(log2 N).
    alpha, eta : float
        Momentum weight, length of a step.
    weights, powers, decay : array of float
        As in ``StreamConstants`` of the reconstruction.
    noisy : bool
        Whether there is noise.
    deviations, tape, rng, unit : as in ``add_noise``
        Noise.
    gradients : (3, d) array of float
        Of this step's example: at the anchor, at the anchor before (not read in the first epoch), and at w_t. They are
        overwritten.
    anchors : (2, d) array of float
        The anchor of this epoch and that of the one before; at the end of an epoch they move on.
    left, nodes : (3, levels, d) array of float
        As in ``grow``.
    rings, prefixes : array of float
        As in ``State`` of the reconstruction.
    w, m : (d,) array of float
        w_t becomes w_{t+1}, m_{t-1} becomes m_t.
    m_hat : (d,) array of float
        Receives m^_t.
    iterates : (T + 1, d) or (0, d) array of float
        Row t receives w_{t+1}; no rows: nothing is kept.
    momenta : (2, T, d) or (2, 0, d) array of float
        Row t - 1 receives m_t and m^_t; no rows: nothing is kept.
    done : (2,) array of int
        Receives t, and how many rows of the tape were used.

    Returns
    -------
    int
        0; or BAD_GRADIENT or BAD_MOMENTUM where one is not finite. The step is then not done.
    """
    d, N = w.shape[0], rings.shape[1] - 1
    if t <= N:
        for j in range(d):
            gradients[DELTA, j] = 0.0
    size = 0.0
    for j in range(d):
        size += 0.0 * (gradients[G, j] + gradients[DELTA, j] + gradients[R, j])  # NaN if any of them is not finite
    if math.isnan(size):
        return BAD_GRADIENT
    beta = 1.0 - alpha
    for j in range(d):
        m[j] = beta * m[j] + alpha * gradients[R, j]
        gradients[R, j] -= gradients[G, j]  # grad f(w_t, x_t) - grad f(a_t, x_t)
        gradients[DELTA, j] = gradients[G, j] - gradients[DELTA, j]  # grad f(a_t, x_t) - grad f(b_t, x_t)
    grow(t, N, K, decay, gradients, left, nodes)  # "for k = 0, ..., floor(log2 t) do if t mod 2^k = 0 then ..."
    row = done[1]
    if noisy:
        row = add_noise(t, N, K, deviations, tape, row, rng, unit, nodes)
    reconstruct_step(t, K, weights, powers, decay, nodes, rings, prefixes, m_hat)  # "Compute m^_t using Algorithm 4"
    if not move(eta, m_hat, w):  # w_{t+1} <- w_t - eta m^_t / |m^_t|
        return BAD_MOMENTUM
    if t % N == 0:
        for j in range(d):
            anchors[1, j], anchors[0, j] = anchors[0, j], w[j]
    if iterates.shape[0] > 0:
        for j in range(d):
            iterates[t, j], momenta[0, t - 1, j], momenta[1, t - 1, j] = w[j], m[j], m_hat[j]
    done[1] = row
    done[0] = t
    return 0


@kernel
def run_sr_steps(
    gradient: ExampleGradient, x: Matrix, y: Vector, first: int, last: int, order: Indices, schedule: Indices,
    fresh: bool, order_rng: Generator, K: int, alpha: float, eta: float, weights: Vector, powers: Vector,
    decay: Vector, noisy: bool, deviations: Vector, tape: Tape, rng: Generator, unit: Vector, gradients: Matrix,
    anchors: Matrix, left: Stack, nodes: Stack, rings: Stack, prefixes: Stack, w: Vector, m: Vector, m_hat: Vector,
    iterates: Matrix, momenta: Stack, done: Indices,
) -> int:  # fmt: skip
    """Do the steps ``first <= t <= last`` of Algorithm 2; arrays as in ``sr_step``, the rest as follows.

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
    schedule : (T,) or (0,) array of int
        Example of each step; no entries: the permutation says it.
    fresh : bool
        Whether the permutation is shuffled after the first epoch too.
    order_rng : Generator
        For the permutations.

    Returns
    -------
    int
        0, or what ``sr_step`` gave at the step after those that are done.
    """
    N, rows, p = order.shape[0], x.reshape(x.size), np.uint64(x.shape[1])
    for t in range(first, last + 1):
        if schedule.shape[0] > 0:
            n = schedule[t - 1]
        else:
            if begins(t, N, fresh):
                shuffle(order_rng, order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            n = order[(t - 1) % N]
            ask_ahead(t, order, rows, p)
        gradient(anchors[0], x[n], y[n], gradients[G])
        if t > N:
            gradient(anchors[1], x[n], y[n], gradients[DELTA])
        gradient(w, x[n], y[n], gradients[R])
        failed = sr_step(
            t, K, alpha, eta, weights, powers, decay, noisy, deviations, tape, rng, unit, gradients, anchors, left,
            nodes, rings, prefixes, w, m, m_hat, iterates, momenta, done,
        )  # fmt: skip
        if failed:
            return failed
    return 0


class SrNsgd(SrRun):
    """Sensitivity-reduced NSGD on arrays and a jitted gradient of one example.

    Parameters
    ----------
    gradient : kernel
        ``gradient(w, x_row, y, out)``: writes the gradient of one example's loss at w, all d coordinates, into ``out``.
    x : (N, p) array of float
        One row per example.
    y : (N,) array of float
        Labels.
    start, parameters, seed, tape, schedule, keep
        As in ``SrRun``.

    Raises
    ------
    ArgumentError
        If a shape does not fit, an entry is not finite, what is kept does not fit in memory, or the gradient is not
        compiled (``SrNsgdCallable`` takes any function).

    Notes
    -----
    Source: Algorithm 2.
    """

    def __init__(
        self, gradient: ExampleGradient, x: Matrix, y: Vector, start: Vector, parameters: SrParameters, *,
        seed: Seed = 0, tape: Tape | None = None, schedule: Indices | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self._compiled = compiled(gradient, "SrNsgdCallable")
        self._x = check.array(None, None, x=x)
        self._y = check.array(len(self._x), y=y)
        super().__init__(len(self._x), start, parameters, seed, tape, schedule, keep)

    def _steps(self, first: int, last: int) -> None:
        with compiling(self._compiled):
            failed = run_sr_steps(
                self._compiled, self._x, self._y, first, last, self._order, self._given,
                self.parameters.ordering == "fresh", self._order_rng, *self._step_arguments,
            )  # fmt: skip
        if failed:
            self._fail(failed)
