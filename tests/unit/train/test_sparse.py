"""Every algorithm of ``train`` on sparse rows: the run that it has on dense ones, in the memory that the rows take."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpverify.algorithms.dp_srm import DdpSettings
from dpverify.algorithms.dpageem import FAMILY
from dpverify.compare.records import CompareRequest
from dpverify.compare.run import compare
from dpverify.kernels.check import ArgumentError
from dpverify.problems.data import Dataset, dataset_of, load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.regression import regression_problem
from dpverify.problems.sparse.rows import CsrRows
from dpverify.train.ddp import rounding_bound
from dpverify.train.records import Request
from dpverify.train.run import WORK_PER_POINT, cheap_points, steps_to_measure, train
from tests.for_each import for_each

N, D = 60, 40


def both_ways(seed: int = 0) -> tuple[Dataset, Dataset]:
    """The same data with dense and with sparse rows: an empty row, a full column."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((N, D)) < 0.08, rng.standard_normal((N, D)), 0.0)
    x[:, 1], x[5] = 1.0, 0.0
    sparsely = dataset_of(sparse.csr_array(x), (rng.random(N) < 0.4).astype(np.float64))
    assert isinstance(sparsely.x, CsrRows)
    return replace(sparsely, x=x), sparsely


@for_each("lam", [0.0, 0.01])
@for_each("sigma", [0.0, 0.5])
@for_each(
    "algorithm", ["dp-nsgd", "sr-nsgd", "dp-srm", *(method.name for method in FAMILY)]
)
def test_a_run_on_sparse_rows_is_that_on_dense_ones_up_to_rounding(
    algorithm: str, sigma: float, lam: float
) -> None:
    asked: dict[str, Any] = {
        "steps": 250,
        "lam": lam,
        "seed": 3,
        "eta": 0.05,
        "points": 20,
    }
    if algorithm != "sgd-stages":
        asked["sigma"] = sigma
    dense, found = (
        train(Request(algorithm, **asked), None, data) for data in both_ways()
    )
    assert np.allclose(found.w, dense.w, rtol=1e-9, atol=1e-11)
    assert np.linalg.norm(found.w) > 0.01
    for one, other in zip(found.path, dense.path, strict=True):
        assert one.step == other.step
        assert math.isclose(one.loss, other.loss, rel_tol=1e-10)
        assert math.isclose(
            one.gradient_norm, other.gradient_norm, rel_tol=1e-7, abs_tol=1e-10
        )
    assert found.constants == dense.constants
    assert found.notes == dense.notes


@for_each("scale", ["clip", "none"])
@for_each("algorithm", ["dp-nsgd", "dpageem"])
def test_so_it_is_with_every_scaling_and_a_budget(algorithm: str, scale: Any) -> None:
    asked: dict[str, Any] = {
        "steps": 140,
        "scale": scale,
        "epsilon": 3.0,
        "delta": 1e-3,
        "n": 50,
    }
    dense, found = (
        train(Request(algorithm, **asked), None, data) for data in both_ways()
    )
    assert found.privacy == dense.privacy
    assert math.isclose(
        found.constants.lipschitz, dense.constants.lipschitz, rel_tol=1e-12
    )
    assert np.allclose(found.w, dense.w, rtol=1e-9, atol=1e-11)


def test_ddp_srm_takes_sparse_rows() -> None:
    pytest.importorskip("mpyc", reason="the extra mpc is not installed")
    asked: dict[str, Any] = {
        "steps": 4,
        "sigma": 0.0,
        "batch": 30,
        "parties": 3,
        "eta": 0.5,
        "gamma": 0.25,
    }
    dense, found = (
        train(Request("ddp-srm", **asked), None, data) for data in both_ways()
    )
    apart = float(np.linalg.norm(np.array(found.w) - dense.w))
    assert isinstance(found.settings, DdpSettings)
    assert (
        apart
        <= 2.0 * rounding_bound(found.settings, D, found.constants.smoothness)
        < 1e-3
    )
    assert np.linalg.norm(found.w) > 0.01


def test_compare_takes_sparse_rows_and_refuses_to_standardise_them() -> None:
    request = CompareRequest(epsilon=3.0, delta=1e-3, epochs=2, seeds=2)
    dense, found = (compare(request, None, data) for data in both_ways())
    for one, other in zip(found.methods, dense.methods, strict=True):
        assert one.name == other.name
        for mine, theirs in zip(one.outcomes, other.outcomes, strict=True):
            assert math.isclose(mine.loss, theirs.loss, rel_tol=1e-9)
            assert mine.test_error == theirs.test_error
            assert math.isclose(
                mine.mean_gradient_norm, theirs.mean_gradient_norm, rel_tol=1e-7
            )
    with pytest.raises(
        ArgumentError, match="standardise must be left out for sparse rows"
    ):
        compare(replace(request, standardise=True), None, both_ways()[1])


