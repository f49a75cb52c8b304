"""Sensitivity-reduced NSGD on sparse rows; see ``dp_nsgd.sparse``. Its nodes are dense: a run keeps O(N d) numbers."""

from __future__ import annotations

from dpverify.kernels import check
from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Indices, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.run import SrRun
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import SrNumbers, SrState, sr_step
from dpverify.problems.sparse.base import SparseProblem


@kernel
def run_sparse_sr_steps(
    common: Common, lam: float, gradient: SparseGradient, rows: CsrArrays, y: Vector, first: int, last: int,
    order: ExampleOrder, numbers: SrNumbers, noise: NodeNoise, state: SrState,
) -> int:  # fmt: skip
    """Do what ``run_sr_steps`` does: ``gradient`` adds what is the example's own to what ``common`` has written."""
    starts, columns, values = rows
    N = order.permutation.shape[0]
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = state
    for t in range(first, last + 1):
        n = example_of(t, order)
        own, entries = columns[starts[n] : starts[n + 1]], values[starts[n] : starts[n + 1]]
        common(lam, anchors[0], gradients[G])
        gradient(anchors[0], own, entries, y[n], gradients[G])
        if t > N:
            common(lam, anchors[1], gradients[DELTA])
            gradient(anchors[1], own, entries, y[n], gradients[DELTA])
        common(lam, w, gradients[R])
        gradient(w, own, entries, y[n], gradients[R])
        failed = sr_step(
            t, numbers, noise, gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done
        )
        if failed:
            return failed
    return 0


class SparseSrNsgd(SrRun):
    """Sensitivity-reduced NSGD on a problem with sparse rows; the other arguments are those of ``SrRun``."""

    def __init__(
        self, problem: SparseProblem, parameters: SrParameters, *, seed: Seed = 0, tape: Tape | None = None,
        schedule: Indices | None = None, keep: bool = False,
    ) -> None:  # fmt: skip
        self._problem = problem
        N = check.whole(1, examples=len(problem.x))
        super().__init__(N, problem.start, parameters, seed, tape, schedule, keep)
        self._noise = self._noise._replace(words=take_words(self._noise_rng))

    def _steps(self, first: int, last: int) -> None:
        p = self._problem
        with wrapping():
            failed = run_sparse_sr_steps(
                p.common, p.lam, p.example_gradient, p.x.arrays, p.y, first, last, self._order, self._numbers,
                self._noise, self._state,
            )  # fmt: skip
        if failed:
            self._fail(failed)
