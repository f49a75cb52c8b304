"""The outcome of one block of a check. Reading it loads no code of checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BlockOutcome:
    """The outcome of one block."""

    part: Any  # the block's part; None after an error
    seconds: float  # core seconds, roughly
    error: str = ""  # empty, or what went wrong, with its place in our code
    compiling: float = 0.0  # seconds of these in which kernels were compiled
