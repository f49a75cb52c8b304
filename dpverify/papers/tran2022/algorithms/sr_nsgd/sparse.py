"""Sensitivity-reduced NSGD on sparse rows; see ``dp_nsgd.sparse``.

Its nodes are dense: a run stores O(N d) numbers. Where they do not fit in memory, ``sr_nsgd.lags`` makes them anew.
"""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import NO_WORDS, take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R, state_floats
from dpverify.papers.tran2022.algorithms.sr_nsgd.lags import PastSteps, lag_vectors, new_lags
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import SrRun
from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse_lags import run_lagged_steps
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import SrNumbers, SrState, new_sr_numbers, new_sr_state, sr_step
from dpverify.problems.sparse.base import SparseProblem


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
    """Do what ``run_sr_steps`` does: ``gradient`` adds what is the example's own to what ``common`` has written."""
    starts, columns, values = rows
    N = order.permutation.shape[0]
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = state
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
            t, numbers, noise, gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done
        )
        if failed:
            return failed
    return 0


class SparseSrNsgd(SrRun):
    """Sensitivity-reduced NSGD on a problem with sparse rows; the other arguments are those of ``SrRun``.

    ``stored``: whether the sums of the last N steps are stored, in O(N d) numbers. Otherwise they are made anew: a step
    then costs O(T/N d log N) operations, and the run is the same, bit for bit. None: stored where they fit in memory.
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
        floats = d * (2 * state_floats(N, parameters.steps, 1) + 3 * parameters.steps * keep)
        self._stored = 8 * floats <= check.physical_bytes() if stored is None else stored
        if self._stored:
            super().__init__(N, problem.start, parameters, seed, tape, schedule, keep)
        else:
            self._make_lags(N, tape, schedule, parameters, seed, keep=keep)
        self._noise = self._noise._replace(words=take_words(self._noise_rng))

    def _make_lags(
        self, N: int, tape: Tape | None, schedule: Indices | None, parameters: SrParameters, seed: Seed, *, keep: bool
    ) -> None:
        """Make what ``SrRun`` makes, with a stream for one example: it holds r alone."""
        self.parameters = p = parameters
        problem = self._problem
        T = p.steps
        epochs = p.steps // N + 1
        K = floor_log2(N)
        d = len(self._problem.start)
        rows = tape_rows(N, T)
        recorded = rows if tape is None and p.sigma > 0.0 else 0
        vectors = lag_vectors(epochs, K) + 2 * state_floats(1, T, 1) + 2 * (epochs + 1) + 2 * T * keep
        check.memory(vectors * d + T + 4 * recorded, steps=T, dimension=d, examples=N)
        super(SrRun, self).__init__(
            T, N, problem.start, p.ordering, seed, schedule=schedule, keep=keep, vectors=vectors, counters=2
        )
        tape = np.empty((0, d)) if tape is None else check.array(rows, d, tape=tape)
        self._noise = NodeNoise(p.deviations(N), tape, NO_WORDS, self._noise_rng, np.zeros(d))
        self._numbers = new_sr_numbers(p, N)
        self._state = new_sr_state(1, T, self._w, self._iterates, self._done)
        anchors = np.zeros((epochs + 1, d))
        common = np.zeros((epochs + 1, d))
        anchors[0] = self._w
        problem.common(problem.lam, anchors[0], common[0])
        words = np.zeros((recorded, 4), dtype=np.uint64)
        self._past = PastSteps(problem.x.arrays, problem.y, self.schedule, anchors, common, words)
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
