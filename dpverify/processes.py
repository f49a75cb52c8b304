"""Pools of processes that leave none behind. Nothing heavy is imported: the command line starts one before all else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


@contextmanager
def process_pool(
    workers: int, prepare: Callable[..., object] | None = None, arguments: tuple[Any, ...] = (), *, wait: bool
) -> Iterator[ProcessPoolExecutor]:
    """Start processes, spawned and not forked, that are ended when the block is left, by Ctrl-C too.

    Parameters
    ----------
    workers : int
        Processes, at least 1; each is started when there is work for it.
    prepare : callable or None
        What each of them does first.
    arguments : tuple
        What ``prepare`` is given.
    wait : bool
        Whether they may finish what is under way, and are waited for, where the block is left without an exception.
        Else they are ended at once. What is not yet under way is dropped in either case.

    Yields
    ------
    concurrent.futures.ProcessPoolExecutor
        The pool. Processes that were there before it are left alone.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), prepare, arguments)
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
