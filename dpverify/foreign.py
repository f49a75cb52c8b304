"""Calls of foreign code (code of users and other packages): failures become errors that name the code.

Foreign code may raise any exception, including SystemExit and KeyboardInterrupt, end the process, or never return.
Exceptions become a `ForeignError` here. For the other cases, `dpverify.apart.run_apart` runs the code in a separate
process, which marks each call in memory that the parent reads. That process also saves the functions that test foreign
code before it runs. If foreign code replaces some of them, they are restored, and a `ForeignError` is raised.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

PACKAGES = frozenset(
    {
        "dpverify",
        "numpy",
        "scipy",
        "builtins",
        "copy",
        "functools",
        "itertools",
        "math",
        "operator",
    }
)
# replaced by tools
REPLACEABLE = frozenset({"print", "open", "input", "__import__", "breakpoint"})
KINDS = (FunctionType, ModuleType, property, staticmethod, classmethod)


class Originals:
    """The values of names in loaded modules and in classes of dpverify, and the code of functions.

    Changes made directly in the memory of the process are not detected. The comparison calls no builtin function,
    because foreign code may have replaced it.
    """

    def __init__(self) -> None:
        self._set = setattr
        self._packages = {name.partition(".")[0] for name in sys.modules}
        self._modules = [
            (name, module)
            for name, module in sys.modules.items()
            if name.partition(".")[0] in PACKAGES and type(module) is ModuleType
        ]
        self._attributes: list[tuple[Any, str, Any, str]] = []
        self._codes: dict[FunctionType, tuple[Any, Any, str]] = {}
        for name, module in self._modules:
            self._add(module, name)

    def _add(self, holder: Any, name: str) -> None:
        for key, value in vars(holder).items():
            words = f"{name}.{key}"
            if (callable(value) or isinstance(value, KINDS)) and not (
                name == "builtins" and key in REPLACEABLE
            ):
                self._attributes.append((holder, key, value, words))
            if type(value) is FunctionType:
                self._codes.setdefault(
                    value, (value.__code__, value.__defaults__, words)
                )
            if (
                isinstance(value, type)
                and value.__module__ == name
                and name.startswith("dpverify.")
            ):
                self._add(value, words)

    def is_raised_elsewhere(self, error: BaseException) -> bool:
        """Test whether an exception was raised in a package that was loaded later, such as by a signal handler."""
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return (
            str(frame.f_globals.get("__name__")).partition(".")[0] not in self._packages
        )

    def restore(self) -> list[str]:
        """Restore replaced values, and return their names."""
        return [*self._restore()]

    def _restore(self) -> Iterator[str]:
        for name, module in self._modules:
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
                yield f"sys.modules[{name!r}]"
        for holder, key, value, words in self._attributes:
            if holder.__dict__.get(key) is not value:
                self._set(holder, key, value)
                yield words
        for function, (code, defaults, words) in self._codes.items():
            if function.__code__ is not code or function.__defaults__ is not defaults:
                function.__code__ = code
                function.__defaults__ = defaults
                yield words


LABEL_BYTES = 2000  # size of the name of the running code, for the parent
MOST_NAMES = 3  # most replaced functions that a message names


class ForeignError(Exception):
    """Foreign code did not return a value. The message is one line with its name and what it did."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name} {self.reason}"


def message_of(error: BaseException) -> str:
    """Return the message of an exception in one line, even if its ``__str__`` raises."""
    try:
        return " ".join(str(error).split())
    except BaseException as failure:  # raised by the exception's own code
        if is_interrupt(failure):
            raise
        return f"(its message raised {type(failure).__name__})"


def error_text(error: BaseException) -> str:
    """Return the type and the message of an exception in one line."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def text_with_line(error: BaseException) -> str:
    """Return the text of an exception with the line that raised it, unless it is a SyntaxError or from an import."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    is_import = "importlib" in place.filename or place.filename == __file__
    line = (
        ""
        if is_import or isinstance(error, SyntaxError)
        else f" ({Path(place.filename).name}, line {place.lineno})"
    )
    return error_text(error) + line


