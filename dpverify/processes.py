"""Pools of processes that leave none behind. Nothing heavy is imported: the command line starts one before all else."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in this thread; a process that is started meanwhile never sees one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def collect_seldom() -> None:
    """Let Python look for reference cycles less often, and not once more when it ends: sympy makes few among many."""
    gc.set_threshold(300_000, 20, 20)
    atexit.register(gc.freeze)


def _begin(prepare: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """Begin a worker, which ends when the process that started it does, whatever ended that."""
    import multiprocessing
    from multiprocessing.connection import wait

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

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
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    class Pool(ProcessPoolExecutor):
        """Starts its processes as work is handed in."""

        def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
            with _interrupts_held():
                return super().submit(fn, *args, **kwargs)

    before = set(multiprocessing.active_children())
    pool = Pool(workers, multiprocessing.get_context("spawn"), _begin, (prepare, arguments))
    done = False
    try:
        yield pool
        done = True
    finally:
        if not (done and wait):
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
        with suppress(OSError):  # Python 3.11 may close the pool's pipe first where the processes have ended
            pool.shutdown(cancel_futures=True)  # waits for the pool's thread: later it may meet the closed pipe
