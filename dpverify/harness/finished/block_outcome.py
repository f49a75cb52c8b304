"""What one block of a check gave; it is read without what checks need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BlockOutcome:
    """What one block gave."""

    part: Any  # the block's part; None after an error
    seconds: float  # core seconds, roughly
    error: str = ""  # empty, or what went wrong, with its place in our code
    compiling: float = 0.0  # seconds of these in which kernels were compiled
