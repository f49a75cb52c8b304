"""Reference kernels for sparse rows: one plain pass over the stored entries."""

from __future__ import annotations

import math

from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Vector


@kernel
def fused_pass(rows: CsrArrays, y: Vector, w: Vector, out: Vector) -> float:
    """Return the mean logistic loss and write its gradient into ``out``, shape (d,), in one pass over the rows."""
    starts, columns, values = rows
    total = 0.0
    out[:] = 0.0
    for i in range(y.shape[0]):
        z = 0.0
        for k in range(starts[i], starts[i + 1]):
            z += values[k] * w[columns[k]]
        s = 1.0 - 2.0 * y[i]
        total += math.log1p(math.exp(-abs(s * z))) + max(s * z, 0.0)
        steep = s / (1.0 + math.exp(-s * z))
        for k in range(starts[i], starts[i + 1]):
            out[columns[k]] += steep * values[k]
    out /= y.shape[0]
    mean: float = total / y.shape[0]
    return mean


@kernel
def sparse_gradients(
    gradient: SparseGradient,
    rows: CsrArrays,
    y: Vector,
    order: Indices,
    w: Vector,
    out: Vector,
) -> None:
    """Add the example-dependent part of the gradient of each example in ``order`` to ``out``, shape (d,)."""
    starts, columns, values = rows
    for i in order:
        gradient(
            w,
            columns[starts[i] : starts[i + 1]],
            values[starts[i] : starts[i + 1]],
            y[i],
            out,
        )


@kernel
def common_parts(
    common: Common, weight: float, times: int, w: Vector, out: Vector
) -> None:
    """Write the common part of all gradients into ``out``, shape (d,), many times."""
    for _ in range(times):
        common(weight, w, out)
