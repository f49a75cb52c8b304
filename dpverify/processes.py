"""Processes that leave none behind. Nothing heavy is imported: the command line starts one before all else.

A child is started so that nothing it does can stop its parent. Python starts with -P: a file of the working directory,
such as multiprocessing.py, is not imported in place of a module. What the parent writes to it at the start fits into a
pipe, so that a child that never reads blocks nobody; larger arguments go through a file.
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
    """Count the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


START_SECONDS = 120.0  # that a process may take to start


class ProcessStartError(RuntimeError):
    """A child process ended or hung before it could do anything."""


SAFE_PATH = "PYTHONSAFEPATH"  # the environment variable for -P, also read by helpers that multiprocessing starts


@contextmanager
def starting() -> Iterator[None]:
    """Start children in this block: with -P, without Ctrl-C, and without the words of the command line.

    Ctrl-C is blocked in this thread, so that a process that is started meanwhile never sees one. The words, which may
    be long, would be written to the child before it reads.
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


def collect_seldom() -> None:
    """Let Python look for reference cycles less often, and not once more when it ends: sympy makes few among many."""
    gc.set_threshold(300_000, 20, 20)
    atexit.register(gc.freeze)


_process = 0  # the number of this process where it has its own group


def own_group() -> None:
    """Make a group of this process and those that foreign code starts in it, so that they can be ended together."""
    global _process  # noqa: PLW0603  a process has one
    with suppress(OSError):  # it has one already
        os.setsid()
    _process = os.getpid()


def end_copies() -> None:
    """End this process if it is a copy that foreign code made by a fork: only the original answers."""
    if _process not in {0, os.getpid()}:
        os._exit(1)


def end_group(process: Any) -> None:
    """End a child and all processes of its group; until it has made one, it has started none."""
    if process.pid is not None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # also where it is stopped


def begin(safe: str | None, prepare: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """Begin a worker, which ends when the process that started it does, whatever ended that.

    ``safe``: the parent's own setting of -P, for processes that foreign code starts.
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
    collect_seldom()
    if (parent := multiprocessing.parent_process()) is not None:
        Thread(target=watch, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


@contextmanager
def process_pool(
    workers: int, prepare: Callable[..., object] | None = None, arguments: tuple[Any, ...] = (), *, wait: bool
) -> Iterator[ProcessPoolExecutor]:
    """Start processes, spawned and not forked, that are ended when the block is left, by Ctrl-C too.

    Ctrl-C goes to all processes of a terminal; these leave it to the one that started them.

    ``wait``: whether they may finish what is under way, and are waited for, where the block is left without an
    exception. Else they are ended at once. What is not yet under way is dropped in either case. The pool. Processes
    that were there before it are left alone.

    ``arguments``: small ones; `spooled` has a place for large ones.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Pool(ProcessPoolExecutor):
        """Starts its processes as work is handed in."""

        def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
            with starting():
                future = super().submit(fn, *args, **kwargs)
            writer = getattr(getattr(self, "_result_queue", None), "_writer", None)
            if workers == 1 and writer is not None and not writer.closed:
                writer.close()  # else half an answer of a killed process would be waited for without end
            return future

    before = set(multiprocessing.active_children())
    setting = (os.environ.get(SAFE_PATH), prepare, arguments)
    with starting():  # the pool's locks start a process that cleans up after them
        pool = Pool(workers, multiprocessing.get_context("spawn"), begin, setting)
    done = False
    try:
        yield pool
        done = True
    finally:
        if not (done and wait):
            for child in set(multiprocessing.active_children()) - before:
                end_group(child)
        with suppress(OSError):  # Python 3.11 may close the pool's pipe first where the processes have ended
            pool.shutdown(cancel_futures=True)  # waits for the pool's thread: later it may meet the closed pipe


def end_workers(pool: Executor) -> None:
    """End the processes of a pool at once, whatever they do; their work fails with a BrokenProcessPool."""
    for process in workers_of(pool):
        end_group(process)


def workers_of(pool: Executor) -> list[Any]:
    """Return the processes of a pool."""
    return list((getattr(pool, "_processes", None) or {}).values())


@contextmanager
def spooled(value: object) -> Iterator[str]:
    """Write a value to a file of this user for child processes, which read it with `unspooled`; yield its path."""
    with tempfile.NamedTemporaryFile(prefix="dpverify-") as file:
        pickle.dump(value, file)
        file.flush()
        yield file.name


def unspooled(path: str) -> Any:
    """Read the value that the parent process has written."""
    return pickle.loads(Path(path).read_bytes())
