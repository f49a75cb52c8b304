"""Functions compiled with machine code made on demand do what they do in numba, ours and those of others."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.errors import NumbaWarning

from dpverify.kernels.jit import for_types_of, inner_kernel, kernel, python_of, step_kernel
from dpverify.kernels.numba_internals import KernelCache
from dpverify.kernels.postponed import PostponedLibrary
from dpverify.kernels.tape import fill_normal, generator
from dpverify.problems.logistic import example_gradient

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


def name_of(compiled: Any) -> str:
    (found,) = (each.fndesc.llvm_func_name for each in compiled.overloads.values())
    return str(found)


def body_of(compiled: Any) -> str:
    """What a function does, as it was optimized so far."""
    (found,) = (each for each in library_of(compiled).get_defined_functions() if each.name == name_of(compiled))
    return str(found)


def caller_of(inner: Callable[[float], float]) -> Callable[[float], float]:
    """A kernel that takes in another."""

    @kernel
    def outer(x: float) -> float:
        return inner(x)

    return outer


@pytest.fixture
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that a test makes are compiled in it, and not read from the disk."""
    monkeypatch.setattr(KernelCache, "of", lambda function: NullCache())


@pytest.mark.usefixtures("uncached")
def test_what_only_kernels_call_has_no_machine_code_until_its_address_is_asked_for() -> None:
    @inner_kernel
    def inner(x: float) -> float:
        return 3.0 * x

    outer = caller_of(inner)
    assert outer(2.0) == 6.0
    library, name = library_of(inner), name_of(inner)
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


@step_kernel
def said(x: float) -> float:
    print("x =", x)  # noqa: T201 it is what is tried
    return x


@kernel
def says(x: float) -> float:
    return said(x) + 1.0


@kernel
def also_says(x: float) -> float:
    return said(x) + 2.0


@inner_kernel
def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


@inner_kernel
def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


@kernel
def is_even(n: int) -> bool:
    return even(n)


SCRIPT = """
import sys
from tests.unit.kernels import test_postponed as t
total = t.twice(0.5), t.checked(1.5), getattr(t, sys.argv[1])(0.5)
postponed = sum(each.library._postponed for each in t.checked.overloads.values())
print(*total, postponed, sorted(t.twice.stats.cache_hits.values()))
"""


def run(script: str, folder: Path, *words: str) -> str:
    root = Path(__file__).parents[3]
    environment = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(root), "PATH": ""}
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True, env=environment, timeout=100
    ).stdout


def test_another_process_finds_both_kinds_in_the_cache(tmp_path: Path) -> None:
    assert run(SCRIPT, tmp_path, "says") == "x = 0.5\n2.5 2.5 1.5 1 []\n"
    assert run(SCRIPT, tmp_path, "also_says") == "x = 0.5\n2.5 2.5 2.5 0 [1]\n"  # no need of what is taken in


def test_a_pickled_kernel_can_be_called_in_another_process(tmp_path: Path) -> None:
    file = tmp_path / "gradient"
    file.write_bytes(pickle.dumps(example_gradient(0.5)))
    script = """
import pickle, sys, numpy as np
from pathlib import Path
out = np.empty(2)
pickle.loads(Path(sys.argv[1]).read_bytes())(np.array([2.0, -4.0]), np.zeros(2), 0.0, out)
print(*out)
"""
    found = [float(x) for x in run(script, tmp_path, str(file)).split()]
    want = np.empty(2)
    example_gradient(0.5)(np.array([2.0, -4.0]), np.zeros(2), 0.0, want)
    assert found == want.tolist()
    assert any(found)


@pytest.mark.usefixtures("uncached")
def test_code_whose_address_is_asked_for_is_optimized() -> None:
    @inner_kernel
    def cube(x: float) -> float:
        return x * x * x

    @inner_kernel
    def twice_cubed(x: float) -> float:
        return cube(cube(x))

    assert caller_of(twice_cubed)(2.0) == 512.0
    assert " call i32 @" in body_of(twice_cubed)
    assert library_of(twice_cubed).get_pointer_to_function(name_of(twice_cubed)) != 0
    assert "call" not in body_of(twice_cubed)


@pytest.mark.usefixtures("uncached")
def test_references_are_dropped_before_code_is_taken_in() -> None:
    fill = kernel(python_of(fill_normal))
    out = np.empty(3)
    fill(generator(1), out)
    assert np.array_equal(out, generator(1).standard_normal(3))
    assert "NRT_" not in body_of(fill)


LABS = ctypes.CDLL(None).labs
LABS.argtypes, LABS.restype = [ctypes.c_long], ctypes.c_long


def test_what_holds_an_address_is_not_kept_for_other_processes() -> None:
    @inner_kernel
    def size(x: int) -> int:
        return int(LABS(x))

    @kernel
    def outer(x: int) -> int:
        return size(x)

    with pytest.warns(NumbaWarning, match="Cannot cache compiled function .* as it uses dynamic globals"):
        assert outer(-3) == 3
    assert library_of(size)._postponed
    assert library_of(size).has_dynamic_globals


@pytest.mark.usefixtures("uncached")
def test_two_threads_find_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    @inner_kernel
    def inner(x: float) -> float:
        return 5.0 * x

    assert caller_of(inner)(1.0) == 5.0
    library, complete = library_of(inner), PostponedLibrary._complete

    def slow(self: PostponedLibrary) -> None:
        time.sleep(0.2)
        complete(self)

    monkeypatch.setattr(PostponedLibrary, "_complete", slow)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(library.get_pointer_to_function, [name_of(inner)] * 2)
    assert one == other != 0


def test_inner_kernels_that_call_each_other_find_each_other() -> None:
    assert [is_even(n) for n in range(5)] == [True, False, True, False, True]


def test_kernels_that_call_each_other_are_compiled_anew_in_each_process(tmp_path: Path) -> None:
    """Read from a cache they would call addresses that are not there, as they do in numba 0.68."""
    script = """
from tests.unit.kernels.test_postponed import even, is_even
print([is_even(n) for n in range(5)], even(3))
"""
    assert run(script, tmp_path) == run(script, tmp_path) == "[True, False, True, False, True] False\n"


def test_functions_that_call_each_other_find_each_other() -> None:
    @by(NUMBA.njit)
    def first(n: int) -> bool:
        return n == 0 or second(n - 1)

    @by(NUMBA.njit)
    def second(n: int) -> bool:
        return n != 0 and first(n - 1)

    @kernel
    def is_even(n: int) -> bool:
        return first(n)

    assert [is_even(n) for n in range(5)] == [True, False, True, False, True]
    assert [second(n) for n in range(5)] == [False, True, False, True, False]


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
