"""Data sets for binary classification: one that comes with scikit-learn, and the user's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.errors import DataError, available_bytes
from dpverify.problems.files import Progress, read_csv, read_libsvm, separator
from dpverify.problems.rows import standardise as standardise_columns
from dpverify.problems.sparse.build import RowBuilder
from dpverify.problems.sparse.rows import CsrRows, Rows, csr_rows


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set for binary classification.

    Attributes
    ----------
    x, y : (n, d) array of float or CsrRows, and (n,) array of float
        Rows, finite, dense or sparse, and labels, 0 or 1.
    name, classes : str, and tuple of str
        The bundled set's name, or the file's; what the labels 0 and 1 are called in the source.
    standardised : bool
        Whether the columns were standardised: that uses the data, and no privacy guarantee covers it.
    """

    name: str
    x: Rows
    y: Vector
    classes: tuple[str, str]
    standardised: bool

    @property
    def dense_x(self) -> Matrix:
        """Rows with all entries written out, shape (n, d)."""
        return self.x.dense() if isinstance(self.x, CsrRows) else self.x

    def sample(self, n: int, rng: np.random.Generator) -> Dataset:
        """Draw n examples without replacement, at most as many as there are; their order stays that of the source."""
        if not 1 <= n <= len(self.x):
            raise DataError(self.name, f"n must lie in [1, {len(self.x)}], the number of examples, got n={n}.")
        rows = np.sort(rng.choice(len(self.x), size=n, replace=False))
        return Dataset(self.name, self.x[rows], self.y[rows], self.classes, self.standardised)


def load_dataset(
    file: Path | None = None, *, standardise: bool | None = None, limit: int | None = None, dense: bool = False,
    progress: Progress | None = None,
) -> Dataset:  # fmt: skip
    """Load a data set with two classes; the smaller label (as numbers where both are, else as texts) becomes 0.

    Parameters
    ----------
    file : Path or None
        None: scikit-learn's ``breast_cancer`` (569 examples, 30 features). ``*.csv``, ``*.tsv``: a table whose last
        column is the label. Any other: a LIBSVM file. Either may be packed, ``*.gz`` or ``*.bz2``.
    standardise : bool or None
        Give every column mean 0 and deviation 1. None: for the bundled set only. This uses the data and is not private.
    limit : int or None
        Bytes of memory that may be used; None: what is free.
    dense : bool
        Write every entry of a row out. Otherwise, and where no column is standardised, rows of which less than a
        quarter of the entries are not 0 are ``CsrRows``, from the file on.
    progress : callable or None
        ``progress(done, whole)``: so many of the file's bytes were read.

    Raises
    ------
    DataError
        If the file cannot be read, a value is not finite, or the labels are not two classes; and if three times what
        is kept, as far as what was read tells, does not fit in memory: then the rest of the file is not read.
    """
    limit = available_bytes() if limit is None else limit
    if file is None:
        from sklearn.datasets import load_breast_cancer

        bundled = load_breast_cancer()
        x, y, classes, name = bundled.data, bundled.target.astype(np.float64), ("malignant", "benign"), "breast_cancer"
    else:
        _check_file(file)
        labels: Sequence[str] | Vector
        read = read_csv if separator(file) else read_libsvm
        x, labels = read(file, limit, dense=dense or bool(standardise), progress=progress)
        y, classes = _two_classes(file, labels)
        name = file.name
    standardise = file is None if standardise is None else standardise
    if standardise:
        assert isinstance(x, np.ndarray)  # read so
        x = standardise_columns(x)
    return Dataset(name, x, y, classes, standardise)


def dataset_of(x: Any, y: ArrayLike, name: str = "arrays", *, limit: int | None = None) -> Dataset:
    """Make a data set of arrays; sparse rows stay sparse by the rule of ``load_dataset``.

    Parameters
    ----------
    x : (n, d) array, or matrix of scipy.sparse
        Rows, finite. They are not changed.
    y : (n,) array
        Labels, numbers or texts, two different ones: the smaller becomes 0.
    name : str
        How results call it.
    limit : int or None
        Bytes of memory that may be used; None: what is free.

    Raises
    ------
    ArgumentError, DataError
        If a shape does not fit, a value is not finite, the labels are not two classes, or rows do not fit in memory.
    """
    from scipy.sparse import issparse

    builder = RowBuilder(name, available_bytes() if limit is None else limit)
    builder.add(csr_rows(x) if issparse(x) else check.array(None, None, x=x), 1.0)
    labels = np.asarray(y)
    if labels.shape != (builder.examples,):
        raise check.ArgumentError("y", f"an array of shape {labels.shape}", f"must have shape ({builder.examples},)")
    codes, classes = _two_classes(name, labels)
    return Dataset(name, builder.build(), codes, classes, standardised=False)


def _check_file(file: Path) -> None:
    """Refuse what is not a readable file with something in it."""
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


def _two_classes(file: Path | str, labels: Sequence[str] | Vector | NDArray[Any]) -> tuple[Vector, tuple[str, str]]:
    """Map two labels to 0 and 1; numbers are compared as numbers, so that 1, +1 and 1.0 are one class."""
    try:
        values = np.asarray(labels).astype(np.float64)
    except ValueError:
        values = np.asarray(labels)
    else:
        if not np.isfinite(values).all():
            raise DataError(file, "a label is NaN or infinite, every label must be finite.")
    found, codes = np.unique(values, return_inverse=True)
    names = [f"{value:g}" if values.dtype == np.float64 else str(value) for value in found[:6]]
    if len(found) != 2:
        shown = ", ".join(names[:5]) + (", ..." if len(found) > 5 else "")
        raise DataError(file, f"labels must be two classes, found {len(found)}: {shown}.")
    return codes.astype(np.float64), (names[0], names[1])
