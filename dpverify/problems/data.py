"""Data sets for classification, from scikit-learn and from the user's files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.errors import (
    MOST_CLASSES,
    DataError,
    available_bytes,
    check_memory,
)
from dpverify.problems.files import Progress, read_csv, read_libsvm, separator
from dpverify.problems.rows import standardise as standardise_columns
from dpverify.problems.sparse.rows import CsrRows, RowBuilder, Rows, csr_rows

BUNDLED = ("iris", "wine", "digits")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set for classification.

    Attributes
    ----------
    x, y : (n, d) array of float or CsrRows, and (n,) array of float
        Rows, finite, dense or sparse, and labels, 0..K-1.
    name, classes : str, and tuple of str
        Name of the bundled data set or of the file, and names of the labels 0, 1, ...
        in the source.
    standardised : bool
        Whether the columns were standardised. This step uses the data, and no privacy
        guarantee covers it.
    """

    name: str
    x: Rows
    y: Vector
    classes: tuple[str, ...]
    standardised: bool

    @property
    def dense_x(self) -> Matrix:
        """Rows as a dense matrix, shape (n, d)."""
        return self.x.dense() if isinstance(self.x, CsrRows) else self.x

    @property
    def digest(self) -> str:
        """SHA-256 of rows, labels and classes, and of whether columns are standardised."""
        rows = (
            (self.x.starts, self.x.columns, self.x.values)
            if isinstance(self.x, CsrRows)
            else (self.x,)
        )
        digest = hashlib.sha256(
            repr((self.x.shape, self.classes, self.standardised)).encode()
        )
        for part in (*rows, self.y):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def sample(self, n: int, rng: np.random.Generator) -> Dataset:
        """Return n examples, drawn without replacement, in the order of the source."""
        if not 1 <= n <= len(self.x):
            raise DataError(
                self.name,
                f"n must lie in [1, {len(self.x)}], the number of examples, got n={n}.",
            )
        rows = np.sort(rng.choice(len(self.x), size=n, replace=False))
        return Dataset(
            self.name, self.x[rows], self.y[rows], self.classes, self.standardised
        )


