"""Image data sets: scikit-learn's digits, and MNIST (IDX files) and CIFAR (binary version) from the user's files.

An IDX file (LeCun, Cortes and Burges) has two zero bytes, the type (8: unsigned bytes), the number of dimensions, each
size as four bytes, big-endian, and then the data. A CIFAR file (Krizhevsky) has records of one label byte, or two in
CIFAR-100, and 3072 bytes of pixels.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Indices
from dpverify.problems.errors import DataError, available_bytes, human_bytes
from dpverify.problems.files import UNREADABLE

CLASSES = 10
SIDE = 32
SPLIT_STREAM = 3
HELD_OUT = 0.2
CLASS_SIZES = {
    "MNIST": (
        (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    ),
    "CIFAR-10": ((5000,) * CLASSES, (1000,) * CLASSES),
}
"""Images per class in published data sets, for training and for testing. Other data sets in MNIST's format differ."""
PICKLED = "is of CIFAR's Python version, a pickle, which can run any code and is not read; take its binary version"


@dataclass(frozen=True, eq=False)
class Images:
    """Images ``x`` (n, channels, height, width), bytes from 0 to ``top``, and their classes ``y`` (n,)."""

    name: str
    x: NDArray[np.uint8]
    y: Indices
    top: float = 255.0

    def part(self, rows: Indices) -> Images:
        """Return a subset of the images."""
        return Images(self.name, self.x[rows], self.y[rows], self.top)

    def sized(self, channels: int, side: int) -> Images:
        """Return the images scaled to squares by repeating pixels, and with a single channel repeated."""
        places = [np.arange(side) * have // side for have in self.x.shape[2:]]
        x = self.x[:, :, places[0]][:, :, :, places[1]]
        return Images(
            self.name,
            x if x.shape[1] == channels else np.repeat(x, channels, axis=1),
            self.y,
            self.top,
        )


def digits(seed: int = 0) -> tuple[Images, Images]:
    """Return a training set and a test set (one fifth) of the 1797 digits of scikit-learn, 8 by 8 pixels."""
    from sklearn.datasets import load_digits

    bundled = load_digits()
    images = Images(
        "digits (bundled)",
        bundled.images.astype(np.uint8)[:, None],
        bundled.target.astype(np.int64),
        16.0,
    )
    order = generator(seed, SPLIT_STREAM).permutation(len(images.y))
    cut = round(HELD_OUT * len(order))
    return images.part(order[cut:]), images.part(order[:cut])


def are_published(train: Images, test: Images) -> bool:
    """Test whether these can be all images of the published set of this name: the class sizes are equal."""
    sizes = tuple(
        tuple(np.bincount(images.y, minlength=CLASSES).tolist())
        for images in (train, test)
    )
    return CLASS_SIZES.get(train.name) == sizes


def mnist(folder: Path, limit: int | None = None) -> tuple[Images, Images]:
    """Return the training and test sets in ``train-images-idx3-ubyte`` etc. and ``t10k-...``, plain or ``.gz``."""
    return _idx_pair(folder, "train", limit), _idx_pair(folder, "t10k", limit)


def cifar10(folder: Path, limit: int | None = None) -> tuple[Images, Images]:
    """Return the training set (the existing ones of ``data_batch_1.bin`` to ``5``) and the test set of CIFAR-10."""
    inside = _inside(folder, "cifar-10-batches-bin")
    train = [inside / f"data_batch_{number}.bin" for number in range(1, 6)]
    existing = [path for path in train if path.exists()] or train[:1]
    return _cifar("CIFAR-10", existing, 1, CLASSES, limit), _cifar(
        "CIFAR-10", [inside / "test_batch.bin"], 1, CLASSES, limit
    )


def cifar100(folder: Path, limit: int | None = None) -> Images:
    """Return the training set of CIFAR-100, in ``train.bin``, with the 100 fine classes."""
    return _cifar(
        "CIFAR-100", [_inside(folder, "cifar-100-binary") / "train.bin"], 2, 100, limit
    )


def _inside(folder: Path, name: str) -> Path:
    """Return the subfolder to which the archive unpacks if it exists, otherwise the folder."""
    return folder / name if (folder / name).is_dir() else folder


def _idx_pair(folder: Path, part: str, limit: int | None) -> Images:
    images = read_idx(_plain_or_gzip(folder, f"{part}-images-idx3-ubyte"), 3, limit)
    path = _plain_or_gzip(folder, f"{part}-labels-idx1-ubyte")
    labels = read_idx(path, 1, limit)
    if len(labels) != len(images):
        raise DataError(
            path,
            f"has {len(labels)} labels, the file of images has {len(images)} images.",
        )
    if images.size == 0:
        raise DataError(path, "there is no image, at least one is needed.")
    return Images("MNIST", images[:, None], _classes(path, labels, CLASSES))


def _plain_or_gzip(folder: Path, name: str) -> Path:
    names = [
        name,
        f"{name}.gz",
        name.replace("-idx", ".idx"),
        f"{name.replace('-idx', '.idx')}.gz",
    ]
    for candidate in names:
        if (folder / candidate).exists():
            return folder / candidate
    raise DataError(folder / name, "no such file, plain or .gz.")


def read_idx(path: Path, sizes: int, limit: int | None = None) -> NDArray[np.uint8]:
    """Return the array of an IDX file, plain or ``.gz``; it must have unsigned bytes in ``sizes`` dimensions."""
    limit = available_bytes() if limit is None else limit
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(4 + 4 * sizes)
            if head[:4] != bytes((0, 0, 8, sizes))[: len(head)]:
                raise DataError(
                    path,
                    f"magic number {head[:4].hex()}, must be 000008{sizes:02x} (IDX, unsigned bytes).",
                )
            if len(head) < 4 + 4 * sizes:
                raise DataError(
                    path,
                    f"truncated: {len(head)} bytes, the head alone has {4 + 4 * sizes}.",
                )
            shape = [int(size) for size in np.frombuffer(head, ">u4", offset=4)]
            needed = math.prod(shape)
            _check_room(path, needed, limit)
            content = file.read(needed + 1)
    except UNREADABLE as error:
        raise DataError(path, f"cannot be read: {error}") from error
    if len(content) != needed:
        words = "truncated: " if len(content) < needed else "has more than it says: "
        raise DataError(
            path,
            f"{words}its head promises {needed} bytes, there are {min(len(content), needed + 1)}"
            f"{' or more' if len(content) > needed else ''}.",
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _cifar(
    name: str, paths: Sequence[Path], labels: int, classes: int, limit: int | None
) -> Images:
    """Return the images of CIFAR files; the last label byte is the class."""
    limit = available_bytes() if limit is None else limit
    parts = []
    for path in paths:
        content = _cifar_bytes(path, labels + 3 * SIDE * SIDE, limit)
        limit -= content.nbytes
        _classes(path, content[:, labels - 1], classes)
        parts.append(content)
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Images(
        name,
        rows[:, labels:].reshape(-1, 3, SIDE, SIDE),
        rows[:, labels - 1].astype(np.int64),
    )


def _cifar_bytes(path: Path, record: int, limit: int) -> NDArray[np.uint8]:
    try:
        pickles = [
            path.with_name(name)
            for name in (path.stem, "cifar-10-batches-py", "cifar-100-python")
        ]
        for pickle in pickles if not path.exists() else ():
            if pickle.exists():
                raise DataError(pickle, f"{PICKLED}, {path.name}.")
        with path.open("rb") as file:
            # the first byte of a pickle; no label is 128
            if file.peek(2)[:1] == b"\x80":
                raise DataError(path, f"{PICKLED}.")
            size = path.stat().st_size
            _check_room(path, size, limit)
            if size == 0 or size % record:
                raise DataError(
                    path,
                    f"truncated or not CIFAR's binary version: {size} bytes, no multiple of {record}.",
                )
            content = np.fromfile(file, np.uint8)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error
    return content.reshape(-1, record)


def _check_room(path: Path, needed: int, limit: int) -> None:
    if 3 * needed > limit:
        raise DataError(
            path,
            f"{human_bytes(needed)} of images, memory has room for {human_bytes(limit / 3)}.",
        )


def _classes(path: Path, labels: NDArray[Any], classes: int) -> Indices:
    """Return labels as classes; raise a DataError if a label is not a class."""
    if labels.size and labels.max() >= classes:
        place = int(np.argmax(labels >= classes))
        raise DataError(
            path,
            f"label {labels[place]} of image {place}, must lie in 0..{classes - 1}.",
        )
    return labels.astype(np.int64)