def libsvm(file: Path, n: int, d: int, entries: int) -> Path:
    """Write rows with few entries; the last column is full."""
    rng = np.random.default_rng(1)
    with file.open("w") as out:
        for i in range(n):
            columns = np.unique(rng.integers(1, d, entries))
            out.write(
                f"{i % 2} "
                + " ".join(f"{c}:{0.5 + c / d:.3f}" for c in columns)
                + f" {d}:1\n"
            )
    return file


def test_a_file_is_trained_on_without_being_written_out(tmp_path: Path) -> None:
    file = libsvm(tmp_path / "d", 300, 2000, 10)
    request = Request(data=file, steps=400, n=200, sigma=0.3)
    dense = train(request, None, load_dataset(file, dense=True))
    found = train(request)
    assert np.allclose(found.w, dense.w, rtol=1e-9, atol=1e-12)
    assert train(request.changed(standardise=True)).notes != found.notes, (
        "standardised rows are dense"
    )
    with pytest.raises(
        ArgumentError, match="standardise must be left out for data given as arrays"
    ):
        train(request.changed(standardise=True), None, load_dataset(file))
    with pytest.raises(
        DataError,
        match=r"300 examples with 2000 features need 14\.4 MB of memory, more than the 1 MB",
    ):
        load_dataset(file, standardise=True, limit=10**6)


MEASURE = """
import sys, tracemalloc
from pathlib import Path
from dpverify.problems.data import load_dataset
from dpverify.train import Request, train
small, file = Path(sys.argv[1]), Path(sys.argv[2])
for algorithm in sys.argv[3:]:
    request = Request(algorithm, steps=100, points=2)
    train(request, None, load_dataset(small))  # everything is imported and compiled
    tracemalloc.start()
    data = load_dataset(file)
    train(request, None, data)
    print(algorithm, data.x.nbytes, tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    del data
"""
VECTORS = {"dp-nsgd": 16, "dpageem": 12, "dp-srm": 14}
ROWS = 3000


@pytest.fixture(scope="module")
def peaks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """Bytes of the rows, and the most that a run on them held at once, of each algorithm."""
    folder = tmp_path_factory.mktemp("memory")
    small, file = (
        libsvm(folder / "small", 60, 500, 5),
        libsvm(folder / "file", ROWS, 20_000, 60),
    )
    command = [sys.executable, "-c", MEASURE, str(small), str(file), *VECTORS]
    lines = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return {name: (int(rows), int(peak)) for name, rows, peak in map(str.split, lines)}


@for_each("algorithm", VECTORS)
def test_memory_is_at_most_three_times_the_rows_and_some_vectors(
    peaks: dict[str, tuple[int, int]], algorithm: str
) -> None:
    rows, peak = peaks[algorithm]
    assert rows > 12 * ROWS * 50
    assert peak <= 3 * rows + VECTORS[algorithm] * 8 * 20_000
    assert peak < 8 * ROWS * 20_000 / 20, "dense rows would be seen"


def test_points_of_sparse_rows_follow_what_steps_and_points_cost() -> None:
    rows = CsrRows(
        np.arange(0, 30_001, 3),
        np.tile(np.arange(3, dtype=np.uint32), 10_000),
        np.ones(30_000),
        50_000,
    )
    run = 5000 * (3 + 12 + 4 * 50_000)
    point = 30_000 + 12 * 10_000 + 4 * 50_000
    assert (
        cheap_points(rows, 5000, 5000, noisy=True)
        == run // (WORK_PER_POINT * point)
        == 178
    )
    assert (
        cheap_points(rows, 5000, 5000, noisy=False)
        == (run - 5000 * 2 * 50_000) // (WORK_PER_POINT * point)
        == 89
    )
    assert cheap_points(rows, 10, 10, noisy=True) == 2_000_000 // point == 5
    narrow = replace(rows, width=3)
    assert (
        cheap_points(narrow, 10**7, 10**7, noisy=True)
        == 10**7 * 27 // (WORK_PER_POINT * 150_012)
        == 112
    )
    problem = regression_problem(
        rows.with_values(np.full(30_000, 0.5)), np.zeros(10_000), lam=0.0, radius=1.0
    )
    for algorithm in ("dp-nsgd", "dp-srm", "ddp-srm"):
        request = Request(algorithm, sigma=1.0, steps=5000)
        assert len(steps_to_measure(request, request.settle(10_000), problem)) == 100
        request = request.changed(points=7)
        assert len(steps_to_measure(request, request.settle(10_000), problem)) == 7
