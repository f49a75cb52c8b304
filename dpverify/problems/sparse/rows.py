"""Rows of a data set that store only their nonzero entries: the container, scaling, and construction from a file.

Rows come from scipy.sparse, from arrays, or from the parts of a file. The same rule
decides whether a part, and the complete matrix, is stored as dense or sparse.
``SparseProblem`` is the interface of a problem with such rows for optimizers that use
one example in each step.

Norms are bounded from above and rows are scaled as in ``problems.rows``. A row with k stored entries is treated as a
dense row of width k, because adding zeros to a sum of squares causes no rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.csr import (
    Columns,
    Common,
    CsrArrays,
    SparseGradient,
    copy_rows,
    row_products,
)
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.errors import check_memory, check_needed
from dpverify.problems.rows import RowScaling

MOST_COLUMNS = 1 << 31


@dataclass(frozen=True, eq=False)
class CsrRows:
    """n rows with d columns; row i has the entries ``starts[i] <= k < starts[i + 1]``.

    Attributes
    ----------
    starts : (n + 1,) array of int64
        Start of each row, and at the end m, the number of stored entries.
    columns : (m,) array of uint32
        Column of each entry, below d, increasing within each row.
    values : (m,) array of float
        Values of the entries, finite and nonzero.
    width : int
        d.
    """

    starts: Indices
    columns: Columns
    values: Vector
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self), self.width

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Size of the three arrays in bytes."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    @property
    def arrays(self) -> CsrArrays:
        """The three arrays, as kernels take them."""
        return CsrArrays(self.starts, self.columns, self.values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    def __getitem__(self, chosen: Indices | NDArray[np.bool_] | slice) -> CsrRows:
        """Return a copy of some rows, selected by indices, a mask or a slice."""
        index = np.atleast_1d(np.arange(len(self))[chosen])
        starts = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(self.starts[index + 1] - self.starts[index], out=starts[1:])
        selected = CsrRows(
            starts, np.empty(starts[-1], np.uint32), np.empty(starts[-1]), self.width
        )
        copy_rows(self.arrays, index, selected.arrays)
        return selected

    def __matmul__(self, w: Vector) -> Vector:
        """Return the inner products of all rows and ``w``, shape (d,)."""
        out = np.empty(len(self))
        row_products(self.arrays, check.array(self.width, w=w), out)
        return out

    def with_values(self, values: Vector) -> CsrRows:
        """Return rows with other values at the same positions; ``starts`` and ``columns`` are shared."""
        return replace(self, values=values)

    def widened(self, width: int) -> CsrRows:
        """Return the rows with additional empty columns."""
        return replace(self, width=check.whole(self.width, MOST_COLUMNS, width=width))

    def dense(self) -> Matrix:
        """Return a dense matrix, shape (n, d); raise an ArgumentError if it does not fit in memory."""
        check.memory(len(self) * self.width, examples=len(self), features=self.width)
        out = np.zeros(self.shape)
        out[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = (
            self.values
        )
        return out


Rows: TypeAlias = Matrix | CsrRows
"""Rows of a data set, dense or sparse."""


def csr_rows(x: Any) -> CsrRows:
    """Return a scipy.sparse matrix of any format as rows; duplicate entries are added up, and zeros are dropped.

    The arrays of ``x`` are not changed. The values are shared with ``x`` if they need no conversion. Raises an
    ArgumentError if an entry is not a finite number, or the matrix has no row or no column.
    """
    from scipy import sparse

    is_sparse = sparse.issparse(x)
    if not is_sparse or x.ndim != 2 or min(x.shape) < 1:
        raise check.ArgumentError(
            "x",
            f"{type(x).__name__} of shape {np.shape(x)}",
            "must be a matrix with rows",
        )
    if x.dtype.kind not in "biuf" or x.shape[1] > MOST_COLUMNS:
        raise check.ArgumentError(
            "x",
            f"{x.shape[1]} columns of {x.dtype}",
            "must be numbers in at most 2^31 columns",
        )
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
    return CsrRows(
        starts,
        matrix.indices[: starts[-1]].astype(np.uint32),
        values,
        int(matrix.shape[1]),
    )


class SparseProblem(Protocol):
    """Rows, labels, the first iterate, and gradients in two parts: a common part and the part of an example."""

    @property
    def x(self) -> CsrRows: ...  # noqa: D102 -- n rows of d columns
    @property
    def y(self) -> Vector: ...  # noqa: D102 -- labels, shape (n,)
    @property
    def start(self) -> Vector: ...  # noqa: D102 -- w_1, shape (d,)
    @property
    def lam(self) -> float: ...  # noqa: D102 -- weight that ``common`` takes
    @property
    def common(self) -> Common: ...  # noqa: D102 -- kernel of what all gradients have in common, O(d)
    @property
    def example_gradient(self) -> SparseGradient: ...  # noqa: D102 -- kernel that adds what is an example's own


EPS: Final = float(np.finfo(np.float64).eps)
# smaller products lose more than a rounding
TINY: Final = float(np.finfo(np.float64).tiny)


@step_kernel
def slack(width: int) -> float:
    """Return a bound on the relative error of a row's float norm: ``width`` squares, a sum, a root, two products."""
    return (width + 16) * EPS


