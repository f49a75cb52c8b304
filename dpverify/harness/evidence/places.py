"""Where a file registers a check: the hash of its evidence covers this line, and not the checks beside it."""

from __future__ import annotations

import sys
from typing import NamedTuple


class CheckPlace(NamedTuple):
    """Position of a check among the arguments of the call that adds it; without a line, all of the module counts."""

    module: str
    line: int = 0
    argument: int = 0  # its number
    arguments: int = 0  # how many there are


def first_line(module: str) -> int:
    """Line of a module that is being executed now, whoever it called meanwhile; 0 where it is not being imported."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == module:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has none
    return 0
