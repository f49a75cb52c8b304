"""Child processes that end with their parent. This module imports little, because the command line loads it first.

A child cannot block its parent. Python starts with -P, so that a file in the working directory, such as
multiprocessing.py, does not replace a module. The data that the parent writes at the start fit into a pipe, so a child
that never reads does not block the parent. Larger arguments go through a file.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future, ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


START_SECONDS = 120.0  # seconds that a process may take to start


class ProcessStartError(RuntimeError):
    """A child process ended or hung before it could do anything."""


# environment variable for -P, also read by helper processes of multiprocessing
SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def starting() -> Iterator[None]:
    """Set up this process for starting children: with -P, with Ctrl-C blocked, and without command-line arguments.

    Ctrl-C is blocked in this thread, so children start with it blocked. multiprocessing would write the arguments,
    which may be long, to the child before it reads.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    words = sys.argv
    safe = os.environ.get(SAFE_PATH)
    try:
        os.environ[SAFE_PATH] = "1"
        sys.argv = words[:1]
        yield
    finally:
        sys.argv = words
        if safe is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = safe
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def collect_garbage_rarely() -> None:
    """Run Python's garbage collector less often, and not at exit: sympy makes many objects and few reference cycles."""
    gc.set_threshold(300_000, 20, 20)
    atexit.register(gc.freeze)


_process = 0  # id of this process if it has its own process group


def own_group() -> None:
    """Make a process group for this process and its children, so that they can be ended together."""
    global _process  # noqa: PLW0603  a process has one
    with suppress(OSError):  # the process already has its own group
        os.setsid()
    _process = os.getpid()


def exit_forked_copies() -> None:
    """End this process if it is a copy that foreign code made by a fork; only the original may send results."""
    if _process not in {0, os.getpid()}:
        os._exit(1)


def end_group(process: Any) -> None:
    """End a child and all processes of its group. It starts no processes before it makes its group."""
    if process.pid is not None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # for a child without a group


def begin(
    safe: str | None, prepare: Callable[..., object] | None, arguments: tuple[Any, ...]
) -> None:
    """Set up a worker process, which ends as soon as its parent process has ended for any reason.

    ``safe``: the parent's original setting of -P, restored for processes that foreign code starts.
    """
    import multiprocessing
    from multiprocessing.connection import wait

    def watch(sentinel: int) -> None:
        wait([sentinel])
        if _process == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    if safe is None:
        os.environ.pop(SAFE_PATH, None)
    collect_garbage_rarely()
    if (parent := multiprocessing.parent_process()) is not None:
        Thread(target=watch, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


@contextmanager
def process_pool(
    workers: int,
    prepare: Callable[..., object] | None = None,
    arguments: tuple[Any, ...] = (),
    *,
    wait: bool,
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of spawned (not forked) processes, which end when the block is left, also by Ctrl-C.

    A terminal sends Ctrl-C to all its processes. These processes ignore it, and the
    parent handles it.

    ``wait``: if the block is left without an exception, wait for running work to
    finish; otherwise processes end at once. Work that has not started is dropped in
    both cases. Processes that existed before the pool are not affected.

    ``arguments``: small values; use `spool` for large ones.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Pool(ProcessPoolExecutor):
        """A pool that starts its processes when work is submitted."""

        def submit(
            self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
        ) -> Future[T]:
            with starting():
                future = super().submit(fn, *args, **kwargs)
            writer = getattr(getattr(self, "_result_queue", None), "_writer", None)
            if workers == 1 and writer is not None and not writer.closed:
                # otherwise a partial result of a killed process would block forever
                writer.close()
            return future

    before = set(multiprocessing.active_children())
    setting = (os.environ.get(SAFE_PATH), prepare, arguments)
    with starting():  # the pool's locks start multiprocessing's resource tracker
        pool = Pool(workers, multiprocessing.get_context("spawn"), begin, setting)
    done = False
    try:
        yield pool
        done = True
    finally:
        if not (done and wait):
            for child in set(multiprocessing.active_children()) - before:
                end_group(child)
        # Python 3.11 may have closed the pool's pipe if the processes have ended
        with suppress(OSError):
            # waits for the pool's thread, which may use the closed pipe later
            pool.shutdown(cancel_futures=True)


def end_workers(pool: Executor) -> None:
    """End the processes of a pool at once; their work fails with a BrokenProcessPool."""
    for process in workers_of(pool):
        end_group(process)


def workers_of(pool: Executor) -> list[Any]:
    """Return the processes of a pool."""
    return list((getattr(pool, "_processes", None) or {}).values())


@contextmanager
def spool(value: object) -> Iterator[str]:
    """Write a value to a temporary file for child processes, which read it with `read_spooled`; yield its path."""
    with tempfile.NamedTemporaryFile(prefix="dpverify-") as file:
        pickle.dump(value, file)
        file.flush()
        yield file.name


def read_spooled(path: str) -> Any:
    """Return the value that the parent process has written with `spool`."""
    return pickle.loads(Path(path).read_bytes())