@step_kernel
def bound_of(values: Vector, first: int, last: int) -> float:
    """Return an upper bound on the norm of ``values[first:last]``; squares neither overflow nor underflow."""
    largest = 0.0
    square = 0.0
    for k in range(first, last):
        largest = max(largest, abs(values[k]))
    if largest == 0.0:
        return 0.0
    for k in range(first, last):
        relative = values[k] / largest
        square += relative * relative
    bound: float = largest * np.sqrt(square) * (1.0 + slack(last - first)) + TINY
    return bound


@kernel
def fill_bounds(starts: Indices, values: Vector, out: Vector) -> None:
    """Write an upper bound on the norm of each row to ``out``, shape (n,)."""
    for i in range(out.shape[0]):
        out[i] = bound_of(values, starts[i], starts[i + 1])


@kernel
def fill_scaled(
    starts: Indices, values: Vector, radius: float, clip: bool, out: Vector
) -> None:
    """Write the values of the scaled rows to ``out``, shape (m,); with ``clip``, short rows do not change."""
    for i in range(starts.shape[0] - 1):
        first = starts[i]
        last = starts[i + 1]
        largest = 0.0
        for k in range(first, last):
            largest = max(largest, abs(values[k]))
            out[k] = values[k]
        if largest == 0.0 or (clip and bound_of(values, first, last) <= radius):
            continue
        for k in range(first, last):
            out[k] = values[k] / largest
        factor = radius / (
            bound_of(out, first, last) * (1.0 + 2.0 * slack(last - first))
        )
        for k in range(first, last):
            out[k] *= factor


def norm_bounds(rows: CsrRows) -> Vector:
    """Return an upper bound on the norm of every row, shape (n,), as ``rows.row_norm_bounds`` does."""
    out = np.empty(len(rows))
    fill_bounds(rows.starts, rows.values, out)
    return out


def sparse_rows_within(rows: CsrRows, radius: float) -> NDArray[np.bool_]:
    """Return for every row whether its exact norm is <= ``radius``; close cases use fractions."""
    bounds = norm_bounds(rows)
    inside = bounds <= radius
    doubtful = ~inside & (
        bounds <= radius * (1.0 + 4.0 * (np.diff(rows.starts) + 16) * EPS)
    )
    for i in np.flatnonzero(doubtful):
        entries = rows.values[rows.starts[i] : rows.starts[i + 1]].tolist()
        inside[i] = (
            sum((Fraction(v) ** 2 for v in entries), Fraction(0))
            <= Fraction(radius) ** 2
        )
    return inside


def scale_sparse(
    rows: CsrRows, how: RowScaling = "unit", radius: float = 1.0
) -> CsrRows:
    """Return the rows, each scaled on its own into the ball of this radius, as ``rows.scale_rows`` does."""
    if how not in ("unit", "clip", "none"):
        raise ValueError(f"how must be unit, clip or none, got how={how!r}.")
    if not 0 < radius < np.inf:
        raise ValueError(f"radius must be positive and finite, got radius={radius}.")
    if how == "none":
        return rows
    out = np.empty(rows.stored)
    fill_scaled(rows.starts, rows.values, radius, how == "clip", out)
    return rows.with_values(out)


