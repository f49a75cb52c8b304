"""Sparse rows (CSR) for linear models: inner products, gradients, and sums of clipped gradients.

Row i has the entries ``starts[i] <= k < starts[i + 1]``: ``values[k]`` is in column
``columns[k]``, and no column occurs twice. A kernel reads only the row of an example,
so the gradient ``slope x_i`` costs as many operations as the row has entries. The sums
are those of ``kernels.clipping``, up to the order of their additions.

Columns and indices are unsigned, so that numba does not compile a test for negative indices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.clipping import Slope, shortened
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.numba_internals import LINE, prefetch
from dpverify.kernels.typing import Indices, Vector

Columns: TypeAlias = NDArray[np.uint32]  # column indices, shape (m,)

SparseGradient: TypeAlias = Callable[[Vector, Columns, Vector, float, Vector], None]
"""Kernel ``gradient(w, columns, values, y, out)``: adds to ``out`` the part of the gradient specific to the example."""

Common: TypeAlias = Callable[[float, Vector, Vector], None]
"""Kernel ``common(weight, w, out)``: writes into ``out`` the part that the gradients of all examples share at ``w``."""


class CsrArrays(NamedTuple):
    """The three arrays of n rows with m stored entries."""

    starts: Indices  # (n + 1,) from 0 to m
    columns: Columns  # (m,)
    values: Vector  # (m,)


@step_kernel
def row_product(
    starts: Indices, columns: Columns, values: Vector, i: int, w: Vector
) -> float:
    """Return the inner product of row i and ``w``, shape (d,)."""
    total = 0.0
    for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
        total += values[k] * w[columns[k]]
    return total


@step_kernel
def add_row(
    starts: Indices,
    columns: Columns,
    values: Vector,
    i: int,
    weight: float,
    out: Vector,
) -> None:
    """Add ``weight`` times row i to ``out``, shape (d,)."""
    for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
        out[columns[k]] += weight * values[k]


@kernel
def row_products(rows: CsrArrays, w: Vector, out: Vector) -> None:
    """Write the inner products of all rows and ``w``, shape (d,), to ``out``, shape (n,)."""
    starts, columns, values = rows
    for i in range(out.shape[0]):
        out[i] = row_product(starts, columns, values, i, w)


@kernel
def copy_rows(rows: CsrArrays, chosen: Indices, out: CsrArrays) -> None:
    """Copy the ``chosen`` rows, in this order, to ``out``, whose ``starts`` are already filled in."""
    starts, columns, values = rows
    for i in range(chosen.shape[0]):
        to = out.starts[i]
        first = starts[chosen[i]]
        for k in range(starts[chosen[i] + 1] - first):
            out.columns[to + k], out.values[to + k] = (
                columns[first + k],
                values[first + k],
            )


# prefetch distances, in examples: FAR for the start of a row, NEAR for its entries
FAR_EXAMPLES = 16
NEAR_EXAMPLES = 8


@step_kernel
def prefetch_examples(
    rows: CsrArrays, y: Vector, lengths: Vector, batch: Indices, place: int
) -> None:
    """Prefetch the data of examples that come after position ``place`` in the batch."""
    starts, columns, values = rows
    if place + FAR_EXAMPLES < batch.shape[0]:
        far = np.uint64(batch[place + FAR_EXAMPLES])
        prefetch(starts, far)  # type: ignore[arg-type]  # it takes an array of anything
        prefetch(y, far)
        prefetch(lengths, far)
    if place + NEAR_EXAMPLES < batch.shape[0]:
        i = batch[place + NEAR_EXAMPLES]
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1]), np.uint64(LINE)):
            prefetch(columns, np.uint64(k))  # type: ignore[arg-type]  # as above
            prefetch(values, np.uint64(k))


SparseSum: TypeAlias = Callable[
    [CsrArrays, Vector, Vector, Indices, Vector, float, Vector], None
]


@lru_cache(maxsize=32)
def sparse_clipped_sum(slope: Slope) -> SparseSum:
    """Return the kernel ``total(rows, y, lengths, batch, w, clip, out)``, the sum of clipped gradients of a loss.

    ``lengths`` (n,): bounds on the norms of the rows. The other arguments are as in ``clipping.clipped_sum``, without
    padding.
    """

    @kernel
    def total(
        rows: CsrArrays, y: Vector, lengths: Vector, batch: Indices, w: Vector, clip: float, out: Vector
    ) -> None:  # fmt: skip
        starts, columns, values = rows
        for j in range(out.shape[0]):
            out[j] = 0.0
        for place in range(batch.shape[0]):
            prefetch_examples(rows, y, lengths, batch, place)
            i = batch[place]
            s = slope(row_product(starts, columns, values, i, w), y[i])
            add_row(starts, columns, values, i, shortened(s, lengths[i], clip), out)

    return total


SparseRecursiveSum: TypeAlias = Callable[
    [CsrArrays, Vector, Vector, Indices, Vector, Vector, float, float, float, Vector],
    None,
]


@lru_cache(maxsize=32)
def sparse_recursive_sum(slope: Slope) -> SparseRecursiveSum:
    """Return the kernel ``total(rows, y, lengths, batch, new, old, gamma, clip, change_clip, out)`` for a loss.

    ``lengths`` is as in ``sparse_clipped_sum``. The other arguments are as in ``clipping.recursive_sum``, without
    padding.
    """

    @kernel
    def total(
        rows: CsrArrays,
        y: Vector,
        lengths: Vector,
        batch: Indices,
        new: Vector,
        old: Vector,
        gamma: float,
        clip: float,
        change_clip: float,
        out: Vector,
    ) -> None:
        starts, columns, values = rows
        for j in range(out.shape[0]):
            out[j] = 0.0
        for place in range(batch.shape[0]):
            prefetch_examples(rows, y, lengths, batch, place)
            i = batch[place]
            s_new = slope(row_product(starts, columns, values, i, new), y[i])
            s_old = slope(row_product(starts, columns, values, i, old), y[i])
            now = shortened(s_new, lengths[i], clip)
            change = shortened(s_new - s_old, lengths[i], change_clip)
            add_row(
                starts, columns, values, i, gamma * now + (1.0 - gamma) * change, out
            )

    return total
