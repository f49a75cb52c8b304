"""What this process may use."""

from __future__ import annotations

from dpverify.bench.cores import usable_cores

__all__ = ["usable_cores"]
