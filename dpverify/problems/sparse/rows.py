"""Rows of a data set that store only their nonzero entries: the container, scaling, and construction from a file.

Rows come from scipy.sparse, from arrays, or from the parts in which a file is read. One rule decides whether a part,
and the whole, is dense or sparse. ``SparseProblem`` is what an optimizer that takes one example a step needs of a
problem with such rows.

Lengths are bounded from above with rounding, and rows are scaled, as ``problems.rows`` does it. A row with k stored
entries is a dense row of width k: zeros add nothing to a sum of squares, without rounding.
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
from dpverify.kernels.csr import Columns, Common, CsrArrays, SparseGradient, copy_rows, row_products
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


class SparseProblem(Protocol):
    """Rows, labels, the first iterate; and the gradient of an example in two parts, of which one is its own."""

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
TINY: Final = float(np.finfo(np.float64).tiny)  # products below it lose more than a rounding


@step_kernel
def slack(width: int) -> float:
    """Relative error that covers the float norm of a row: ``width`` squares, their sum, a root, two products."""
    return (width + 16) * EPS


@step_kernel
def bound_of(values: Vector, first: int, last: int) -> float:
    """Bound the norm of ``values[first:last]`` from above; squares neither overflow nor vanish."""
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
    """Write a bound on the norm of each row into ``out``, shape (n,)."""
    for i in range(out.shape[0]):
        out[i] = bound_of(values, starts[i], starts[i + 1])


@kernel
def fill_scaled(starts: Indices, values: Vector, radius: float, clip: bool, out: Vector) -> None:
    """Write the values of the scaled rows into ``out``, shape (m,); ``clip``: short rows stay as they are."""
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
        factor = radius / (bound_of(out, first, last) * (1.0 + 2.0 * slack(last - first)))
        for k in range(first, last):
            out[k] *= factor


def norm_bounds(rows: CsrRows) -> Vector:
    """Bound the norm of every row from above, rounding included, as ``rows.row_norm_bounds``; shape (n,)."""
    out = np.empty(len(rows))
    fill_bounds(rows.starts, rows.values, out)
    return out


def sparse_rows_within(rows: CsrRows, radius: float) -> NDArray[np.bool_]:
    """Decide for every row if its exact norm is <= ``radius``; by fractions where in doubt."""
    bounds = norm_bounds(rows)
    inside = bounds <= radius
    doubtful = ~inside & (bounds <= radius * (1.0 + 4.0 * (np.diff(rows.starts) + 16) * EPS))
    for i in np.flatnonzero(doubtful):
        entries = rows.values[rows.starts[i] : rows.starts[i + 1]].tolist()
        inside[i] = sum((Fraction(v) ** 2 for v in entries), Fraction(0)) <= Fraction(radius) ** 2
    return inside


def scale_sparse(rows: CsrRows, how: RowScaling = "unit", radius: float = 1.0) -> CsrRows:
    """Bring every row by itself into the ball of a given radius, exactly, as ``rows.scale_rows``."""
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

VECTORS: Final = 8  # of length d that even the smallest run keeps


def better_dense(examples: int, features: int, stored: int) -> bool:
    """Apply the rule: dense where at least a quarter of the entries are not 0.

    A stored entry takes 12 bytes and about four times as long as an entry of a dense row. At a quarter, sums over
    batches take about as long either way where rows have some hundred columns, and dense arrays are 2.7 times as large.
    """
    return DENSE_PART * stored >= examples * features


class RowBuilder:
    """Parts of a matrix, in order, and what they take.

    ``limit``: bytes of memory that may be used; more than that is refused as soon as it can be foreseen. ``first``:
    number of the first column, before which nothing is stored.
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
        """How many columns there are so far."""
        return self._end - self.first

    def add(self, part: Rows, share: float) -> None:
        """Take the next rows; ``share`` of the file, in (0, 1], was read by now. Refuse what will not fit."""
        stored = part.stored if isinstance(part, CsrRows) else int(np.count_nonzero(part))
        if not isinstance(part, CsrRows):
            part = part.copy() if better_dense(len(part), part.shape[1], stored) else _without_zeros(part)
        self._parts.append(part)
        self.examples, self._end = self.examples + len(part), max(self._end, part.shape[1])
        self.stored = self.stored + stored
        self._bytes = self._bytes + part.nbytes
        self._check(share)

    def _check(self, share: float) -> None:
        examples = round(self.examples / share)
        needed = 3 * self._bytes / share + 8 * VECTORS * self.features
        words = f"{examples} examples with {self.features} features" if share == 1.0 else f"about {examples} examples"
        estimate = "" if share == 1.0 else f", as the first {100 * share:.2g}% of the file tell,"
        check_needed(self._source, words + estimate, needed, self._limit)

    def build(self, *, dense: bool = False) -> Rows:
        """Put the parts together and forget them; ``dense``: whatever the rule says, refused where it does not fit."""
        self._check(1.0)
        n = self.examples
        d = self.features
        fits = 3 * 8 * n * d <= self._limit
        if dense:
            check_memory(self._source, n, d, self._limit)
        return self._dense() if dense or (fits and better_dense(n, d, self.stored)) else self._sparse()

    def _dense(self) -> Matrix:
        out = np.zeros((self.examples, self.features))
        at = 0
        for part in self._drain():
            rows = part.dense() if isinstance(part, CsrRows) else part
            out[at : at + len(part), : rows.shape[1] - self.first] = rows[:, self.first :]
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
            columns[begin:end], values[begin:end] = rows.columns - np.uint32(self.first), rows.values
            at = at + len(rows)
            begin = end
        return CsrRows(starts, columns, values, self.features)

    def _drain(self) -> Iterator[Rows]:
        """Give the parts in order, each of them free once it was used."""
        self._parts.reverse()
        while self._parts:
            yield self._parts.pop()


def _without_zeros(part: Matrix) -> CsrRows:
    from scipy import sparse

    return csr_rows(sparse.csr_array(part))
