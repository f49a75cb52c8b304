"""A meter of the work that evaluating formulas takes, in parts of formulas, so that a limit means the same everywhere.

A limit in seconds would give other results on another machine. A part of a formula takes about a microsecond. What is
cached is charged as if it were computed, for what a process computed before must not change a result either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dpverify.symbolic.exact.numbers import UnsupportedError

T = TypeVar("T")

UNLIMITED = 10**12

_meters: list[Meter] = []  # those that are open, the outermost first


class WorkLimitError(UnsupportedError):
    """The value exists, perhaps, but to compute it takes more work than is left."""


class Meter:
    """Work that is left of a limit."""

    opened = 0  # how many were opened in this process: what is kept of neighbouring values begins anew with each

    def __init__(self, limit: int) -> None:
        self.left = limit

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the work inside the block; more than is left of any open meter is a WorkLimitError."""
        _meters.append(self)
        Meter.opened += 1
        try:
            yield
        finally:
            _meters.pop()


def spend(parts: int) -> None:
    """Take work from all open meters before it is done."""
    for meter in _meters:
        if parts > meter.left:
            raise WorkLimitError(f"a value that takes {parts} steps, where {max(meter.left, 0)} are left.")
    for meter in _meters:
        meter.left -= parts


def counted(compute: Callable[[], T]) -> tuple[T, int]:
    """Compute a value apart from all open meters, and how much work it took: to be spent each time it is used."""
    outer = _meters[:]
    meter = Meter(UNLIMITED)
    _meters[:] = [meter]
    Meter.opened += 1
    try:
        return compute(), UNLIMITED - meter.left
    finally:
        _meters[:] = outer
