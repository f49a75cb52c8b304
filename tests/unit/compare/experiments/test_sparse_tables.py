"""The paper's tables on sparse files: rows stay sparse, and every method does what it does on dense ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.algorithms.algorithm import Algorithm
from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.compare.experiments.table_methods import trial_of
from dpverify.compare.experiments.tables import LAM, METHODS, load, table_of
from dpverify.papers.wang2019.algorithms.baselines import AgdParameters, DpAgd
from dpverify.problems.logistic import LogisticRegression, line_losses
from dpverify.problems.regression import recursive_gradient
from dpverify.problems.sparse.logistic import SparseLogistic, sparse_line_losses
from dpverify.problems.sparse.rows import CsrRows
from tests.for_each import for_each
from tests.unit.compare.experiments.test_tables import libsvm

RNG = np.random.default_rng(3)
ROWS = np.where(RNG.random((150, 40)) < 0.1, RNG.standard_normal((150, 40)), 0.0)
LABELS = [1, -1] * 75
TABLE = table_of("wang2019:table-2")


def both(tmp_path: Path) -> tuple[SparseLogistic, LogisticRegression]:
    file = libsvm(tmp_path / "train", ROWS, LABELS)
    (parts,) = load(
        ExperimentRequest("wang2019:table-2", data=file, seeds=2, budget="smoke"), TABLE
    )
    assert isinstance(parts.problem, SparseLogistic)
    return parts.problem, LogisticRegression(
        parts.problem.x.dense(), parts.problem.y, lam=LAM
    )


def test_sparse_files_stay_sparse_and_a_test_file_gets_the_columns_that_it_lacks(
    tmp_path: Path,
) -> None:
    train, test = (
        libsvm(tmp_path / "train", ROWS, LABELS),
        libsvm(tmp_path / "test", ROWS[:20, :30], LABELS[:20]),
    )
    request = ExperimentRequest(
        "wang2019:table-2", data=train, test_data=test, n=50, seeds=2, budget="smoke"
    )
    (parts,) = load(request, TABLE)
    assert isinstance(parts.x_test, CsrRows)
    assert (parts.problem.x.shape, parts.x_test.shape) == ((50, 40), (20, 40))
    (held_out,) = load(
        ExperimentRequest("wang2019:table-2", data=train, seeds=2, budget="smoke"),
        TABLE,
    )
    assert isinstance(held_out.problem, SparseLogistic)
    assert (len(held_out.problem.x), len(held_out.x_test)) == (120, 30)


def test_losses_along_a_line_are_those_of_dense_rows(tmp_path: Path) -> None:
    sparse, dense = both(tmp_path)
    w, direction, lengths = (
        RNG.standard_normal(40),
        RNG.standard_normal(40),
        np.array([0.0, 0.5, 30.0]),
    )
    for clip in (0.3, 3.0):
        found = sparse_line_losses(sparse, clip, w, direction, lengths)
        assert np.allclose(
            found, line_losses(dense, clip, w, direction, lengths), rtol=1e-12, atol=0
        )


@for_each("method", METHODS)
def test_a_method_ends_where_it_does_on_dense_rows(
    method: Algorithm[Any], tmp_path: Path
) -> None:
    ends = []
    for problem in both(tmp_path):
        run = trial_of(
            method,
            problem,
            "printed",
            0.5,
            40 if method.name == "dp-agd" else 4,
            20,
            1.0,
        ).start(0)
        run.advance()
        ends.append(run.w)
    # with so few examples DP-AGD stays where it is
    assert method.name == "dp-agd" or np.linalg.norm(ends[0]) > 0
    assert np.allclose(ends[0], ends[1], rtol=1e-9, atol=1e-12)


def test_dp_agd_takes_the_steps_that_it_does_on_dense_rows(tmp_path: Path) -> None:
    numbers = AgdParameters(steps=5, rho=1e30, rho_direction=1e20, rho_choice=1e20)
    sparse, dense = both(tmp_path)
    ends = []
    for problem, losses in (
        (sparse, partial(sparse_line_losses, sparse, 3.0)),
        (dense, partial(line_losses, dense, 3.0)),
    ):
        run = DpAgd(
            recursive_gradient(problem, 1.0),
            losses,
            len(problem.x),
            problem.start,
            numbers,
            seed=0,
        )
        run.advance()
        ends.append(run.w)
    assert np.linalg.norm(ends[0]) > 0
    assert np.allclose(ends[0], ends[1], rtol=1e-9, atol=1e-12)
