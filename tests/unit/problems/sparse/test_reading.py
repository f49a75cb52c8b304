"""Files are read part by part: the same rows whatever the parts, sparse by the rule, refused as soon as foreseen."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.compare.experiments.tables import load, table_of
from dpverify.kernels.typing import Matrix
from dpverify.problems import files
from dpverify.problems.data import load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.sparse.rows import CsrRows
from tests.for_each import for_each


def thin(n: int, d: int, density: float, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    x: Matrix = np.where(
        rng.random((n, d)) < density, np.round(rng.standard_normal((n, d)), 6), 0.0
    )
    x[:, -1] = 1.0
    x[n // 2, :-1] = 0.0
    return x


@for_each("zero_based", [True, False])
@for_each("density", [0.05, 0.6])
@for_each("part", [1, 100, 5000])
def test_a_libsvm_file_is_the_same_whatever_the_parts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: int,
    density: float,
    zero_based: bool,
) -> None:
    x, y = thin(60, 20, density), np.arange(60) % 2
    x[50, 0] = 1.5
    file = tmp_path / "d"
    dump_svmlight_file(x, y, str(file), zero_based=zero_based)
    monkeypatch.setattr(files, "PART", part)
    for suffix, pack in (("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)):
        named = tmp_path / f"d{suffix}"
        named.write_bytes(pack(file.read_bytes()))
        data = load_dataset(named)
        assert isinstance(data.x, CsrRows) == (density < 0.25)
        assert np.array_equal(data.dense_x, x)
        assert np.array_equal(data.y, y)
        assert np.array_equal(
            data.dense_x, load_svmlight_file(str(file))[0].toarray()
        ), "as scikit-learn reads it"


@for_each("cells", [1, 70, 10**6])
@for_each("density", [0.05, 0.6])
def test_a_table_is_the_same_whatever_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int, density: float
) -> None:
    x, file = thin(60, 20, density), tmp_path / "d.csv"
    x[30:, :5] = 0.0  # parts of both kinds
    file.write_text(
        "".join(
            ",".join(map(str, row)) + f",c{i % 2}\n" for i, row in enumerate(x.tolist())
        )
    )
    monkeypatch.setattr(files, "CELLS", cells)
    seen: list[tuple[int, int]] = []
    data = load_dataset(file, progress=lambda done, whole: seen.append((done, whole)))
    assert isinstance(data.x, CsrRows) == (density < 0.25)
    assert np.array_equal(data.dense_x, x)
    assert np.array_equal(load_dataset(file, dense=True).dense_x, x)
    assert len(seen) == {1: 60, 70: 15, 10**6: 0}[cells]  # after 1 and after 4 rows
    assert all(0 < done <= whole == file.stat().st_size for done, whole in seen)


def test_a_file_that_will_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, seen = tmp_path / "d", list[int]()
    file.write_text(
        "".join(f"{i % 2} {1 + i % 50}:1 {60 + i % 7}:2\n" for i in range(20_000))
    )
    monkeypatch.setattr(files, "PART", 10_000)
    with pytest.raises(DataError) as caught:
        load_dataset(file, limit=10**6, progress=lambda done, whole: seen.append(done))
    words = str(caught.value)
    assert words.startswith(f"{file}: about 2")
    assert "examples, as the first 4" in words
    assert "% of the file tell, need 1.9" in words
    assert "MB of memory, more than the 1 MB available." in words
    assert len(seen) == 1
    rows = load_dataset(file).x
    assert isinstance(rows, CsrRows)
    assert rows.nbytes * 3 == pytest.approx(1.92e6, rel=0.02)
    table = tmp_path / "d.csv"
    table.write_text("1.5,2.5,0\n3.5,4.5,1\n" * 10_000)
    monkeypatch.setattr(files, "CELLS", 4000)
    with pytest.raises(
        DataError,
        match=r"about \d+ examples, as the first \d+% of the file tell, need \d+ kB",
    ):
        load_dataset(table, limit=600_000)


def test_dense_rows_that_do_not_fit_stay_sparse(tmp_path: Path) -> None:
    file = tmp_path / "d"
    file.write_text("".join(f"{i % 2} {1 + i % 3}:1\n" for i in range(3000)))
    assert isinstance(load_dataset(file).x, np.ndarray), (
        "a third of the entries is not 0"
    )
    file.write_text(
        "".join(f"{i % 2} {1 + i % 4}:1 {5 + i % 1000}:1\n" for i in range(3000))
    )
    assert isinstance(load_dataset(file, limit=10**6).x, CsrRows)
    with pytest.raises(
        DataError, match=r"3000 examples with 1004 features need 72\.3 MB"
    ):
        load_dataset(file, limit=10**6, dense=True)


def test_lines_with_a_label_only_and_index_0(tmp_path: Path) -> None:
    file = tmp_path / "d"
    file.write_text("1\n0 9:2 12:1\n\n1 # nothing\n0\n")
    data = load_dataset(file)
    assert isinstance(data.x, CsrRows)
    assert data.x.starts.tolist() == [0, 0, 2, 2, 2]
    assert (data.x.width, data.x.columns.tolist(), data.y.tolist()) == (
        12,
        [8, 11],
        [1, 0, 1, 0],
    )
    # an index of 0, though its value is 0, makes all begin there
    file.write_text("1 0:0 12:3\n0 9:2\n")
    assert load_dataset(file).x.shape == (2, 13)
    file.write_text("1 3:0\n0 2:0\n")
    assert np.array_equal(load_dataset(file).dense_x, np.zeros((2, 3)))


def test_a_bad_line_in_a_later_part_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PART", 50)
    for bad, why in (
        ("1 5:1 5:2", "above the one before it, 5"),
        ("1 7:1 5:2", "above"),
        ("0 5:inf", "be finite"),
    ):
        file = tmp_path / "d"
        file.write_text("1 1:2\n0 2:1\n" * 100 + bad + "\n" + "1 3:1\n" * 100)
        with pytest.raises(DataError, match=f"line 201: .*{why}"):
            load_dataset(file)


def test_a_test_file_with_fewer_features_gets_empty_columns(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("".join(f"{i % 2} {1 + i % 40}:1\n" for i in range(80)))
    second.write_text("".join(f"{i % 2} {1 + i % 30}:1\n" for i in range(60)))
    request = ExperimentRequest(
        experiment="wang2019:table-2", data=first, test_data=second
    )
    (parts,) = load(request, table_of(request.experiment))
    assert parts.problem.x.shape == (80, 40)
    assert parts.x_test.shape == (60, 40)
