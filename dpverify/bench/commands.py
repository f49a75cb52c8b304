"""Run a whole command in a child process: how long it takes, and how much memory it holds at its peak."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpverify.bench.case import Usage

CACHE_VARIABLE = "NUMBA_CACHE_DIR"
"""Environment variable that says where compiled kernels are kept; an empty folder there makes a run cold."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Libraries of linear algebra are measured on one thread, like all else unless a case says otherwise. Whole commands
are not told: they run as they do from a prompt."""

LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - begin
cores = used.ru_utime + used.ru_stime
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {used.ru_maxrss} {seconds} {cores}".encode())
"""
"""A small process between this one and the command: the kernel counts what a process held before it became the command
as the command's own, and this one may hold much."""


class CommandError(RuntimeError):
    """A command that is measured ended as it should not."""


def python(*words: str) -> tuple[str, ...]:
    """The command line of this interpreter with these words."""
    return (sys.executable, *words)


def dpverify(*words: str) -> tuple[str, ...]:
    """The command line of this dpverify with these words."""
    return python("-m", "dpverify", *words)


def run_command(words: Sequence[str], *, cache: Path | None = None, codes: Sequence[int] = (0,)) -> Usage:
    """Run a command to its end, its output thrown away.

    How long it took, and the most memory that it, or the largest of the child processes that it waited for, held.
    """
    environment = environment_of(cache)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as told_by_it, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            python("-I", "-S", "-c", LAUNCHER, str(writing), *words),
            env=environment, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True, pass_fds=(writing,),
        )  # fmt: skip
        os.close(writing)
        _wait(process)
        code, peak, seconds, cores = (float(word) for word in told_by_it.read().split() or (1, 0, 0, 0))
        if code not in codes:
            errors.seek(0)
            told = errors.read().decode(errors="replace").strip().splitlines()
            named = " ".join("python" if word == sys.executable else word for word in words)  # no path of this machine
            raise CommandError(f"{named}: exit code {code:.0f}: {told[-1] if told else 'no message'}")
    return Usage(int(peak) * (1 if sys.platform == "darwin" else 1024), seconds=seconds, core_seconds=cores)


def environment_of(cache: Path | None) -> Mapping[str, str]:
    """The environment of a command: this one's without ``ONE_THREAD``, with this package, kernels kept in ``cache``."""
    home = str(Path(__file__).resolve().parents[2])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    inherited = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    environment = {**inherited, "PYTHONPATH": os.pathsep.join(paths)}
    return environment if cache is None else {**environment, CACHE_VARIABLE: str(cache)}


@contextmanager
def empty_cache() -> Iterator[Path]:
    """A fresh empty folder for compiled kernels, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="dpverify-cold-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def cold(words: Sequence[str]) -> Callable[[], Usage]:
    """A form: the command with an empty folder of compiled kernels."""

    def run() -> Usage:
        with empty_cache() as folder:
            return run_command(words, cache=folder)

    return run


def warm(words: Sequence[str]) -> Callable[[], Usage]:
    """A form: the command with the kernels that are kept already; each form is run once before it is timed."""
    return lambda: run_command(words)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process; if this one is interrupted, the other and its own children end."""
    try:
        process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
