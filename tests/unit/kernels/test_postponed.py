"""Functions compiled with machine code made on demand do what they do in numba, ours and those of others."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache

from dpverify.kernels.jit import for_types_of, inner_kernel, kernel, python_of, step_kernel
from dpverify.kernels.postponed import PostponedLibrary

NUMBA: Any = numba  # which gives few of its functions types
F = TypeVar("F", bound=Callable[..., Any])


def by(decorator: Any) -> Callable[[F], F]:
    return cast("Callable[[F], F]", decorator)


@step_kernel
def checked(x: float) -> float:
    if x < 0.0:
        raise ValueError("below zero")
    return x + 1.0


@kernel
def twice(x: float) -> float:
    return checked(checked(x))


pytestmark = pytest.mark.skipif(python_of(twice) is twice, reason="the jit is switched off: nothing is compiled")


def library_of(compiled: Any) -> PostponedLibrary:
    (found,) = (each.library for each in compiled.overloads.values())
    return cast("PostponedLibrary", found)


def test_what_only_kernels_call_has_no_machine_code_until_its_address_is_asked_for() -> None:
    @inner_kernel
    def inner(x: float) -> float:
        return 3.0 * x

    @kernel
    def outer(x: float) -> float:
        return inner(x)

    cast("Any", outer)._cache = NullCache()
    assert outer(2.0) == 6.0
    library, name = library_of(inner), next(iter(cast("Any", inner).overloads.values())).fndesc.llvm_func_name
    assert library._postponed
    assert not library_of(outer)._postponed
    assert library.get_pointer_to_function("no function of it") == 0
    assert library._postponed
    assert library.get_pointer_to_function(name) != 0
    assert not library._postponed


def test_an_error_in_what_a_kernel_takes_in_is_the_caller_s() -> None:
    assert twice(0.0) == 2.0
    with pytest.raises(ValueError, match=r"^below zero$"):
        twice(-1.0)
    with pytest.raises(ValueError, match=r"^below zero$"):
        checked(-1.0)


def test_python_calls_what_kernels_call() -> None:
    assert checked(1.0) == for_types_of(checked, 1.0)(1.0) == python_of(checked)(1.0) == 2.0
    assert checked(np.float64(3.0)) == 4.0


SCRIPT = """
from pathlib import Path
from tests.unit.kernels import test_postponed as t
total = t.twice(0.5), t.checked(1.5)
postponed = sum(each.library._postponed for each in t.checked.overloads.values())
print(*total, postponed, sorted(t.twice.stats.cache_hits.values()))
"""


def test_another_process_finds_both_kinds_in_the_cache(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=root, check=True, capture_output=True, text=True,
            env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root), "PATH": ""},
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert runs == ["2.5 2.5 1 []\n", "2.5 2.5 0 [1]\n"]  # the second has no need of what is taken in


def test_functions_that_call_each_other_find_each_other() -> None:
    @by(NUMBA.njit)
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    @by(NUMBA.njit)
    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    @kernel
    def is_even(n: int) -> bool:
        return even(n)

    assert [is_even(n) for n in range(5)] == [True, False, True, False, True]
    assert [odd(n) for n in range(5)] == [False, True, False, True, False]


def test_other_ways_into_machine_code_work_as_before() -> None:
    @by(NUMBA.vectorize(["float64(float64)"]))
    def squared(x: float) -> float:
        return x * x

    @by(NUMBA.cfunc("float64(float64)"))
    def halved(x: float) -> float:
        return x / 2.0

    @by(NUMBA.njit)
    def applied(function: Any, x: float) -> float:
        return float(function(x))

    @by(NUMBA.njit(cache=False))
    def text(x: int) -> str:
        return "n = " + str(x)

    assert cast("Any", squared)(np.array([1.0, 3.0])).tolist() == [1.0, 9.0]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(cast("Any", halved).address)(3.0) == 1.5
    assert applied(halved, 5.0) == 2.5
    assert applied(twice, 1.0) == 3.0
    assert text(3) == "n = 3"
