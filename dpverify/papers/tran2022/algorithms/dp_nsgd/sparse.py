"""DP-NSGD on sparse rows: a gradient costs only the entries of the example's row, noise and momentum still cost O(d).

The steps are those of ``dp_nsgd.optimizer``. The same seed gives the same examples and noise, so the iterates are equal
up to the order in which the products of a gradient are summed.
"""

from __future__ import annotations

from dpverify.kernels import check
from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.dyadic import level
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, fill_normal_from, take_words, wrapping
from dpverify.kernels.tape import Seed
from dpverify.kernels.typing import Tape, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
    NsgdNumbers,
    NsgdRun,
    NsgdState,
    noisy_step,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.problems.sparse.rows import SparseProblem


@kernel
def run_sparse_steps(
    common: Common,
    lam: float,
    gradient: SparseGradient,
    rows: CsrArrays,
    y: Vector,
    first: int,
    last: int,
    order: ExampleOrder,
    words: Words,
    tape: Tape,
    numbers: NsgdNumbers,
    state: NsgdState,
) -> int:
    """Do what ``run_steps`` does; ``common`` writes the part that all gradients share, ``gradient`` adds to it."""
    starts, columns, values = rows
    g, w, m, m_hat, slots, iterates, done = state
    for t in range(first, last + 1):
        n = example_of(t, order)
        begin = starts[n]
        end = starts[n + 1]
        common(lam, w, g)
        gradient(w, columns[begin:end], values[begin:end], y[n], g)
        if numbers.scale > 0.0:
            unit = slots[level(t)]
            if tape.shape[0] > 0:
                copy_into(unit, tape[t - 1])
            else:
                fill_normal_from(words, unit)
        if not noisy_step(t, numbers, g, w, m, m_hat, slots, iterates, done):
            return t
    return 0


class SparseDpNsgd(NsgdRun):
    """DP-NSGD on a problem with sparse rows; the other arguments are those of ``NsgdRun``."""

    def __init__(
        self,
        problem: SparseProblem,
        parameters: Parameters,
        *,
        seed: Seed = 0,
        tape: Tape | None = None,
        keep: bool = False,
    ) -> None:
        self._problem = problem
        super().__init__(
            check.whole(1, examples=len(problem.x)),
            problem.start,
            parameters,
            seed,
            tape,
            keep,
        )
        self._words = take_words(self._noise_rng)

    def _steps(self, first: int, last: int) -> None:
        p = self._problem
        with wrapping():
            failed = run_sparse_steps(
                p.common,
                p.lam,
                p.example_gradient,
                p.x.arrays,
                p.y,
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
