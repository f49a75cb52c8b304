"""Ask for memory ahead of its use: rows that are read in a random order come from far away, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # no py.typed
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector

LINE = np.uint64(8)
"""Numbers in a cache line."""


def prefetch(values: Vector, place: np.uint64) -> None:
    """Ask for the cache line of ``values[place]``; nothing is read or changed, so plain Python does nothing."""


@intrinsic
def _ask(_: Any, values: Any, place: Any) -> Any:
    """Emit the compiler's own prefetch: for reading, into the nearest cache."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        wanted = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        insert: Any = cgutils.get_or_insert_function  # numba gives it no types
        function = insert(builder.module, wanted, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(values, place), emit


ask_for: Any = _ask


@overload(prefetch, strict=False)
def _prefetch(values: Any, place: Any) -> Any:
    def ask(values: Any, place: Any) -> Any:
        return ask_for(values, place)

    return ask


@kernel
def prefetch_row(values: Vector, first: np.uint64, count: np.uint64) -> None:
    """Ask for ``values[first : first + count]``, which begins at the begin of a cache line."""
    for j in range(np.uint64(0), count, LINE):
        prefetch(values, first + j)