DENSE_PART: Final = 4

VECTORS: Final = 8  # number of vectors of length d in the smallest run


def better_dense(examples: int, features: int, stored: int) -> bool:
    """Test whether rows should be dense: at least a quarter of the entries are nonzero.

    A stored entry takes 12 bytes and about four times as long as an entry of a dense row. At a quarter, and with some
    hundred columns, sums over batches take about the same time for both, and dense arrays are 2.7 times as large.
    """
    return DENSE_PART * stored >= examples * features


class RowBuilder:
    """Builder of a matrix from parts in order, which also keeps track of memory.

    ``limit``: bytes of memory that may be used. A DataError is raised as soon as the estimate exceeds it. ``first``:
    index of the first column of the result.
    """

    def __init__(self, source: Path | str, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._parts: list[Rows] = []
        self.examples = 0
        self.stored = 0
        self.first = 0
        self._bytes = 0
        self._end = 0

    @property
    def features(self) -> int:
        """Number of columns so far."""
        return self._end - self.first

    def add(self, part: Rows, share: float) -> None:
        """Add the next rows, after which a ``share`` in (0, 1] of the file was read; check the estimated memory."""
        stored = (
            part.stored if isinstance(part, CsrRows) else int(np.count_nonzero(part))
        )
        if not isinstance(part, CsrRows):
            part = (
                part.copy()
                if better_dense(len(part), part.shape[1], stored)
                else _without_zeros(part)
            )
        self._parts.append(part)
        self.examples, self._end = (
            self.examples + len(part),
            max(self._end, part.shape[1]),
        )
        self.stored = self.stored + stored
        self._bytes = self._bytes + part.nbytes
        self._check(share)

    def _check(self, share: float) -> None:
        examples = round(self.examples / share)
        needed = 3 * self._bytes / share + 8 * VECTORS * self.features
        words = (
            f"{examples} examples with {self.features} features"
            if share == 1.0
            else f"about {examples} examples"
        )
        estimate = (
            ""
            if share == 1.0
            else f", as the first {100 * share:.2g}% of the file tell,"
        )
        check_needed(self._source, words + estimate, needed, self._limit)

    def build(self, *, dense: bool = False) -> Rows:
        """Return the matrix and release the parts; ``dense`` overrides the rule. A DataError if it does not fit."""
        self._check(1.0)
        n = self.examples
        d = self.features
        fits = 3 * 8 * n * d <= self._limit
        if dense:
            check_memory(self._source, n, d, self._limit)
        return (
            self._dense()
            if dense or (fits and better_dense(n, d, self.stored))
            else self._sparse()
        )

    def _dense(self) -> Matrix:
        out = np.zeros((self.examples, self.features))
        at = 0
        for part in self._drain():
            rows = part.dense() if isinstance(part, CsrRows) else part
            out[at : at + len(part), : rows.shape[1] - self.first] = rows[
                :, self.first :
            ]
            at += len(part)
        return out

    def _sparse(self) -> CsrRows:
        starts = np.zeros(self.examples + 1, dtype=np.int64)
        columns = np.empty(self.stored, np.uint32)
        values = np.empty(self.stored)
        at = 0
        begin = 0
        for part in self._drain():
            rows = part if isinstance(part, CsrRows) else _without_zeros(part)
            end = begin + rows.stored
            starts[at + 1 : at + 1 + len(rows)] = rows.starts[1:] + begin
            columns[begin:end], values[begin:end] = (
                rows.columns - np.uint32(self.first),
                rows.values,
            )
            at = at + len(rows)
            begin = end
        return CsrRows(starts, columns, values, self.features)

    def _drain(self) -> Iterator[Rows]:
        """Yield the parts in order and release each part after its use."""
        self._parts.reverse()
        while self._parts:
            yield self._parts.pop()


def _without_zeros(part: Matrix) -> CsrRows:
    from scipy import sparse

    return csr_rows(sparse.csr_array(part))
