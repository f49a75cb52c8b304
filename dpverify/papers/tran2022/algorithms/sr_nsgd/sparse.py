"""Sensitivity-reduced NSGD on sparse rows; see ``dp_nsgd.sparse``.

The nodes are dense, so a run stores O(N d) numbers. If they do not fit in memory, ``run_lagged_steps`` recomputes them
with the sums of ``sr_nsgd.lags``. Both kernels compute the same steps, bit for bit.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.normal import (
    NO_WORDS,
    Words,
    fill_normal_from,
    take_words,
    wrapping,
)
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.kernels.vector import copy_into, move
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    MIXED,
    G,
    R,
    Stack,
    state_floats,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.lags import (
    Lags,
    PastSteps,
    add_prefix,
    advance_prefix,
    advance_suffixes,
    deviation,
    lag_vectors,
    mix,
    new_lags,
    write_total,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    NodeNoise,
    is_drawn,
    tape_rows,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrRun
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import (
    BAD_GRADIENT,
    BAD_MOMENTUM,
    SrNumbers,
    SrState,
    grow,
    new_sr_numbers,
    new_sr_state,
    sr_step,
)
from dpverify.problems.sparse.rows import SparseProblem


@step_kernel
def add_recorded_noise(
    t: int, N: int, K: int, noise: NodeNoise, record: PastSteps, row: int, nodes: Stack
) -> int:
    """Do what ``noise.add_noise`` does, and record the state of the random generator before each Gaussian vector."""
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
    common: Common,
    lam: float,
    gradient: SparseGradient,
    record: PastSteps,
    n: int,
    epoch: int,
    w: Vector,
    out: Matrix,
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
        gradient(
            record.anchors[epoch - 1], row_columns, entries, record.y[n], out[DELTA]
        )
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
    alpha, K, constants, N = (
        numbers.alpha,
        numbers.K,
        numbers.constants,
        order.permutation.shape[0],
    )
    powers, decay, beta = constants.powers, constants.decay, 1.0 - numbers.alpha
    w, m, m_hat, d, gradients, nodes = (
        state.w,
        state.m,
        state.m_hat,
        state.w.shape[0],
        state.gradients,
        state.nodes,
    )
    past_r, total = state.stream.prefixes[R], lags.space[1]
    for t in range(first, last + 1):
        epoch = (t - 1) // N
        write_gradients(
            common, lam, gradient, record, example_of(t, order), epoch, w, gradients
        )
        size = 0.0
        for j in range(d):
            # NaN if any of them is not finite
            size += 0.0 * (gradients[G, j] + gradients[DELTA, j] + gradients[R, j])
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
            add_prefix(
                t, K, powers, nodes[G, top], lags.prefixes[0, G], lags.blocks[0, G]
            )
        if t - (1 << top) >= N:
            mixed = lags.space[0]
            copy_into(mixed, nodes[DELTA, top])
            mix(constants.weights, nodes[G, top], mixed)
            add_prefix(
                t, K, powers, mixed, lags.prefixes[0, MIXED], lags.blocks[0, MIXED]
            )
        for lag in range(1, t // N + 1):
            s = t - lag * N
            if s > 0:
                advance_prefix(
                    lag, s, N, K, gradient, constants, noise, record, words, lags
                )
            advance_suffixes(
                lag, s, N, K, gradient, constants, noise, record, words, lags
            )
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


@kernel
def run_sparse_sr_steps(
    common: Common,
    lam: float,
    gradient: SparseGradient,
    rows: CsrArrays,
    y: Vector,
    first: int,
    last: int,
    order: ExampleOrder,
    numbers: SrNumbers,
    noise: NodeNoise,
    state: SrState,
) -> int:
    """Do what ``run_sr_steps`` does; ``common`` writes the part that all gradients share, ``gradient`` adds to it."""
    starts, columns, values = rows
    N = order.permutation.shape[0]
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = (
        state
    )
    for t in range(first, last + 1):
        n = example_of(t, order)
        row_columns = columns[starts[n] : starts[n + 1]]
        entries = values[starts[n] : starts[n + 1]]
        common(lam, anchors[0], gradients[G])
        gradient(anchors[0], row_columns, entries, y[n], gradients[G])
        if t > N:
            common(lam, anchors[1], gradients[DELTA])
            gradient(anchors[1], row_columns, entries, y[n], gradients[DELTA])
        common(lam, w, gradients[R])
        gradient(w, row_columns, entries, y[n], gradients[R])
        failed = sr_step(
            t,
            numbers,
            noise,
            gradients,
            anchors,
            left,
            nodes,
            stream,
            w,
            m,
            m_hat,
            iterates,
            momenta,
            done,
        )
        if failed:
            return failed
    return 0


class SparseSrNsgd(SrRun):
    """Sensitivity-reduced NSGD on a problem with sparse rows; the other arguments are those of ``SrRun``.

    ``stored``: whether the sums of the last N steps are stored, in O(N d) numbers. Otherwise they are recomputed: a
    step then costs O(T/N d log N) operations, and the run is the same, bit for bit. None: store them if they fit in
    memory.
    """

    def __init__(
        self,
        problem: SparseProblem,
        parameters: SrParameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        schedule: Indices | None = None,
        keep: bool = False,
        stored: bool | None = None,
    ) -> None:
        self._problem, d = problem, len(problem.start)
        N = check.whole(1, examples=len(problem.x))
        floats = d * (
            2 * state_floats(N, parameters.steps, 1) + 3 * parameters.steps * keep
        )
        self._stored = (
            8 * floats <= check.physical_bytes() if stored is None else stored
        )
        if self._stored:
            super().__init__(N, problem.start, parameters, seed, tape, schedule, keep)
        else:
            self._make_lags(N, tape, schedule, parameters, seed, keep=keep)
        self._noise = self._noise._replace(words=take_words(self._noise_rng))

    def _make_lags(
        self,
        N: int,
        tape: Tape | None,
        schedule: Indices | None,
        parameters: SrParameters,
        seed: Seed,
        *,
        keep: bool,
    ) -> None:
        """Initialize as ``SrRun`` does, plus lags and past steps; the stream state is for N = 1, as only r uses it."""
        self.parameters = p = parameters
        problem = self._problem
        T = p.steps
        epochs = p.steps // N + 1
        K = floor_log2(N)
        d = len(self._problem.start)
        rows = tape_rows(N, T)
        recorded = rows if tape is None and p.sigma > 0.0 else 0
        vectors = (
            lag_vectors(epochs, K)
            + 2 * state_floats(1, T, 1)
            + 2 * (epochs + 1)
            + 2 * T * keep
        )
        check.memory(vectors * d + T + 4 * recorded, steps=T, dimension=d, examples=N)
        super(SrRun, self).__init__(
            T,
            N,
            problem.start,
            p.ordering,
            seed,
            schedule=schedule,
            keep=keep,
            vectors=vectors,
            counters=2,
        )
        tape = np.empty((0, d)) if tape is None else check.array(rows, d, tape=tape)
        self._noise = NodeNoise(
            p.deviations(N), tape, NO_WORDS, self._noise_rng, np.zeros(d)
        )
        self._numbers = new_sr_numbers(p, N)
        self._state = new_sr_state(1, T, self._w, self._iterates, self._done)
        anchors = np.zeros((epochs + 1, d))
        common = np.zeros((epochs + 1, d))
        anchors[0] = self._w
        problem.common(problem.lam, anchors[0], common[0])
        words = np.zeros((recorded, 4), dtype=np.uint64)
        self._past = PastSteps(
            problem.x.arrays, problem.y, self.schedule, anchors, common, words
        )
        self._lags = new_lags(epochs, K, d)

    def _steps(self, first: int, last: int) -> None:
        p = self._problem
        with wrapping():
            if self._stored:
                failed = run_sparse_sr_steps(
                    p.common,
                    p.lam,
                    p.example_gradient,
                    p.x.arrays,
                    p.y,
                    first,
                    last,
                    self._order,
                    self._numbers,
                    self._noise,
                    self._state,
                )
            else:
                failed = run_lagged_steps(
                    p.common,
                    p.lam,
                    p.example_gradient,
                    self._past,
                    first,
                    last,
                    self._order,
                    self._numbers,
                    self._noise,
                    self._state,
                    np.zeros(4, dtype=np.uint64),
                    self._lags,
                )
        if failed:
            self._fail(failed)