_interrupt_pressed = threading.Event()  # set by the user's Ctrl-C
_interrupts_deferred = threading.Event()  # set while Ctrl-C is deferred


def _interrupt(number: int, frame: FrameType | None) -> None:
    repeated = _interrupt_pressed.is_set()
    _interrupt_pressed.set()
    if repeated or not _interrupts_deferred.is_set():
        raise KeyboardInterrupt


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer a recorded Ctrl-C to the end of the block, so that it does not interrupt a message that the block sends."""
    was_pressed = _interrupt_pressed.is_set()
    _interrupts_deferred.set()
    try:
        yield
    finally:
        _interrupts_deferred.clear()
    if _interrupt_pressed.is_set() and not was_pressed:
        raise KeyboardInterrupt


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C while the block runs, for a short clean-up that must complete."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def raise_lost_interrupt() -> None:
    """Raise KeyboardInterrupt if the user has pressed Ctrl-C, even if foreign code or Python has suppressed it."""
    if _interrupt_pressed.is_set():
        raise KeyboardInterrupt


class InterruptCounter:
    """Count presses of Ctrl-C; only the second press raises KeyboardInterrupt."""

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
    """Record Ctrl-C while the block runs, to distinguish it from a KeyboardInterrupt raised by foreign code."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _interrupt_pressed.clear()
    before = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        signal.signal(number, before)


def is_interrupt(error: BaseException) -> bool:
    """Test whether an exception is the user's Ctrl-C; without recording, any KeyboardInterrupt counts."""
    recorded = any(
        signal.getsignal(number) is _interrupt
        for number in (signal.SIGINT, signal.SIGUSR1)
    )
    return isinstance(error, KeyboardInterrupt) and (
        _interrupt_pressed.is_set() or not recorded
    )


class foreign_code:  # noqa: N801  a context manager, written like contextlib's
    """Turn all exceptions of a block that calls foreign code, except the user's Ctrl-C, into a `ForeignError`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        _watch.enter(self.name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
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
        self.process = 0  # id of the process whose calls are marked
        self.originals: Originals | None = None

    def enter(self, name: str) -> None:
        """Mark the begin of a call; the number of marks becomes odd."""
        self.depth += 1
        if self.depth == 1 and self.marks is not None:
            keep_originals()
            self.label.value = name.encode("utf-8", "replace")[: LABEL_BYTES - 1]
            self.marks.value += 1

    def leave(self) -> None:
        """Mark the end of a call; the number of marks becomes even."""
        self.depth -= 1
        # not in a forked copy
        if self.depth == 0 and self.marks is not None and os.getpid() == self.process:
            self.marks.value += 1


_watch = _Watch()


def keep_originals() -> None:
    """Save the functions that test foreign code, until this process ends; their modules must be loaded."""
    _watch.originals = _watch.originals or Originals()


@contextmanager
def originals_watched() -> Iterator[None]:
    """Save the functions that test foreign code for a block, unless already saved; their modules must be loaded."""
    before = _watch.originals
    _watch.originals = before or Originals()
    try:
        yield
    finally:
        _watch.originals = before


def replacements() -> str:
    """Restore saved functions that foreign code has replaced; return a text that names them, or "" for none."""
    names = [] if _watch.originals is None else _watch.originals.restore()
    if not names:
        return ""
    listed = ", ".join(names[:MOST_NAMES])
    unlisted = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"replaced {listed}{unlisted}, which the tests use"


def foreign_cause(error: BaseException) -> str:
    """Return how foreign code caused an exception outside of its calls, or "" if it is not known to be the cause."""
    originals = _watch.originals
    if originals is not None and originals.is_raised_elsewhere(error):
        return f"raised {error_text(error)} between its calls"
    return replacements()


def check_originals(name: str) -> None:
    """Raise a `ForeignError` if foreign code has replaced functions that test it."""
    if reason := replacements():
        raise ForeignError(name, reason)


def mark_calls(marks: Any, label: Any) -> None:
    """Start marking calls of foreign code in this process: ``marks`` is a shared counter, ``label`` the last name."""
    _watch.marks = marks
    _watch.process = os.getpid()
    _watch.label = label
