"""Every part of numba that it does not promise to keep, tried one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
import pytest
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.extending import is_jitted

from dpverify.kernels import numba_internals, tape, vector
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import for_types_of, inner_kernel, kernel, python_of
from dpverify.kernels.normal import fill_normal_from, take_words
from tests.for_each import for_each

WHAT_TO_DO = """
numba {version} has changed something inside that we build on: {part}.
Until it is mended, pin numba in constraints.txt to the release there was before, and set the upper limit in
pyproject.toml. Then mend kernels/numba_internals.py, which alone touches such parts: compare numba's own {where} in
both releases."""


type_of: Any = numba.typeof


@kernel
def doubled(x: float) -> float:
    return 2.0 * x


@kernel
def four_times(x: float) -> float:
    return doubled(2.0) * x


def ziggurat_tables() -> bool:
    want, found = np.empty(4000), np.empty(4000)
    tape.fill_normal(tape.generator(3), want)
    fill_normal_from(take_words(tape.generator(3)), found)
    sizes = (
        len(numba_internals.LAYERS),
        len(numba_internals.WIDTHS),
        len(numba_internals.HEIGHTS),
    )
    return sizes == (256, 512, 256) and np.array_equal(want, found)


def cache_hooks() -> bool:
    @kernel
    def fresh(x: float) -> float:
        return x + 0.125

    cache = cast("Any", fresh)._cache
    names = ("rebuild", "reduce", "check_cachable", "locator", "filename_base")
    if not isinstance(cache, numba_internals.KernelCache) or not all(
        hasattr(cache._impl, name) for name in names
    ):
        return False
    asked: list[str] = []
    for name in ("_load_overload", "_save_overload"):
        setattr(cache, name, lambda *_, name=name: asked.append(name))
    return fresh(1.0) == 1.125 and asked == ["_load_overload", "_save_overload"]


def numbers_of_functions() -> bool:
    identity: Any = FunctionIdentity
    first, second = (
        identity.from_function(python_of(doubled)).unique_id for _ in range(2)
    )
    # from 1 on, two processes give the same ones
    return bool(second == first + 1 > 10**6)


def typed_as_variables() -> bool:
    return four_times(1.0) == 4.0 and "Literal" not in str(
        cast("Any", doubled).signatures
    )


def without_dispatch() -> bool:
    return for_types_of(four_times, 1.0)(1.0) == 4.0


def swapped(x: np.ndarray, y: np.ndarray, n: int) -> float:
    for _ in range(n):
        x, y = y, x
    return float(x[0])


def text_of(compiled: Any, *arguments: Any) -> str:
    """Compile a new kernel, and give its text: what comes from the cache has none."""
    compiled._cache = NullCache()
    compiled.compile(tuple(type_of(argument) for argument in arguments))
    (text,) = compiled.inspect_llvm().values()
    return str(text)


def references() -> bool:
    made = kernel(swapped), inner_kernel(swapped)
    return [
        "NRT_incref" in text_of(compiled, np.zeros(1), np.ones(1), 3)
        for compiled in made
    ] == [True, False]


def trailing_zeros() -> bool:
    powers = [1 << k for k in range(63)]
    return [level(t) for t in powers] == [python_of(level)(t) for t in powers] == list(
        range(63)
    ) and level(96) == 5


def halved(x: int) -> int:
    return 0 if numba_internals.unlikely(x % 2 == 1) else x // 2


def expectations() -> bool:
    compiled = kernel(halved)
    weighted = "i32 2000" in text_of(compiled, 1)  # what is expected counts 2000 times
    return weighted and [compiled(x) for x in range(4)] == [0, 0, 1, 0]


def prefetch() -> bool:
    values = np.arange(16.0)
    # compiled anew for each release: it is in the key
    vector.prefetch_row(values, np.uint64(0), np.uint64(16))
    return np.array_equal(values, np.arange(16.0))


def stores_around_the_caches() -> bool:
    values = np.zeros(64)
    vector.write_row(values, 3, np.arange(40.0))
    return np.array_equal(values[3:43], np.arange(40.0))


PARTS: dict[Callable[[], bool], str] = {
    ziggurat_tables: "numba/np/random/_constants.py",
    cache_hooks: "numba/core/caching.py and Dispatcher.compile in numba/core/dispatcher.py",
    numbers_of_functions: "FunctionIdentity in numba/core/bytecode.py",
    typed_as_variables: "Dispatcher.get_call_template in numba/core/dispatcher.py",
    without_dispatch: "Dispatcher.compile and get_overload in numba/core/dispatcher.py",
    references: "_nrt in numba/core/options.py",
    trailing_zeros: "BaseContext.cast in numba/core/base.py, and llvmlite's ir.Builder",
    expectations: "Overload.inline in numba/core/inline_closurecall.py, and llvmlite's ir.Module.declare_intrinsic",
    prefetch: "numba/core/cgutils.py and make_array in numba/np/arrayobj.py, and llvmlite's ir.Builder",
    stores_around_the_caches: "make_array in numba/np/arrayobj.py, and llvmlite's ir.Builder",
}


@pytest.mark.skipif(
    python_of(doubled) is doubled, reason="the jit is switched off: numba does nothing"
)
@for_each("part", PARTS, ids=lambda part: part.__name__)
def test_numba_is_inside_as_we_need_it(part: Callable[[], bool]) -> None:
    said = WHAT_TO_DO.format(
        version=numba.__version__,
        part=part.__name__.replace("_", " "),
        where=PARTS[part],
    )
    assert is_jitted(doubled)
    try:
        works = part()
    except Exception as error:
        raise AssertionError(said) from error
    assert works, said
