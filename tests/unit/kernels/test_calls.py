"""Kernels that call kernels, in this process and from a cache."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaWarning

from dpverify.kernels.jit import (
    for_types_of,
    inner_kernel,
    kernel,
    python_of,
    step_kernel,
)
from dpverify.problems.logistic import example_gradient


@step_kernel
def checked(x: float) -> float:
    if x < 0.0:
        raise ValueError("below zero")
    return x + 1.0


@kernel
def twice(x: float) -> float:
    return checked(checked(x))


pytestmark = pytest.mark.skipif(
    python_of(twice) is twice, reason="the jit is switched off: nothing is compiled"
)


def test_an_error_in_what_a_kernel_takes_in_is_the_caller_s() -> None:
    assert twice(0.0) == 2.0
    with pytest.raises(ValueError, match=r"^below zero$"):
        twice(-1.0)
    with pytest.raises(ValueError, match=r"^below zero$"):
        checked(-1.0)


def test_python_calls_what_kernels_call() -> None:
    assert (
        checked(1.0)
        == for_types_of(checked, 1.0)(1.0)
        == python_of(checked)(1.0)
        == 2.0
    )
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
from tests.unit.kernels import test_calls as t
total = t.twice(0.5), t.checked(1.5), getattr(t, sys.argv[1])(0.5)
print(*total, sorted(t.twice.stats.cache_hits.values()))
"""


def run(script: str, folder: Path, *words: str) -> str:
    root = Path(__file__).parents[3]
    environment = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(root), "PATH": ""}
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(
        command,
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=100,
    ).stdout


def test_another_process_finds_kernels_in_the_cache(tmp_path: Path) -> None:
    assert run(SCRIPT, tmp_path, "says") == "x = 0.5\n2.5 2.5 1.5 []\n"
    # no need of what is taken in
    assert run(SCRIPT, tmp_path, "also_says") == "x = 0.5\n2.5 2.5 2.5 [1]\n"


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


LABS = ctypes.CDLL(None).labs
LABS.argtypes, LABS.restype = [ctypes.c_long], ctypes.c_long


def test_what_holds_an_address_is_not_kept_for_other_processes() -> None:
    @inner_kernel
    def size(x: int) -> int:
        return int(LABS(x))

    @kernel
    def outer(x: int) -> int:
        return size(x)

    with pytest.warns(
        NumbaWarning,
        match="Cannot cache compiled function .* as it uses dynamic globals",
    ):
        assert outer(-3) == 3


def test_inner_kernels_that_call_each_other_find_each_other() -> None:
    assert [is_even(n) for n in range(5)] == [True, False, True, False, True]


def test_kernels_that_call_each_other_are_compiled_anew_in_each_process(
    tmp_path: Path,
) -> None:
    """Read from a cache they would call addresses that are not there, as they do in numba 0.68."""
    script = """
from tests.unit.kernels.test_calls import even, is_even
print([is_even(n) for n in range(5)], even(3))
"""
    assert (
        run(script, tmp_path)
        == run(script, tmp_path)
        == "[True, False, True, False, True] False\n"
    )
