"""A test that crashes the process is named, and with bounds checks a bad index in a kernel is an ordinary failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
CONFTEST = ROOT / "tests" / "conftest.py"

TESTS = """
import os
import signal

import numpy as np

from dpverify.kernels.jit import inner_kernel, kernel


@inner_kernel
def put(values, place):
    values[place] = 1.0


@kernel
def fill(values, place):
    put(values, place)
    return values[0]


def test_that_ends():
    pass


def test_abort():
    os.abort()


def test_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def test_index():
    fill(np.zeros(3), 3)
"""


def run(
    folder: Path, name: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_inner.py").write_text(TESTS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-k",
        name,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@for_each("name", ["test_abort", "test_killed"])
def test_a_test_that_ends_the_process_is_named(name: str, tmp_path: Path) -> None:
    ended = run(tmp_path, f"{name} or test_that_ends")
    assert ended.returncode < 0
    assert (
        f"pytest ended, by a crash or a signal, while it ran test_inner.py::{name}\n"
        in ended.stderr
    )


def test_nothing_is_said_of_a_run_that_ends(tmp_path: Path) -> None:
    ended = run(tmp_path, "test_that_ends")
    assert ended.returncode == 0
    assert "died" not in ended.stderr


def test_a_bad_index_in_a_kernel_fails_its_test_where_bounds_are_checked(
    tmp_path: Path,
) -> None:
    ended = run(
        tmp_path, "test_index", NUMBA_BOUNDSCHECK="1", NUMBA_FULL_TRACEBACKS="1"
    )
    assert ended.returncode == 1
    assert (
        "FAILED test_inner.py::test_index - IndexError: index is out of bounds"
        in ended.stdout
    )
    assert "index 3 is out of bounds for axis 0 with size 3" in ended.stdout
