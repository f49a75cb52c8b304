"""Data sets: what is read, and that every bad file gets one clear line."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from dpverify.problems.data import load_dataset
from dpverify.problems.errors import DataError, available_bytes, check_memory
from dpverify.problems.sparse.rows import CsrRows
from tests.for_each import for_each


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def error_line(file: Path, limit: int | None = None) -> str:
    with pytest.raises(DataError) as caught:
        load_dataset(file, limit=limit)
    line = str(caught.value)
    assert "\n" not in line
    assert file.name in line
    return line


def test_bundled_set_is_standardised_and_says_so() -> None:
    data = load_dataset()
    assert data.x.shape == (569, 30)
    assert data.standardised
    assert data.classes == ("malignant", "benign")
    assert (data.y == 1).sum() == 357
    np.testing.assert_allclose(data.dense_x.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.dense_x.std(axis=0), 1, rtol=1e-12)
    assert not load_dataset(standardise=False).standardised


def test_a_sparse_libsvm_file_is_read_as_written(tmp_path: Path) -> None:
    # Shaped like a9a: few ones per row, labels -1 and +1, indices from 1.
    rng = np.random.default_rng(3)
    x = (rng.random((200, 123)) < 0.11).astype(float)
    x[:, -1] = 1
    labels = np.where(rng.random(200) < 0.24, 1, -1)
    file = tmp_path / "a9a"
    dump_svmlight_file(x, labels, str(file), zero_based=False)
    data = load_dataset(file)
    assert isinstance(data.x, CsrRows)
    assert data.x.stored == np.count_nonzero(x)
    np.testing.assert_array_equal(data.dense_x, x)
    np.testing.assert_array_equal(load_dataset(file, dense=True).x, x)
    np.testing.assert_array_equal(data.y, labels == 1)
    assert data.classes == ("-1", "1")
    assert (data.name, data.standardised) == ("a9a", False)
    for suffix, pack in ((".bz2", bz2.compress), (".gz", gzip.compress)):
        packed = tmp_path / f"a9a{suffix}"
        packed.write_bytes(pack(file.read_bytes()))
        np.testing.assert_array_equal(load_dataset(packed).dense_x, x)


def test_libsvm_comments_blank_lines_and_number_styles(tmp_path: Path) -> None:
    data = load_dataset(
        write(tmp_path, "d", "# head\n+1 1:1.5 3:-2e0 # note\n\n-1.0 2:1\n1.0 1:3\n")
    )
    np.testing.assert_array_equal(data.x, [[1.5, 0, -2], [0, 1, 0], [3, 0, 0]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])


def test_csv_with_header_and_names_as_labels(tmp_path: Path) -> None:
    data = load_dataset(
        write(tmp_path, "d.csv", 'a,b,class\n1,2,M\n\n3,4.5,"B"\n-1,0,M\n')
    )
    np.testing.assert_array_equal(data.x, [[1, 2], [3, 4.5], [-1, 0]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])
    assert data.classes == ("B", "M")


@for_each("name", ["d.csv.gz", "d.CSV.bz2", "d.tsv", "d.tsv.gz"])
def test_tables_are_known_by_their_names_and_may_be_packed(
    tmp_path: Path, name: str
) -> None:
    text = "a;b;class\n1;2;M\n3;4.5;B\n".replace(
        ";", "\t" if "tsv" in name else ","
    ).encode()
    packs: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress,
        "z2": bz2.compress,
    }
    pack = packs.get(name[-2:], bytes)
    (tmp_path / name).write_bytes(pack(text))
    data = load_dataset(tmp_path / name)
    assert data.dense_x.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert data.classes == ("B", "M")
    (tmp_path / name).write_bytes(
        pack(text)[:-9] if name[-2:] in {"gz", "z2"} else b"\xff\xfe"
    )
    assert "not a CSV file" in error_line(tmp_path / name)


@for_each("head", ["a,b,y", ",b,y", "1,b,2", "?,,y"])
def test_a_first_line_with_a_name_or_without_a_number_is_a_header(
    tmp_path: Path, head: str
) -> None:
    assert load_dataset(
        write(tmp_path, "d.csv", f"{head}\n3,4,0\n5,6,1\n")
    ).x.shape == (2, 2)


def test_csv_without_header(tmp_path: Path) -> None:
    data = load_dataset(write(tmp_path, "d.csv", "1,2,1\n3,4,2\n5,6,1.0\n"))
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    assert data.x.shape == (3, 2)
    data.dense_x[0, 0] = 7  # the array is ours to write to


def test_a_test_file_may_lack_a_class_and_has_none_of_its_own(tmp_path: Path) -> None:
    """Labels count in the order of the data to train on."""
    for name, text in (
        ("one.libsvm", "+1 1:1\n1.0 2:1\n"),
        ("one.csv", "1,2,1\n2,1,1\n"),
    ):
        data = load_dataset(write(tmp_path, name, text), known=("-1", "1"))
        assert (data.y.tolist(), data.classes) == ([1.0, 1.0], ("-1", "1"))
    both = load_dataset(
        write(tmp_path, "both.libsvm", "1 1:1\n-1 1:2\n"), known=("-1", "1")
    )
    assert both.y.tolist() == [1.0, 0.0]
    with pytest.raises(
        DataError, match=r"has the labels 1, 3, the data to train on have -1, 1\."
    ):
        load_dataset(
            write(tmp_path, "more.libsvm", "1 1:1\n3 1:2\n"), known=("-1", "1")
        )


def test_missing_file_directory_and_empty_file(tmp_path: Path) -> None:
    assert "no such file" in error_line(tmp_path / "nowhere")
    assert "is a directory" in error_line(tmp_path)
    assert "the file is empty" in error_line(write(tmp_path, "d", ""))
    assert "the file is empty" in error_line(write(tmp_path, "d.csv", ""))
    assert "name" in error_line(tmp_path / ("x" * 300))


BAD_LIBSVM = {
    "1 1:2\n1 2:x\n": ("line 2", "'2:x'", "index:value"),
    "1 1:1_000\n0 1:2\n": ("line 1", "'1:1_000'", "must have the form index:value"),
    "1 1:2\n0 1_0:2\n": ("line 2", "'1_0:2'", "must have the form index:value"),
    "1_0 1:2\n0 1:2\n": ("line 1", "label '1_0' must be a number"),
    "1 +1:2\n0 1:2\n": ("line 1", "'+1:2'", "must have the form index:value"),
    "1 1:2e1_0\n0 1:2\n": ("line 1", "'1:2e1_0'", "must have the form index:value"),
    "1 1:2\n1 2\n": ("line 2", "'2'", "colon is missing"),
    "1 1:2\nyes 2:1\n": ("line 2", "'yes'", "must be a number"),
    "1,2 1:2\n": ("line 1", "'1,2'", "must be a number"),
    "1 2:2 1:3\n": ("line 1", "'1:3'", "above the one before it, 2"),
    "1 1:2 1:3\n": ("line 1", "'1:3'", "above"),
    "1 -1:2\n": ("line 1", "'-1:2'", "must lie in"),
    "1 1:2\n0 1:nan\n": ("line 2", "'1:nan'", "must be finite"),
    "1 1:2\n0 1:1 2:-inf\n": ("line 2", "'2:-inf'", "must be finite"),
    "1 1:2\nnan 1:1\n": ("line 2", "'nan'", "must be finite"),
    "1 99999999999999999999999:1\n0 1:1\n": ("line 1", "must lie in"),
    "1\n0\n": ("no feature",),
    "# only a comment\n": ("0 examples",),
    "1 1:2\n2 1:2\n3 1:1\n": ("labels must be two classes, found 3: 1, 2, 3",),
    "1 1:2\n1 1:3\n": ("found 1: 1",),
    "".join(f"{i} 1:1\n" for i in range(9)): ("found 9: 0, 1, 2, 3, 4, ...",),
}


@for_each("text", BAD_LIBSVM)
def test_bad_libsvm_file_gets_one_line(tmp_path: Path, text: str) -> None:
    line = error_line(write(tmp_path, "d.txt", text))
    for part in BAD_LIBSVM[text]:
        assert part in line


BAD_CSV = {
    "1,2,0\n1,2\n": ("line 2", "2 columns, the first line has 3"),
    "1,2,0\n1,x,1\n": (
        "line 2",
        "column 2 is 'x'",
        "finite number; give each of its values a column of 0 and 1",
    ),
    "1,2,0\n1,1_000,1\n": ("line 2", "column 2 is '1_000'", "must be a finite number"),
    "1_0,2,0\n1,3,1\n": ("line 1", "column 1 is '1_0'", "must be a finite number"),
    "1,2,0\n1,\u0661\u0662,1\n": (
        "line 2",
        "column 2 is '\u0661\u0662'",
        "must be a finite number",
    ),
    "1,2,0\n1,\u00a02,1\n": ("line 2", "must be a finite number"),
    "1,2,0\n1,0x10,1\n": ("line 2", "must be a finite number"),
    "1,2,0\n1,Infinity,1\n": ("line 2", "must be a finite number"),
    "1,2,1_0\n1,3,10\n1,3,11\n": ("found 3: 10, 11, 1_0",),
    "1,2,0\n1,nan,1\n": ("line 2", "column 2 is 'nan'"),
    "1,2,0\n,2,1\n": ("line 2", "column 1 is ''", "leave its line out"),
    "1,2,0\n1,2,\n": ("line 2", "label in the last column is empty"),
    "1,,0\n1,2,1\n": ("line 1", "column 2 is ''", "leave its line out"),
    "NA,2,0\n1,2,1\n": ("line 1", "column 1 is 'NA'"),
    "1\n2\n": ("line 1", "1 column"),
    "a,b\n": ("no example",),
    '1,"2,0\n': ("not a CSV file",),
    "1,2,a\n1,3,b\n1,3,c\n": ("found 3: a, b, c",),
    "1,2,nan\n1,3,1\n": ("label is NaN",),
}


@for_each("text", BAD_CSV)
def test_bad_csv_file_gets_one_line(tmp_path: Path, text: str) -> None:
    line = error_line(write(tmp_path, "d.csv", text))
    for part in BAD_CSV[text]:
        assert part in line


def test_damaged_archive_is_bad_data(tmp_path: Path) -> None:
    file = tmp_path / "d.gz"
    file.write_bytes(gzip.compress(b"1 1:2\n0 1:1\n" * 1000)[:-20])
    assert "cannot be read" in error_line(file)
    file.write_bytes(b"not packed at all")
    assert "cannot be read" in error_line(file)


def test_a_matrix_that_cannot_fit_is_refused_before_it_is_made(tmp_path: Path) -> None:
    line = error_line(write(tmp_path, "d", "1 1:2\n0 2000000000:1\n"), limit=10**9)
    # for the vectors of the smallest run
    assert "2 examples with 2000000000 features need 128 GB" in line
    rows = "".join(f"{i},{i % 2}\n" for i in range(2500))
    assert "need" in error_line(write(tmp_path, "d.csv", rows), limit=20_000)
    with pytest.raises(DataError, match="24 TB"):
        check_memory("set", 10**6, 10**6, 10**12)
    assert available_bytes() > 0


CONTENT = st.binary(max_size=80) | st.text('01 :.-ena,#\n\r"+', max_size=80).map(
    str.encode
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=CONTENT, suffix=st.sampled_from(["", ".csv", ".gz", ".tsv.gz"]))
def test_any_bytes_are_read_or_refused_in_one_line(
    tmp_path: Path, content: bytes, suffix: str
) -> None:
    file = tmp_path / f"d{suffix}"
    file.write_bytes(content)
    message = ""
    try:
        data = load_dataset(file, limit=10**6)
    except DataError as error:
        message = str(error)
    else:
        assert np.isfinite(data.dense_x).all()
        assert set(data.y) == {0.0, 1.0}
    assert "\n" not in message


def test_sample_draws_without_replacement_and_with_the_seed() -> None:
    data = load_dataset()
    drawn = data.sample(100, np.random.default_rng(1))
    again = data.sample(100, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn.x, again.x)
    assert len(np.unique(drawn.dense_x, axis=0)) == 100
    np.testing.assert_array_equal(data.sample(569, np.random.default_rng(1)).x, data.x)
    for n in (0, 570):
        with pytest.raises(DataError, match=rf"n must lie in \[1, 569\], .* got n={n}"):
            data.sample(n, np.random.default_rng(1))
