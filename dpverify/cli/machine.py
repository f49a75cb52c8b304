"""How this process keeps house."""

from __future__ import annotations

import atexit
import gc


def collect_seldom() -> None:
    """Let Python look for reference cycles less often, and not once more when it ends: sympy makes few among many."""
    gc.set_threshold(300_000, 20, 20)
    atexit.register(gc.freeze)
