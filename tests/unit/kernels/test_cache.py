"""The cache of compiled code, in processes of its own with a cache folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import llvmlite  # type: ignore[import-untyped]  # no py.typed
import numba
import pytest
from numba import types
from numba.core import config

from dpverify.cache_files import write
from dpverify.kernels import numba_internals
from dpverify.kernels.jit import kernel

ROOT = Path(__file__).parents[3]
CALLEE = (
    "from dpverify.kernels.jit import kernel\n@kernel\ndef one():\n    return {value}\n"
)
CALLER = """
import sys
import numpy as np
from callee import one
from dpverify.kernels.jit import kernel

@kernel
def total(x):
    s = x[0] * 0
    for v in x:
        s += v
    return s + one()

@kernel
def apply(f, x):
    return f(x)

for kind in sys.argv[1:]:
    print(total(np.arange(5, dtype=kind)), apply(total, np.arange(3, dtype=kind)))
hits = sum(sum(f.stats.cache_hits.values()) for f in (total, apply))
print("hits", hits)
"""

OTHER_CALLER = """
import numpy as np
from callee import apply, total
from dpverify.kernels.jit import kernel

@kernel
def outer(f, x):
    return apply(f, x) + 1

print(outer(total, np.arange(3.0)))
"""
"""Not run before: compiled against what another process left in the cache."""

BEHIND = """
from numba import types
from numba.extending import intrinsic, overload
from dpverify.kernels.jit import kernel, step_kernel

def plain(x):
    return x

@intrinsic
def emitted(_, x):
    def emit(context, builder, signature, arguments):
        return builder.fadd(arguments[0], context.get_constant(types.float64, {emitted}))
    return types.float64(types.float64), emit

@overload(plain)
def _plain(x):
    def found(x):
        return emitted(x) + {overloaded}
    return found

@{kind}
def outer(x):
    return plain(x)

print(outer(0.0))
print("hits", sum(outer.stats.cache_hits.values()))
"""
"""A kernel whose result is decided by an intrinsic and by what overloads a plain function."""

CLOSURES = """
import sys
from dpverify.kernels.jit import kernel

def made(G):
    @kernel
    def scaled(x):
        total = 0.0
        for k in range(int(x)):
            total += G / (k + 1.0)
        return total
    return scaled

@kernel
def run(f, x):
    total = 0.0
    for k in range(5):
        total += f(x + k)
    return total

for G in map(float, sys.argv[1:]):
    print(run(made(G), 7.0) / G)
