"""Code that is not ours: every way in which a call of it ends is an error that names it, and long calls can be watched.

Foreign code may raise anything, SystemExit and KeyboardInterrupt included, end the process, or never return. The first
becomes a `ForeignError` here. For the others, `dpverify.apart.run_apart` runs it in a process of its own, which
marks each call of foreign code where the parent can read it. There, what foreign code replaces among the functions that
judge it is put back and becomes a `ForeignError` as well.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from dpverify.originals import Originals

LABEL_BYTES = 2000  # of the name of the code that runs, for the parent
MOST_NAMES = 3  # replaced functions that a message names


class ForeignError(Exception):
    """Foreign code did not return a value: its name and what it did, in one line."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name} {self.reason}"


def message_of(error: BaseException) -> str:
    """Return the message of an exception in one line; foreign exceptions may fail to give one."""
    try:
        return " ".join(str(error).split())
    except BaseException as failure:  # whatever the exception's own code raises
        if is_interrupt(failure):
            raise
        return f"(its message raised {type(failure).__name__})"


def error_text(error: BaseException) -> str:
    """Write an exception in one line: its type and its message."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def located(error: BaseException) -> str:
    """Write an exception with the line that raised it; a SyntaxError names its own, and an import has none."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    is_import = "importlib" in place.filename or place.filename == __file__
    line = "" if is_import or isinstance(error, SyntaxError) else f" ({Path(place.filename).name}, line {place.lineno})"
    return error_text(error) + line


_pressed = threading.Event()  # set by the user's Ctrl-C
_held = threading.Event()  # set while Ctrl-C waits


def _interrupt(number: int, frame: FrameType | None) -> None:
    repeated = _pressed.is_set()
    _pressed.set()
    if repeated or not _held.is_set():
        raise KeyboardInterrupt


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let a recorded Ctrl-C wait until the block is left, so that what the block sends is whole."""
    before = _pressed.is_set()
    _held.set()
    try:
        yield
    finally:
        _held.clear()
    if _pressed.is_set() and not before:
        raise KeyboardInterrupt


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C while the block runs: a short clean-up that has to be whole, after a first Ctrl-C too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def raise_lost_interrupt() -> None:
    """Raise KeyboardInterrupt if the user has pressed Ctrl-C, also where foreign code or Python has swallowed it."""
    if _pressed.is_set():
        raise KeyboardInterrupt


class InterruptCounter:
    """Count Ctrl-C instead of raising KeyboardInterrupt, up to the second one, which is raised."""

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> InterruptCounter:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt


@contextmanager
def interrupts_recorded(number: int = signal.SIGINT) -> Iterator[None]:
    """Record Ctrl-C while the block runs, so that a KeyboardInterrupt raised by foreign code can be told from it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _pressed.clear()
    before = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        signal.signal(number, before)


def is_interrupt(error: BaseException) -> bool:
    """Return whether an exception is the user's Ctrl-C; where interrupts are not recorded, it may be."""
    recorded = any(signal.getsignal(number) is _interrupt for number in (signal.SIGINT, signal.SIGUSR1))
    return isinstance(error, KeyboardInterrupt) and (_pressed.is_set() or not recorded)


class foreign_code:  # noqa: N801  a context manager, written like contextlib's
    """A block that calls foreign code: whatever it raises, but for the user's Ctrl-C, becomes a `ForeignError`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        _watch.enter(self.name)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _watch.leave()
        if error is None or isinstance(error, ForeignError) or is_interrupt(error):
            return
        raise ForeignError(self.name, f"raised {error_text(error)}") from error


class _Watch:
    """Marks of the outermost call of foreign code, in memory that the parent process can read."""

    def __init__(self) -> None:
        self.depth = 0
        self.marks: Any = None
        self.label: Any = None
        self.process = 0  # whose calls are marked
        self.originals: Originals | None = None

    def enter(self, name: str) -> None:
        """Mark that foreign code begins: the number of marks is odd."""
        self.depth += 1
        if self.depth == 1 and self.marks is not None:
            keep_originals()
            self.label.value = name.encode("utf-8", "replace")[: LABEL_BYTES - 1]
            self.marks.value += 1

    def leave(self) -> None:
        """Mark that foreign code has ended: the number of marks is even."""
        self.depth -= 1
        if self.depth == 0 and self.marks is not None and os.getpid() == self.process:  # no copy by a fork
            self.marks.value += 1


_watch = _Watch()


def keep_originals() -> None:
    """Note the functions that judge foreign code until this process ends; their modules must be loaded."""
    _watch.originals = _watch.originals or Originals()


@contextmanager
def originals_watched() -> Iterator[None]:
    """Note the functions that judge foreign code for the block, unless they are noted; their modules must be loaded."""
    before = _watch.originals
    _watch.originals = before or Originals()
    try:
        yield
    finally:
        _watch.originals = before


def replacements() -> str:
    """Put back functions that foreign code has replaced since they were noted, and name them; "" if there are none."""
    names = [] if _watch.originals is None else _watch.originals.restored()
    if not names:
        return ""
    listed = ", ".join(names[:MOST_NAMES])
    unlisted = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"replaced {listed}{unlisted}, which the tests use"


def foreign_cause(error: BaseException) -> str:
    """Say what foreign code did if an exception outside of its calls is due to it; "" if that is not known."""
    originals = _watch.originals
    if originals is not None and originals.is_raised_elsewhere(error):
        return f"raised {error_text(error)} between its calls"
    return replacements()


def check_originals(name: str) -> None:
    """Raise a `ForeignError` if foreign code has replaced functions that judge it."""
    if reason := replacements():
        raise ForeignError(name, reason)


def mark_calls(marks: Any, label: Any) -> None:
    """Let calls of foreign code in this process leave their marks: a shared counter, and the name of the last one."""
    _watch.marks = marks
    _watch.process = os.getpid()
    _watch.label = label
