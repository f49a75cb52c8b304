"""``dpverify doctor``: check that this machine has everything that a run needs."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dpverify.cli.output import BAD_INPUT, OK
from dpverify.processes import usable_cores

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "sympy",
    "python-flint",
    "hypothesis",
    "msgspec",
    "scikit-learn",
    "matplotlib",
)


def doctor() -> int:
    """Check this machine: versions, cores, memory, records, compiler and cache.

    The exit code is 0 if nothing that dpverify needs is missing, otherwise 2.
    """
    states = [
        (name, is_ok, text)
        for name, check in _CHECKS.items()
        for is_ok, text in check()
    ]
    _print(states)
    return OK if all(is_ok for _, is_ok, _ in states) else BAD_INPUT


def _print(states: list[tuple[str, bool, str]]) -> None:
    """Print a table in a terminal, otherwise one line per finding."""
    from rich.console import Console
    from rich.text import Text

    from dpverify.report.text.console import table

    console = Console()
    if console.is_terminal:
        rows = [
            (Text("ok", "green") if is_ok else Text("BAD", "bold red"), name, text)
            for name, is_ok, text in states
        ]
        console.print(table(("state", "part", "what was found"), rows, console))
        return
    for name, is_ok, text in states:
        print(f"{'ok  ' if is_ok else 'BAD '} {name:<8} {text}")


def _python() -> Iterator[tuple[bool, str]]:
    yield (
        sys.version_info >= (3, 11),
        f"{platform.python_version()} at {sys.executable} (3.11 or later)",
    )
    yield True, f"{platform.system()} {platform.machine()}"


def _packages() -> Iterator[tuple[bool, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from dpverify import __version__

    yield True, f"dpverify {__version__} in {Path(__file__).parents[1]}"
    for name in PACKAGES:
        try:
            yield True, f"{name} {version(name)}"
        except PackageNotFoundError:
            yield False, f"{name} is not installed"


def _cores() -> Iterator[tuple[bool, str]]:
    yield True, f"{usable_cores()} usable of {os.cpu_count()}"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        yield gib >= 2, f"{gib:.1f} GiB of memory (2 or more)"


def _specs() -> Iterator[tuple[bool, str]]:
    from dpverify.ledger.errors import SpecError
    from dpverify.ledger.load import load_specs
    from dpverify.report.words import claims_and_notes

    try:
        papers = load_specs().papers
    except SpecError as error:
        yield False, str(error)
    else:
        for key, paper in papers.items():
            yield (
                True,
                f"{key}: {claims_and_notes(claim.record.kind for claim in paper.claims.values())}",
            )


def _jit() -> Iterator[tuple[bool, str]]:
    from dpverify.kernels.jit import kernel

    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        yield (
            False,
            "NUMBA_DISABLE_JIT is set: kernels run as plain Python, far too slow for a run",
        )
        return
    start = time.perf_counter()
    right = kernel(_triple)(2.0) == 6.0
    yield (
        right,
        f"a kernel is ready in {time.perf_counter() - start:.1f} s"
        if right
        else "a kernel gives a wrong number",
    )


def _cache() -> Iterator[tuple[bool, str]]:
    from numba.extending import is_jitted

    from dpverify.kernels.jit import kernel
    from dpverify.kernels.numba_internals import KernelCache

    compiled = kernel(_triple)
    if not is_jitted(compiled):
        return  # reported by the previous check
    folder = getattr(KernelCache.of(compiled), "cache_path", None)
    if folder:
        yield True, f"compiled kernels are kept in folders such as {folder}"
    else:
        yield (
            False,
            "no folder for compiled kernels can be written to: set NUMBA_CACHE_DIR, or each run compiles anew",
        )


def _triple(x: float) -> float:
    return 3.0 * x


_CHECKS: dict[str, Callable[[], Iterator[tuple[bool, str]]]] = {
    "python": _python,
    "package": _packages,
    "cores": _cores,
    "specs": _specs,
    "jit": _jit,
    "cache": _cache,
}