"""
"""Two closures of one body are told apart by their values alone."""


def start(folder: Path, *kinds: str, **environment: str) -> subprocess.Popen[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA_")
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(folder / "caller.py"), *kinds],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={
            **inherited,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            **environment,
        },
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "callee.py").write_text(CALLEE.format(value=1), encoding="utf-8")
    (tmp_path / "caller.py").write_text(CALLER, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_processes_that_compile_at_once_get_their_own_code(folder: Path) -> None:
    kinds = [("f8", "i8"), ("i8", "f8"), ("f4",), ("f8", "f4")]
    want = {"f8": "11.0 4.0", "f4": "11.0 4.0", "i8": "11 4"}
    running = [start(folder, *each) for each in kinds]
    for each, process in zip(kinds, running, strict=True):
        assert finish(process)[:-1] == [want[kind] for kind in each]
    assert not list(folder.rglob("*.tmp"))
    everything = ("f8", "i8", "f4")
    assert finish(start(folder, *everything)) == [
        *(want[kind] for kind in everything),
        "hits 6",
    ]


@pytest.mark.slow
def test_new_code_calls_a_cached_kernel_that_takes_a_kernel(folder: Path) -> None:
    (folder / "one.py").write_text(CALLEE.format(value=1), encoding="utf-8")
    kernels = CALLER.replace("from callee", "from one").partition("for kind")[0]
    (folder / "callee.py").write_text(kernels, encoding="utf-8")
    (folder / "caller.py").write_text(
        "import numpy as np\nfrom callee import apply, total\nprint(apply(total, np.arange(3.0)))\n"
    )
    assert finish(start(folder)) == ["4.0"]
    (folder / "caller.py").write_text(OTHER_CALLER, encoding="utf-8")
    assert finish(start(folder)) == ["5.0"]


@pytest.mark.slow
def test_closures_that_two_processes_compiled_are_not_taken_for_each_other(
    folder: Path,
) -> None:
    (folder / "caller.py").write_text(CLOSURES, encoding="utf-8")
    (one,) = finish(start(folder, "1"))
    assert finish(start(folder, "2")) == [one]
    assert finish(start(folder, "1", "2")) == [one, one]


@pytest.mark.slow
def test_a_changed_kernel_of_another_file_is_seen_and_a_damaged_file_is_not_used(
    folder: Path,
) -> None:
    assert finish(start(folder, "f8")) == ["11.0 4.0", "hits 0"]
    assert finish(start(folder, "f8")) == ["11.0 4.0", "hits 2"]
    (folder / "callee.py").write_text(CALLEE.format(value=2), encoding="utf-8")
    assert finish(start(folder, "f8")) == ["12.0 5.0", "hits 0"]
    for file in folder.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:-1])
    assert finish(start(folder, "f8")) == ["12.0 5.0", "hits 0"]
    # what a release had
    gone = cycle([b"cno_such_module\nThing\n.", b"cdpverify.kernels.cache\nGone\n."])
    for file, payload in zip(sorted(folder.rglob("*.nbc")), gone, strict=False):
        write(file, payload)
    assert finish(start(folder, "f8")) == ["12.0 5.0", "hits 0"]


@pytest.mark.slow
def test_what_stands_behind_a_name_and_the_options_are_seen_from_a_warm_cache(
    folder: Path,
) -> None:
    def run(
        emitted: str = "1.0",
        overloaded: str = "10.0",
        kind: str = "kernel",
        **environment: str,
    ) -> list[str]:
        text = BEHIND.format(emitted=emitted, overloaded=overloaded, kind=kind)
        (folder / "caller.py").write_text(text, encoding="utf-8")
        return finish(start(folder, **environment))

    assert run() == ["11.0", "hits 0"]
    assert run(emitted="2.0") == ["12.0", "hits 0"]
    assert run(overloaded="20.0") == ["21.0", "hits 0"]
    assert run(kind="step_kernel") == ["11.0", "hits 0"]
    assert run(NUMBA_CPU_NAME="generic") == ["11.0", "hits 0"]
    assert run() == ["11.0", "hits 1"]


def test_a_file_has_another_name_for_another_compiler_or_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @kernel
    def half(x: float) -> float:
        return 0.5 * x

    cache: Any = cast("Any", half)._cache

    def name(*processor: str) -> str:
        return str(
            cache._file(
                (types.float64,), SimpleNamespace(magic_tuple=lambda: processor)
            )
        )

    names = [
        name("x86_64", "znver3", "+avx2"),
        name("x86_64", "skylake", "+avx2"),
        name("x86_64", "znver3", ""),
    ]
    settings = [(config, option) for option in numba_internals.OPTIONS]
    for owner, attribute in (
        (numba, "__version__"),
        (llvmlite, "__version__"),
        *settings,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, attribute, "another")
            names.append(name("x86_64", "znver3", "+avx2"))
    assert len(set(names)) == len(names)
    assert name("x86_64", "znver3", "+avx2") == names[0]


@pytest.fixture
def sealed(folder: Path) -> Path:
    """A folder that cannot hold a cache, whoever runs the test: a file stands where the cache folder should be."""
    (folder / "__pycache__").write_text("no folder", encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="where the user's cache folder is depends on the system",
)
def test_beside_read_only_sources_the_users_cache_folder_is_used(sealed: Path) -> None:
    where = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(sealed / "user")}
    assert finish(start(sealed, "f8", **where)) == ["11.0 4.0", "hits 0"]
    assert list((sealed / "user").rglob("caller.total*.nbc"))
    assert finish(start(sealed, "f8", **where)) == ["11.0 4.0", "hits 2"]


@pytest.mark.slow
def test_no_folder_to_write_to_is_no_error(sealed: Path) -> None:
    nowhere = str(sealed / "__pycache__")
    assert finish(
        start(
            sealed, "f8", NUMBA_CACHE_DIR=nowhere, XDG_CACHE_HOME=nowhere, HOME=nowhere
        )
    ) == [
        "11.0 4.0",
        "hits 0",
    ]
