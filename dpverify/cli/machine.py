"""What this process may use."""

from __future__ import annotations

import gc

from dpverify.bench.cores import usable_cores

__all__ = ["collect_seldom", "usable_cores"]


def collect_seldom() -> None:
    """Let Python look for reference cycles less often: sympy makes many objects and few cycles."""
    gc.set_threshold(50_000, 20, 20)
