"""Bad data, in one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOST_CLASSES: Final = 1000
"""Classes that a data set may have."""


class DataError(ValueError):
    """A data set that cannot be used; ``str(error)`` is one line that names the source, the value and the rule."""

    def __init__(self, source: Path | str, message: str) -> None:
        super().__init__(" ".join(f"{source}: {message}".split()))


def available_bytes() -> int:
    """Bytes of memory that are free for us: what the system calls available, within the limit of the control group."""
    limits: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.extend(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # another system, no control group, or its limit is the word "max"
        pass
    if not limits and hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=4 << 30)


def human_bytes(count: float) -> str:
    """Write a number of bytes for people, such as ``31.9 GB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def check_needed(source: Path | str, what: str, needed: float, limit: int) -> None:
    """Refuse ``what``, which needs so many bytes, where there are fewer."""
    if needed > limit:
        words = f"{what} need {human_bytes(needed)} of memory, more than the {human_bytes(limit)} available."
        raise DataError(source, words)


def check_memory(source: Path | str, rows: int, columns: int, limit: int) -> None:
    """Refuse a dense matrix that does not fit, before it is made."""
    check_needed(source, f"{rows} examples with {columns} features", 3 * 8 * rows * columns, limit)
