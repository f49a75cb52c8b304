"""A time limit for the one function that has no other: sympy's simplify."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _TimeIsUp(BaseException):
    """Raised by the alarm; a BaseException so that no handler inside sympy swallows it."""


def within(seconds: float, function: Callable[[], T]) -> T | None:
    """Call a function and give up after some seconds of wall time: None when time ran out.

    A guard against runaway simplification, set far above what any step of ours takes, so that a slower machine does not
    change a verdict. Outside the main thread, or where the system has no timer, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return function()

    def stop(*_: Any) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function()
    except _TimeIsUp:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
