"""Algorithm 2 on sparse rows takes the steps that it takes on the same rows written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
from dpverify.problems.data import dataset_of
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.rows import CsrRows

N, D, STEPS = 7, 40, 30


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_the_momentum_of_each_step_is_that_of_dense_rows(sigma: float) -> None:
    rng = np.random.default_rng(2)
    x = np.where(rng.random((N, D)) < 0.08, rng.standard_normal((N, D)), 0.0)
    y = (rng.random(N) < 0.5).astype(np.float64)
    rows = dataset_of(sparse.csr_array(x), y).x
    assert isinstance(rows, CsrRows)
    dense, problem = LogisticRegression(x, y, 0.01), SparseLogistic(rows, y, 0.01)
    numbers = SrParameters(steps=STEPS, alpha=0.3, gamma=0.2, eta=0.4, sigma=sigma, lipschitz=1.0)
    made = SrNsgd(dense.example_gradient, x, y, dense.start, numbers, seed=5, keep=True)
    found = SparseSrNsgd(problem, numbers, seed=5, keep=True)
    for run in (made, found):
        run.advance()
    for one, other in ((made.momenta, found.momenta), (made.released, found.released)):
        assert len(one) == STEPS > 3 * N
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
