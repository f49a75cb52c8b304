"""What this process may use. Nothing heavy is imported: the command line asks too."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Count the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