def load_dataset(
    file: Path | None = None,
    *,
    standardise: bool | None = None,
    limit: int | None = None,
    dense: bool = False,
    most: int = 2,
    known: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Load a data set with at least two classes; the sorted labels (numbers or texts) become 0, 1, ....

    Parameters
    ----------
    file : Path or None
        None: scikit-learn's ``breast_cancer`` (569 examples, 30 features). ``*.csv``,
        ``*.tsv``: a table whose last column is the label. ``iris``, ``wine``,
        ``digits``: a data set of scikit-learn, unless a file has this name. Any other
        name: a LIBSVM file. Tables and LIBSVM files may be compressed, ``*.gz`` or
        ``*.bz2``.
    standardise : bool or None
        Whether to give every column mean 0 and deviation 1; None does so for bundled
        data sets only. This step uses the data and is not private.
    limit : int or None
        Bytes of memory that may be used; None means all available memory.
    dense : bool
        Whether to return a dense matrix in any case. Otherwise rows are ``CsrRows`` if
        fewer than a quarter of the entries are nonzero, there are two classes, and no
        column is standardised.
    most : int
        Largest number of classes that the caller supports, at least 2.
    known : tuple of str or None
        Classes of the training data, if this file has test data. They determine the
        labels, and some may be missing.
    progress : callable or None
        ``progress(done, total)`` is called with the number of bytes read and the size
        of the file.

    Raises
    ------
    DataError
        If the file cannot be read, a value is not finite, there are fewer than two
        classes, or a class is not ``known``. Also if three times the estimated size of
        the data exceeds ``limit``; then reading stops early.
    """
    limit = available_bytes() if limit is None else limit
    classes: tuple[str, ...]
    x: Rows
    if file is None or is_bundled(file):
        name = "breast_cancer" if file is None else str(file)
        x, y, classes = _bundled(name)
        if len(classes) > most:
            raise DataError(
                name, f"has {len(classes)} classes, at most {most} are of use here."
            )
    else:
        _check_file(file)
        labels: Sequence[str] | Vector
        read = read_csv if separator(file) else read_libsvm
        x, labels = read(
            file, limit, dense=dense or bool(standardise), progress=progress
        )
        y, classes = _classes(file, labels, most, known)
        name = file.name
    x = _rows_for(name, x, len(classes), limit)
    standardise = is_bundled(file) if standardise is None else standardise
    if standardise:
        assert isinstance(x, np.ndarray)  # read with dense=True
        x = standardise_columns(x)
    return Dataset(name, x, y, classes, standardise)


def dataset_of(
    x: Any,
    y: ArrayLike,
    name: str = "arrays",
    *,
    limit: int | None = None,
    most: int = MOST_CLASSES,
) -> Dataset:
    """Return a data set made from arrays. Rows are dense or sparse by the rule of ``load_dataset``.

    Parameters
    ----------
    x : (n, d) array, or matrix of scipy.sparse
        Rows, finite. They are not changed.
    y : (n,) array
        Labels, numbers or texts. The smallest label becomes 0.
    name : str
        Name of the data in results.
    limit : int or None
        Bytes of memory that may be used; None means all available memory.
    most : int
        Largest number of classes that the caller supports, at least 2.

    Raises
    ------
    ArgumentError, DataError
        If shapes do not match, a value is not finite, there are fewer than two classes
        or more than ``most``, or the rows do not fit in memory.
    """
    from scipy.sparse import issparse

    limit = available_bytes() if limit is None else limit
    builder = RowBuilder(name, limit)
    builder.add(csr_rows(x) if issparse(x) else check.array(None, None, x=x), 1.0)
    labels = np.asarray(y)
    if labels.shape != (builder.examples,):
        raise check.ArgumentError(
            "y",
            f"an array of shape {labels.shape}",
            f"must have shape ({builder.examples},)",
        )
    codes, classes = _classes(name, labels, most)
    return Dataset(
        name,
        _rows_for(name, builder.build(), len(classes), limit),
        codes,
        classes,
        standardised=False,
    )


def _rows_for(source: Path | str, x: Rows, classes: int, limit: int) -> Rows:
    """Return the rows, dense if there are more than two classes; raise a DataError if they do not fit in memory."""
    if classes == 2 or not isinstance(x, CsrRows):
        return x
    check_memory(source, *x.shape, limit)
    return x.dense()


def is_bundled(file: Path | None) -> bool:
    """Test whether the data come from scikit-learn: the user has no file with this name."""
    return file is None or (str(file) in BUNDLED and not file.exists())


def _bundled(name: str) -> tuple[Matrix, Vector, tuple[str, ...]]:
    """Return the rows, labels and class names of a data set of scikit-learn."""
    import sklearn.datasets

    bundle = getattr(sklearn.datasets, f"load_{name}")()
    return (
        bundle.data,
        bundle.target.astype(np.float64),
        tuple(map(str, bundle.target_names)),
    )


def _check_file(file: Path) -> None:
    """Raise a DataError unless the path is a readable file that is not empty."""
    try:
        if file.is_dir():
            raise DataError(file, "is a directory, a data file is needed.")
        if not file.exists():
            raise DataError(file, "no such file.")
        if not file.is_file():
            raise DataError(file, "is not a regular file.")
        with file.open("rb") as opened:
            if not opened.read(1):
                raise DataError(file, "the file is empty.")
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(file, f"cannot be read: {error}") from error


def _classes(
    file: Path | str,
    labels: Sequence[str] | Vector | NDArray[Any],
    class_limit: int,
    known: tuple[str, ...] | None = None,
) -> tuple[Vector, tuple[str, ...]]:
    """Return the labels as 0, 1, ..., and the classes; numbers are compared by value: 1, +1 and 1.0 are one class."""
    values = np.asarray(labels)
    named = values.dtype.kind == "U" and any(
        "_" in text or not text.isascii() for text in np.unique(values).tolist()
    )
    if not named:  # float() reads 1_0 as 10
        with suppress(ValueError):
            values = values.astype(np.float64)
    if values.dtype == np.float64 and not np.isfinite(values).all():
        raise DataError(file, "a label is NaN or infinite, every label must be finite.")
    values_of_classes, codes = np.unique(values, return_inverse=True)
    names = [
        f"{value:g}" if values.dtype == np.float64 else str(value)
        for value in values_of_classes
    ]
    if known is not None:
        if not set(names) <= set(known):
            raise DataError(
                file,
                f"has the labels {', '.join(names)}, the data to train on have {', '.join(known)}.",
            )
        return np.array([known.index(name) for name in names], dtype=np.float64)[
            codes
        ], known
    if not 2 <= len(values_of_classes) <= class_limit or len(values_of_classes) > max(
        2, len(codes) // 2
    ):
        expected = (
            "two classes"
            if class_limit == 2
            else f"2 to {class_limit} classes, of two examples or more on the average"
        )
        examples = ", ".join(names[:5]) + (
            ", ..." if len(values_of_classes) > 5 else ""
        )
        raise DataError(
            file,
            f"labels must be {expected}, found {len(values_of_classes)}: {examples}.",
        )
    return codes.astype(np.float64), tuple(names)
