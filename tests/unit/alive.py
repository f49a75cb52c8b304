"""Whether a process lives, for tests of what must end with another."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether a process that nobody here waits for is still there; one that has ended and is not yet buried is not."""
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    return False
