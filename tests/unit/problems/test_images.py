"""Digits, and files of MNIST and CIFAR that are written here in their formats, whole and damaged."""

import gzip
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.problems.errors import DataError
from dpverify.problems.images import (
    PICKLED,
    Images,
    cifar10,
    cifar100,
    digits,
    mnist,
    read_idx,
)
from tests.for_each import for_each


def idx(array: NDArray[np.uint8], kind: int = 8) -> bytes:
    return (
        struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape)
        + array.tobytes()
    )


def write_mnist(
    folder: Path, train: int = 12, test: int = 5, packed: bool = False
) -> tuple[NDArray[np.uint8], Any]:
    rng = np.random.default_rng(0)
    x, y = (
        rng.integers(0, 256, (train + test, 28, 28), dtype=np.uint8),
        np.arange(train + test, dtype=np.uint8) % 10,
    )
    for part, rows in (("train", slice(0, train)), ("t10k", slice(train, None))):
        for name, content in (("images-idx3", x[rows]), ("labels-idx1", y[rows])):
            path = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(idx(content)) if packed else idx(content))
    return x, y


def write_cifar(folder: Path, files: int = 2, rows: int = 3) -> NDArray[np.uint8]:
    records = np.random.default_rng(1).integers(
        0, 256, ((files + 1) * rows, 3073), dtype=np.uint8
    )
    records[:, 0] %= 10
    names = [f"data_batch_{number + 1}.bin" for number in range(files)] + [
        "test_batch.bin"
    ]
    for number, name in enumerate(names):
        (folder / name).write_bytes(
            records[number * rows : (number + 1) * rows].tobytes()
        )
    return records


def test_digits_are_split_and_enlarged() -> None:
    train, test = digits(3)
    assert len(train.y) + len(test.y) == 1797
    assert set(train.y) == set(range(10))
    assert train.x.max() == train.top == 16
    assert not np.array_equal(digits(4)[1].y, test.y)
    large = test.sized(3, 32).x
    assert large.shape == (359, 3, 32, 32)
    assert np.array_equal(large[:, 2, ::4, 3::4], test.x[:, 0])


@for_each("packed", [False, True])
def test_mnist_is_read(tmp_path: Path, packed: bool) -> None:
    x, y = write_mnist(tmp_path, packed=packed)
    train, test = mnist(tmp_path)
    assert np.array_equal(np.concatenate([train.x, test.x])[:, 0], x)
    assert np.array_equal(np.concatenate([train.y, test.y]), y)
    (tmp_path / "train-images-idx3-ubyte").unlink(missing_ok=True)
    if not packed:
        (tmp_path / "train-images.idx3-ubyte").write_bytes(idx(x[:12]))
        assert np.array_equal(mnist(tmp_path)[0].x, train.x)


def test_cifar_is_read(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-bin").mkdir()
    records = write_cifar(tmp_path / "cifar-10-batches-bin")
    train, test = cifar10(tmp_path)
    assert (len(train.y), len(test.y)) == (6, 3)
    assert test.y.tolist() == records[6:, 0].tolist()
    assert train.x[4, 1, 2, 3] == records[4, 1 + 1024 + 2 * 32 + 3]
    fine = np.concatenate(
        [
            np.full((6, 1), 77, dtype=np.uint8),
            np.full((6, 1), 99, dtype=np.uint8),
            records[:6, 1:],
        ],
        1,
    )
    (tmp_path / "train.bin").write_bytes(fine.tobytes())
    assert cifar100(tmp_path).y.tolist() == [99] * 6


def damaged(change: Callable[[bytes], bytes], name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_mnist(folder)
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return write


IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@for_each(
    ("damage", "words"),
    [
        (
            damaged(lambda b: b"\x00\x00\x0d\x03" + b[4:], IMAGES),
            "magic number 00000d03, must be 00000803",
        ),
        (damaged(lambda b: b[:3], IMAGES), "truncated: 3 bytes"),
        (damaged(lambda b: b"", IMAGES), "truncated: 0 bytes"),
        (damaged(lambda b: b[:10], LABELS), "promises 12 bytes, there are 2"),
        (damaged(lambda b: b + b"x", IMAGES), "has more than it says"),
        (
            damaged(lambda b: idx(np.zeros(11, dtype=np.uint8)), LABELS),
            "has 11 labels, the file of images has 12",
        ),
        (
            damaged(lambda b: b[:-1] + b"\x0a", LABELS),
            "label 10 of image 11, must lie in 0..9",
        ),
        (
            damaged(lambda b: b[:4] + b"\xff" * 12 + b[16:], IMAGES),
            "memory has room for",
        ),
        (lambda folder: None, "no such file, plain or .gz"),
    ],
)
def test_bad_idx_files_are_refused_in_one_line(
    tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(tmp_path)
    with pytest.raises(DataError) as caught:
        mnist(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@for_each("change", [lambda b: b[:-5], lambda b: b[:20], lambda b: b"plain"])
def test_a_damaged_gzip_file_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(change(gzip.compress(idx(np.zeros((40, 9, 9), dtype=np.uint8)))))
    with pytest.raises(DataError, match="cannot be read"):
        read_idx(path, 3)


class Bomb:
    """Unpickling it would write a file."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("ran"),)


@for_each(
    "name", ["data_batch_1", "data_batch_1.bin", "cifar-10-batches-py/data_batch_1"]
)
def test_a_pickle_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataError) as caught:
        cifar10(tmp_path)
    assert PICKLED in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_bad_cifar_files_are_refused(tmp_path: Path) -> None:
    for change, words in (
        (lambda b: b[:-1], "no multiple of 3073"),
        (lambda b: b"", "no multiple of 3073"),
        (lambda b: b"\x0b" + b[1:], "label 11 of image 0"),
    ):
        write_cifar(tmp_path)
        path = tmp_path / "data_batch_2.bin"
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(DataError, match=words):
            cifar10(tmp_path)
    with pytest.raises(DataError, match="memory has room"):
        cifar10(tmp_path, limit=9000)
    with pytest.raises(DataError, match=r"train\.bin"):
        cifar100(tmp_path)


def test_a_part_keeps_labels_with_images() -> None:
    whole = Images("x", np.arange(6, dtype=np.uint8).reshape(6, 1, 1, 1), np.arange(6))
    part = whole.part(np.array([4, 1]))
    assert part.x.ravel().tolist() == part.y.tolist() == [4, 1]


def test_gzip_data_that_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(
        idx(np.random.default_rng(0).integers(0, 4, (200, 9, 9), dtype=np.uint8))
    )
    path = tmp_path / "a.gz"
    path.write_bytes(
        whole[:400] + bytes(byte ^ 0x55 for byte in whole[400:440]) + whole[440:]
    )
    with gzip.open(path) as file, pytest.raises(zlib.error):
        file.read()
    with pytest.raises(DataError, match="cannot be read"):
        read_idx(path, 3)
