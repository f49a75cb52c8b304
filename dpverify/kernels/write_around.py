"""Write rows around the caches: a line that is overwritten as a whole need not be read from memory before.

An ordinary store fetches its cache line, changes it and writes it back later: a row costs the memory two transfers, and
pushes out of the caches what is still needed. It pays for output that is larger than the caches, and is not read soon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # no py.typed
from numba import types
from numba.extending import intrinsic, overload

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector

LINE = 8
"""Numbers in a cache line."""


def put_line(values: Vector, place: int, row: Vector, at: int) -> None:
    """Copy ``row[at : at + LINE]`` to ``values[place : place + LINE]``, which is a cache line."""
    values[place : place + LINE] = row[at : at + LINE]


@intrinsic
def _put(_: Any, values: Any, place: Any, row: Any, at: Any) -> Any:
    """Emit one load, and one store that is marked as not to be read again soon."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = context.make_array(signature.args[2])(context, builder, arguments[2])
        line = ir.VectorType(ir.DoubleType(), LINE).as_pointer()
        found = builder.load(builder.bitcast(builder.gep(source.data, [arguments[3]]), line), align=8)
        address = builder.bitcast(builder.gep(into.data, [arguments[1]]), line)
        stored = builder.store(found, address, align=8 * LINE)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return types.void(values, place, row, at), emit


put: Any = _put


@overload(put_line, strict=False)
def _put_line(values: Any, place: Any, row: Any, at: Any) -> Any:
    def write(values: Any, place: Any, row: Any, at: Any) -> Any:
        return put(values, place, row, at)

    return write


@kernel
def write_row(values: Vector, first: int, row: Vector) -> None:
    """Copy ``row`` to ``values[first : first + row.size]``, both contiguous: around the caches where it fills a line.

    Other threads see it, as anything that a kernel wrote, once they have taken a lock after the kernel returned.
    """
    n, number = row.shape[0], np.int64(values.ctypes.data >> 3) + first
    j = min(n, -number & (LINE - 1))  # of the first whole line
    for i in range(j):
        values[first + i] = row[i]
    while j + LINE <= n:
        put_line(values, first + j, row, j)
        j += LINE
    for i in range(j, n):
        values[first + i] = row[i]
