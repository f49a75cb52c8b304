"""Algorithm 2 on sparse rows takes the steps that it takes on the same rows written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dpverify.kernels.check import physical_bytes
from dpverify.kernels.tape import generator, normal_tape
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import state_floats
from dpverify.papers.tran2022.algorithms.sr_nsgd import lags
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
from dpverify.problems.data import dataset_of
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.rows import CsrRows
from tests.for_each import for_each

N, D, STEPS = 7, 40, 30


@for_each("sigma", [0.0, 0.5])
def test_the_momentum_of_each_step_is_that_of_dense_rows(sigma: float) -> None:
    rng = np.random.default_rng(2)
    x = np.where(rng.random((N, D)) < 0.08, rng.standard_normal((N, D)), 0.0)
    y = (rng.random(N) < 0.5).astype(np.float64)
    rows = dataset_of(sparse.csr_array(x), y).x
    assert isinstance(rows, CsrRows)
    dense, problem = LogisticRegression(x, y, 0.01), SparseLogistic(rows, y, 0.01)
    numbers = SrParameters(
        steps=STEPS, alpha=0.3, gamma=0.2, eta=0.4, sigma=sigma, lipschitz=1.0
    )
    made = SrNsgd(dense.example_gradient, x, y, dense.start, numbers, seed=5, keep=True)
    found = SparseSrNsgd(problem, numbers, seed=5, keep=True)
    for run in (made, found):
        run.advance()
    for one, other in ((made.momenta, found.momenta), (made.released, found.released)):
        assert len(one) == STEPS > 3 * N
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def sparse_problem(n: int, d: int, lam: float = 0.01) -> SparseLogistic:
    """Rows with an entry in every third column or so."""
    rng = np.random.default_rng(n)
    x = np.where(rng.random((n, d)) < 0.3, rng.standard_normal((n, d)), 0.0)
    y = (rng.random(n) < 0.5).astype(np.float64)
    found = sparse.csr_array(x)
    rows = CsrRows(
        found.indptr.astype(np.int64), found.indices.astype(np.uint32), found.data, d
    )
    return SparseLogistic(rows, y, lam)


@for_each("n", [1, 2, 3, 8, 13])
@for_each("sigma", [0.0, 0.7])
def test_sums_that_are_made_anew_are_those_that_are_stored_bit_for_bit(
    n: int, sigma: float
) -> None:
    problem, steps = sparse_problem(n, 6), 5 * n + n // 2 + 1
    numbers = SrParameters(
        steps=steps, alpha=0.07, gamma=0.2, eta=0.05, sigma=sigma, lipschitz=1.0
    )
    stored = SparseSrNsgd(problem, numbers, seed=3, keep=True, stored=True)
    made = SparseSrNsgd(problem, numbers, seed=3, keep=True, stored=False)
    stored.advance()
    for size in (1, steps // 2, steps - 1 - steps // 2):
        made.advance(size)
    for name in ("w", "iterates", "momenta", "released", "schedule"):
        np.testing.assert_array_equal(
            getattr(made, name), getattr(stored, name), err_msg=name
        )


def test_they_are_with_a_tape_a_schedule_and_one_permutation() -> None:
    problem, n, steps = sparse_problem(6, 5, lam=0.0), 6, 31
    numbers = SrParameters(
        steps, alpha=0.2, gamma=0.5, eta=0.1, sigma=1.0, lipschitz=1.0, ordering="once"
    )
    tape = normal_tape(generator(1), tape_rows(n, steps), 5)
    schedule = np.random.default_rng(0).integers(0, n, steps)
    for options in ({}, {"tape": tape}, {"schedule": schedule}):
        stored, made = (
            SparseSrNsgd(problem, numbers, seed=3, keep=True, stored=how, **options)
            for how in (True, False)
        )
        for run in (stored, made):
            run.advance()
        np.testing.assert_array_equal(made.released, stored.released)


def test_the_comparison_sees_a_gaussian_that_is_drawn_from_another_state() -> None:
    problem = sparse_problem(4, 3)
    numbers = SrParameters(17, alpha=0.2, gamma=0.5, eta=0.1, sigma=1.0, lipschitz=1.0)
    stored = SparseSrNsgd(problem, numbers, seed=3, keep=True, stored=True)
    made = SparseSrNsgd(problem, numbers, seed=3, keep=True, stored=False)
    stored.advance()
    made.advance(9)
    made._past.words[:] = made._past.words[0]
    made.advance()
    np.testing.assert_array_equal(made.released[:9], stored.released[:9])
    assert not np.array_equal(made.released[9:], stored.released[9:])


def test_sums_that_do_not_fit_in_memory_are_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = sparse_problem(300, 50)
    numbers = SrParameters(10, alpha=0.2, gamma=0.5, eta=0.1, sigma=1.0, lipschitz=1.0)
    needed = 8 * 50 * 2 * state_floats(300, 10, 1)
    assert needed < physical_bytes()
    for module in (
        "kernels.check.physical_bytes",
        "papers.tran2022.algorithms.sr_nsgd.sparse.check.physical_bytes",
    ):
        monkeypatch.setattr(f"dpverify.{module}", lambda: needed - 1)
    run = SparseSrNsgd(problem, numbers, seed=1)
    assert isinstance(run._lags, lags.Lags)
    run.advance()
    assert run.t == 10
