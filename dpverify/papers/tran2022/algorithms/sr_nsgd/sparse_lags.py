"""Sensitivity-reduced NSGD on sparse rows, with the sums of ``sr_nsgd.lags``: N d numbers need not fit in memory.

The steps are those of ``sr_nsgd.sparse``, bit for bit.
"""

from __future__ import annotations

import math

from dpverify.kernels.csr import Common, SparseGradient
from dpverify.kernels.dyadic import level
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.normal import Words, fill_normal_from
from dpverify.kernels.typing import Matrix, Vector
from dpverify.kernels.vector import copy_into, move
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, MIXED, G, R, Stack
from dpverify.papers.tran2022.algorithms.sr_nsgd.lags import (
    Lags,
    PastSteps,
    add_prefix,
    advance_prefix,
    advance_suffixes,
    deviation,
    mix,
    write_total,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise, is_drawn
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import BAD_GRADIENT, BAD_MOMENTUM, SrNumbers, SrState, grow


@step_kernel
def add_recorded_noise(t: int, N: int, K: int, noise: NodeNoise, record: PastSteps, row: int, nodes: Stack) -> int:
    """Do what ``noise.add_noise`` does, and write down the random source before each Gaussian that is drawn."""
    unit = noise.unit
    for k in range(level(t) + 1):
        for f in (G, R, DELTA):
            if is_drawn(f, k, t, N, K):
                scale = deviation(f, t, N, noise.deviations)
                if noise.tape.shape[0] > 0:
                    copy_into(unit, noise.tape[row])
                else:
                    for i in range(4):
                        record.words[row, i] = noise.words[i]
                    fill_normal_from(noise.words, unit)
                for j in range(unit.shape[0]):
                    nodes[f, k, j] += scale * unit[j]
                row += 1
    return row


@step_kernel
def write_gradients(
    common: Common, lam: float, gradient: SparseGradient, record: PastSteps, n: int, epoch: int, w: Vector, out: Matrix
) -> None:
    """Write the gradients of example n at both anchors and at ``w`` into ``out``, shape (3, d)."""
    starts, columns, values = record.rows
    row_columns = columns[starts[n] : starts[n + 1]]
    entries = values[starts[n] : starts[n + 1]]
    copy_into(out[G], record.common[epoch])
    gradient(record.anchors[epoch], row_columns, entries, record.y[n], out[G])
    out[DELTA, :] = 0.0
    if epoch > 0:
        copy_into(out[DELTA], record.common[epoch - 1])
        gradient(record.anchors[epoch - 1], row_columns, entries, record.y[n], out[DELTA])
    common(lam, w, out[R])
    gradient(w, row_columns, entries, record.y[n], out[R])


@kernel
def run_lagged_steps(
    common: Common,
    lam: float,
    gradient: SparseGradient,
    record: PastSteps,
    first: int,
    last: int,
    order: ExampleOrder,
    numbers: SrNumbers,
    noise: NodeNoise,
    state: SrState,
    words: Words,
    lags: Lags,
) -> int:
    """Do what ``run_sparse_sr_steps`` does. ``words`` (4,) is working space."""
    alpha, K, constants, N = numbers.alpha, numbers.K, numbers.constants, order.permutation.shape[0]
    powers, decay, beta = constants.powers, constants.decay, 1.0 - numbers.alpha
    w, m, m_hat, d, gradients, nodes = state.w, state.m, state.m_hat, state.w.shape[0], state.gradients, state.nodes
    past_r, total = state.stream.prefixes[R], lags.space[1]
    for t in range(first, last + 1):
        epoch = (t - 1) // N
        write_gradients(common, lam, gradient, record, example_of(t, order), epoch, w, gradients)
        size = 0.0
        for j in range(d):
            size += 0.0 * (gradients[G, j] + gradients[DELTA, j] + gradients[R, j])  # NaN if any of them is not finite
        if math.isnan(size):
            return BAD_GRADIENT
        for j in range(d):
            m[j] = beta * m[j] + alpha * gradients[R, j]
            gradients[R, j] -= gradients[G, j]
            gradients[DELTA, j] = gradients[G, j] - gradients[DELTA, j]
        grow(t, N, K, decay, gradients, state.left, nodes)
        row = state.done[1]
        if numbers.noisy:
            row = add_recorded_noise(t, N, K, noise, record, row, nodes)
        highest = level(t)
        top = min(highest, K)
        if t < 2 * N:
            add_prefix(t, K, powers, nodes[G, top], lags.prefixes[0, G], lags.blocks[0, G])
        if t - (1 << top) >= N:
            mixed = lags.space[0]
            copy_into(mixed, nodes[DELTA, top])
            mix(constants.weights, nodes[G, top], mixed)
            add_prefix(t, K, powers, mixed, lags.prefixes[0, MIXED], lags.blocks[0, MIXED])
        for lag in range(1, t // N + 1):
            s = t - lag * N
            if s > 0:
                advance_prefix(lag, s, N, K, gradient, constants, noise, record, words, lags)
            advance_suffixes(lag, s, N, K, gradient, constants, noise, record, words, lags)
        write_total(t, N, K, constants, lags)
        past, c = highest, 0.0
        if t > 1 << highest:
            past, c = level(t - (1 << highest)), decay[highest]
        for j in range(d):
            past_r[highest, j] = c * past_r[past, j] + nodes[R, highest, j]
        for j in range(d):
            m_hat[j] = alpha * (total[j] + past_r[highest, j])
        if not move(numbers.eta, m_hat, w):
            return BAD_MOMENTUM
        if t % N == 0:
            copy_into(record.anchors[epoch + 1], w)
            common(lam, w, record.common[epoch + 1])
        if state.iterates.shape[0] > 0:
            copy_into(state.iterates[t], w)
            copy_into(state.momenta[0, t - 1], m)
            copy_into(state.momenta[1, t - 1], m_hat)
        state.done[1] = row
        state.done[0] = t
    return 0
