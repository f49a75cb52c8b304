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
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dpverify.foreign import LABEL_BYTES, ForeignError, error_text, interrupts_recorded, mark_calls

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future, ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


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


def _begin(safe: str | None, prepare: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """Begin a worker, which ends when the process that started it does, whatever ended that.

    ``safe``: the parent's own setting of -P, for processes that foreign code starts.
    """
    import multiprocessing
    from multiprocessing.connection import wait

    def watch(sentinel: int) -> None:
        wait([sentinel])
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
    begin = (os.environ.get(SAFE_PATH), prepare, arguments)
    with starting():  # the pool's locks start a process that cleans up after them
        pool = Pool(workers, multiprocessing.get_context("spawn"), _begin, begin)
    done = False
    try:
        yield pool
        done = True
    finally:
        if not (done and wait):
            for child in set(multiprocessing.active_children()) - before:
                child.kill()  # also where it is stopped
        with suppress(OSError):  # Python 3.11 may close the pool's pipe first where the processes have ended
            pool.shutdown(cancel_futures=True)  # waits for the pool's thread: later it may meet the closed pipe


def end_workers(pool: Executor) -> None:
    """End the processes of a pool at once, whatever they do; their work fails with a BrokenProcessPool."""
    for process in list(getattr(pool, "_processes", {}).values()):
        process.kill()


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


POLL = 0.05  # seconds between two looks at a child


def run_apart(limit: float, function: Callable[P, Iterator[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
    """Run a generator that calls foreign code in a process of its own, and yield what it yields.

    Foreign code may then end its process, or hang in C: either becomes a `ForeignError`. Ctrl-C ends the process.

    ``limit``: seconds that one call of foreign code may take; 0 runs the generator in this process, without a limit.
    """
    if limit <= 0:
        yield from function(*args, **kwargs)
        return
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with spooled((function, args, kwargs)) as file:
        with starting():
            marks = context.RawValue("q", 0)
            label = context.RawArray("c", LABEL_BYTES)
            arguments = (os.environ.get(SAFE_PATH), _serve, (file, writer, marks, label))
            child = context.Process(target=_begin, args=arguments)
            child.start()
        writer.close()  # so that the pipe ends with the child
        try:
            yield from _answers(limit, child, reader, marks, label)
        finally:
            child.kill()
            child.join()
            reader.close()


PATIENCE = 5.0  # seconds that foreign code has to return after Ctrl-C


def _answers(limit: float, child: Any, reader: Any, marks: Any, label: Any) -> Iterator[Any]:
    """Yield what a child sends until it is done. The first Ctrl-C is handed on: it may answer with what it has."""
    seen = marks.value
    since = time.monotonic()
    interrupted = False
    while True:
        try:
            if reader.poll(POLL):
                kind, value = reader.recv()
                if kind == "done":
                    return
                if kind == "error":
                    raise value
                yield value
                since = time.monotonic()
            elif marks.value != seen or seen % 2 == 0:  # no call of foreign code, or another one
                seen = marks.value
                since = time.monotonic()
            elif time.monotonic() - since > limit:
                if interrupted:
                    raise KeyboardInterrupt
                raise ForeignError(_name(label), f"did not return within {limit:g} s")
        except EOFError:
            child.join()
            how = f"by signal {-child.exitcode}" if child.exitcode < 0 else f"with exit code {child.exitcode}"
            raise ForeignError(_name(label), f"ended its process {how}") from None
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            limit = min(limit, PATIENCE)
            os.kill(child.pid, signal.SIGINT)


def _name(label: Any) -> str:
    return label.value.decode("utf-8", "replace") or "foreign code"


def _serve(file: str, writer: Any, marks: Any, label: Any) -> None:
    """Run the generator of a file in this process, and send what it yields."""
    os.setsid()  # Ctrl-C in a terminal reaches the parent alone, which hands it on
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    mark_calls(marks, label)
    with interrupts_recorded():
        try:
            function, args, kwargs = unspooled(file)
            for value in function(*args, **kwargs):
                writer.send(("value", value))
            message: tuple[str, BaseException | None] = ("done", None)
        except BaseException as error:  # noqa: BLE001  the parent raises it again
            message = ("error", _sendable(error))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    writer.send(message)
    writer.close()
    os._exit(0)  # nothing that foreign code leaves behind, such as threads, may delay the end


def _sendable(error: BaseException) -> BaseException:
    """Return the exception with its traceback as a note, or its text where it cannot be sent."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except BaseException:  # noqa: BLE001  whatever an exception's own code does
        return RuntimeError(error_text(error))
    return error
