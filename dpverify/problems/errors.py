"""Errors about data, and limits on memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOST_CLASSES: Final = 1000
"""Largest number of classes of a data set."""


class DataError(ValueError):
    """A data set cannot be used; ``str(error)`` is one line that names the source, the value and the rule."""

    def __init__(self, source: Path | str, message: str) -> None:
        super().__init__(" ".join(f"{source}: {message}".split()))


def available_bytes() -> int:
    """Return the bytes of memory that the operating system reports as available, at most the limit of the cgroup."""
    limits: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.extend(
            int(line.split()[1]) * 1024
            for line in lines
            if line.startswith("MemAvailable:")
        )
        limits.append(
            int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        )
    except (
        OSError,
        ValueError,
    ):  # not Linux, no cgroup, or the limit is the word "max"
        pass
    if not limits and hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=4 << 30)


def human_bytes(count: float) -> str:
    """Return a number of bytes as text, such as ``31.9 GB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def check_needed(source: Path | str, what: str, needed: float, limit: int) -> None:
    """Raise a DataError if ``what`` needs more bytes than ``limit``."""
    if needed > limit:
        words = f"{what} need {human_bytes(needed)} of memory, more than the {human_bytes(limit)} available."
        raise DataError(source, words)


def check_memory(source: Path | str, rows: int, columns: int, limit: int) -> None:
    """Raise a DataError if a dense matrix of this shape would not fit in memory."""
    check_needed(
        source,
        f"{rows} examples with {columns} features",
        3 * 8 * rows * columns,
        limit,
    )
