"""A meter of the work that evaluating formulas takes, in parts of formulas, so that a limit means the same everywhere.

A limit in seconds would give other results on another machine. A part of a formula takes about a microsecond. What is
cached is charged as if it were computed, for what a process computed before must not change a result either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

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
        self.paid = set[tuple[object, ...]]()  # what was computed in the block: to use it again there is free

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


_charged: dict[tuple[object, ...], tuple[object, int]] = {}  # results with their work, by function and arguments
_MOST_CHARGED = 1024


def charged(function: Callable[..., T], *arguments: object) -> T:
    """Compute under all open meters, and charge the same work again where a result is used inside of another meter.

    Arguments without a hash, such as balls that are not exact, are computed anew.
    """
    key = (function, *arguments)
    try:
        earlier = _charged.get(key)
    except (TypeError, ValueError):
        return function(*arguments)
    paid = _meters[-1].paid if _meters else set()
    if earlier is not None:
        value, work = earlier
        spend(0 if key in paid else work)
        paid.add(key)
        return cast("T", value)
    meter = Meter(UNLIMITED)
    with meter.running():
        result = function(*arguments)
    if len(_charged) >= _MOST_CHARGED:
        _charged.clear()
    _charged[key] = (result, UNLIMITED - meter.left)
    paid.add(key)
    return result


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
