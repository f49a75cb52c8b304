"""What this process may use."""

from __future__ import annotations

import atexit
import gc

from dpverify.bench.cores import usable_cores

__all__ = ["collect_seldom", "usable_cores"]


def collect_seldom() -> None:
    """Let Python look for reference cycles less often, and not once more when it ends: sympy makes few among many."""
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
