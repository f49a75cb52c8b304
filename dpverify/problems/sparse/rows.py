"""Rows of a data set of which only what is not 0 is stored, from scipy.sparse or from arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.csr import Columns, CsrArrays, copy_rows, row_products
from dpverify.kernels.typing import Indices, Matrix, Vector

MOST_COLUMNS = 1 << 31


@dataclass(frozen=True, eq=False)
class CsrRows:
    """n rows with d columns; row i has the entries ``starts[i] <= k < starts[i + 1]``.

    Attributes
    ----------
    starts : (n + 1,) array of int64
        From 0 to m, the number of stored entries.
    columns : (m,) array of uint32
        Column of each entry, below d, rising within each row.
    values : (m,) array of float
        Finite, none of them 0.
    width : int
        d.
    """

    starts: Indices
    columns: Columns
    values: Vector
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), self.width

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    @property
    def arrays(self) -> CsrArrays:
        """The three arrays, as kernels take them."""
        return CsrArrays(self.starts, self.columns, self.values)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.starts) - 1

    def __getitem__(self, chosen: Indices | NDArray[np.bool_] | slice) -> CsrRows:
        """Copy some rows, by their numbers, by a mask or by a slice."""
        index = np.atleast_1d(np.arange(len(self))[chosen])
        starts = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(self.starts[index + 1] - self.starts[index], out=starts[1:])
        selected = CsrRows(starts, np.empty(starts[-1], np.uint32), np.empty(starts[-1]), self.width)
        copy_rows(self.arrays, index, selected.arrays)
        return selected

    def __matmul__(self, w: Vector) -> Vector:
        """Products of all rows and ``w``, shape (d,)."""
        out = np.empty(len(self))
        row_products(self.arrays, check.array(self.width, w=w), out)
        return out

    def with_values(self, values: Vector) -> CsrRows:
        """Put other values in the same places; ``starts`` and ``columns`` are shared."""
        return replace(self, values=values)

    def widened(self, width: int) -> CsrRows:
        """Give the rows more columns, all of them empty."""
        return replace(self, width=check.whole(self.width, MOST_COLUMNS, width=width))

    def dense(self) -> Matrix:
        """Write all entries out, shape (n, d); an ArgumentError if that does not fit in memory."""
        check.memory(len(self) * self.width, examples=len(self), features=self.width)
        out = np.zeros(self.shape)
        out[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = self.values
        return out


Rows: TypeAlias = Matrix | CsrRows
"""Rows of a data set, dense or sparse."""


def csr_rows(x: Any) -> CsrRows:
    """Take a matrix of scipy.sparse, of any format; entries in one place are added up, what is 0 is dropped.

    An ArgumentError if an entry is no finite number, or the matrix has no row or no column. The arrays of ``x`` are not
    changed; its values are shared where they are as they have to be.
    """
    from scipy import sparse

    is_sparse = sparse.issparse(x)
    if not is_sparse or x.ndim != 2 or min(x.shape) < 1:
        raise check.ArgumentError("x", f"{type(x).__name__} of shape {np.shape(x)}", "must be a matrix with rows")
    if x.dtype.kind not in "biuf" or x.shape[1] > MOST_COLUMNS:
        raise check.ArgumentError("x", f"{x.shape[1]} columns of {x.dtype}", "must be numbers in at most 2^31 columns")
    matrix = sparse.csr_array(x).astype(np.float64, copy=False)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        bad = float(matrix.data[~np.isfinite(matrix.data)][0])
        raise check.ArgumentError("x", bad, "must be finite everywhere")
    starts = matrix.indptr.astype(np.int64, copy=False)
    values = np.ascontiguousarray(matrix.data[: starts[-1]])
    return CsrRows(starts, matrix.indices[: starts[-1]].astype(np.uint32), values, int(matrix.shape[1]))
