"""Run foreign code in a separate process, which the code may end, and which is ended if the code does not return.

Whatever the code does to its process, such as closing stdout, does not affect the parent process. Processes that the
code starts end with its process, unless they leave its process group.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from dpverify.foreign import (
    LABEL_BYTES,
    ForeignError,
    InterruptCounter,
    check_originals,
    error_text,
    foreign_cause,
    foreign_code,
    interrupts_deferred,
    interrupts_recorded,
    mark_calls,
)
from dpverify.processes import (
    SAFE_PATH,
    START_SECONDS,
    ProcessStartError,
    begin,
    end_group,
    exit_forked_copies,
    own_group,
    read_spooled,
    spool,
    starting,
)

P = ParamSpec("P")
T = TypeVar("T")

POLL_SECONDS = 0.05  # seconds between two checks of a child
# seconds within which a child must end after it closed its connection
END_SECONDS = 2.0
INTERRUPT_SECONDS = 5.0  # seconds within which foreign code must return after Ctrl-C


def run_apart(
    limit: float, function: Callable[P, Iterator[T]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[T]:
    """Run a generator that calls foreign code in a separate process; yield the values that it yields or sends.

    If foreign code ends its process or hangs in C, a `ForeignError` is raised. The
    first Ctrl-C is forwarded to the process, which may still return results. The second
    Ctrl-C ends the process. Neither interrupts the caller while it handles a value.

    ``limit``: seconds that one call of foreign code may take; 0 runs the generator in this process, without a limit.
    """
    if limit <= 0:
        yield from function(*args, **kwargs)
        return
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with InterruptCounter() as interrupts, spool((function, args, kwargs)) as file:
        with starting():
            marks = context.RawValue("q", 0)
            label = context.RawArray("c", LABEL_BYTES)
            arguments = (
                os.environ.get(SAFE_PATH),
                _serve,
                (file, writer, marks, label),
            )
            child = context.Process(target=begin, args=arguments)
            child.start()
        writer.close()  # so that the pipe ends with the child
        try:
            yield from _child_values(
                limit, child, reader, _Calls(marks, label), interrupts
            )
        finally:
            end_group(child)
            child.join()
            reader.close()


def check_timeout(timeout: float) -> None:
    """Raise a ValueError if a timeout is not a finite number of at least 0 seconds."""
    if not 0.0 <= timeout < math.inf:
        raise ValueError(
            f"timeout must be at least 0 and finite, got timeout={timeout}."
        )


def packed(what: str, value: object) -> bytes:
    """Return foreign values as a pickle for another process; raise a ValueError if they cannot be pickled."""
    try:
        with foreign_code(f"pickling of the {what}"):
            return pickle.dumps(value)
    except ForeignError as error:
        rule = f"with timeout, the {what} must be picklable, such as functions at the top of a module"
        raise ValueError(f"{rule}: the {error}") from error


def unpacked(what: str, data: bytes) -> Any:
    """Return the values from the result of `packed`."""
    with foreign_code(f"import of the {what}"):
        return pickle.loads(data)


class _Calls:
    """The calls of foreign code in a child process, as seen by the parent."""

    def __init__(self, marks: Any, label: Any) -> None:
        self._marks = marks
        self._label = label
        self._last_marks = 0
        self._since = time.monotonic()
        self.started = False  # whether the child has sent or called anything

    @property
    def name(self) -> str:
        """Name of the foreign code that was called last."""
        return self._label.value.decode("utf-8", "replace") or "foreign code"

    @property
    def is_running(self) -> bool:
        """Whether a call of foreign code is running."""
        return bool(self._marks.value % 2)

    def record_message(self) -> None:
        """Record that the child has sent a message."""
        self.started = True
        self._since = time.monotonic()

    def is_overdue(self, limit: float) -> bool:
        """Test whether the current call of foreign code has taken longer than ``limit`` seconds."""
        marks = self._marks.value
        self.started = self.started or marks > 0
        if not self.started:
            if time.monotonic() - self._since > START_SECONDS:
                raise ProcessStartError(
                    f"a child process did not start within {START_SECONDS:g} s"
                )
            return False
        # no call is running, or a new call
        if marks != self._last_marks or marks % 2 == 0:
            self._last_marks = marks
            self._since = time.monotonic()
        return time.monotonic() - self._since > limit


def _child_values(
    limit: float, child: Any, reader: Any, calls: _Calls, interrupts: InterruptCounter
) -> Iterator[Any]:
    """Yield the values that a child sends until it is done."""
    interrupted = False
    while True:
        if interrupts.count and not interrupted:
            interrupted = True
            limit = min(limit, INTERRUPT_SECONDS)
            os.kill(child.pid, signal.SIGINT)
        try:
            message = reader.recv() if reader.poll(POLL_SECONDS) else None
            if message is None and not child.is_alive() and not reader.poll(0):
                # a process started by foreign code may keep the pipe open
                raise EOFError
        except EOFError:
            raise _end_error(child, calls) from None
        if message is None:
            if calls.is_overdue(limit):
                if interrupted:
                    raise KeyboardInterrupt
                raise ForeignError(calls.name, f"did not return within {limit:g} s")
            continue
        calls.record_message()
        kind, value = message
        if kind == "done":
            if calls.is_running:
                raise ForeignError(calls.name, "ended the tests that judge it")
            return
        if kind == "error":
            raise value
        yield value


def _end_error(child: Any, calls: _Calls) -> Exception:
    """Return the error for a child that ended before it was done."""
    calls.is_overdue(0.0)
    child.join(END_SECONDS)
    code = child.exitcode
    if code is None:
        return ForeignError(calls.name, "closed the connection of its process to ours")
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    if not calls.started:
        return ProcessStartError(f"a child process ended {how} before it had started")
    return ForeignError(calls.name, f"ended its process {how}")


_writer: Any = None  # connection to the parent, if this process is a child


def tell(value: object) -> None:
    """Send a value to the parent process. Ctrl-C does not interrupt the message."""
    exit_forked_copies()
    with interrupts_deferred():
        _writer.send(("value", value))


def _serve(file: str, writer: Any, marks: Any, label: Any) -> None:
    """Run the generator in a file, as a child process, and send the values that it yields."""
    global _writer  # noqa: PLW0603  a process has one
    own_group()  # Ctrl-C in a terminal reaches only the parent, which forwards it
    _writer = writer
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    mark_calls(marks, label)
    with interrupts_recorded():
        try:
            function, args, kwargs = read_spooled(file)
            for value in function(*args, **kwargs):
                tell(value)
            check_originals("foreign code")
            message: tuple[str, BaseException | None] = ("done", None)
        except BaseException as error:  # noqa: BLE001  the parent raises it again
            message = ("error", _picklable(_with_foreign_cause(error)))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    exit_forked_copies()
    writer.send(message)
    writer.close()
    os._exit(0)  # threads that foreign code left running must not delay the end


def _with_foreign_cause(error: BaseException) -> BaseException:
    """Return the exception, or a ForeignError if foreign code caused it outside of its calls."""
    reason = "" if isinstance(error, ForeignError) else foreign_cause(error)
    return (
        ForeignError(
            "foreign code", f"{reason}, and the tests raised {error_text(error)}"
        )
        if reason
        else error
    )


def _picklable(error: BaseException) -> BaseException:
    """Return the exception with its traceback as a note, or a RuntimeError with its text if it cannot be pickled."""
    try:
        error.add_note("".join(traceback.format_exception(error)))
        pickle.loads(pickle.dumps(error))
    except BaseException:  # noqa: BLE001  whatever an exception's own code does
        return RuntimeError(error_text(error))
    return error
