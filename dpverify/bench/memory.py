"""The memory that a call adds at its peak, over what was resident before it."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

from dpverify.bench.case import Form

_STATUS, _REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def added_memory(form: Form) -> int | None:
    """Bytes that a call adds to this process's resident memory at its peak, exact to some pages.

    It must have been called before, so that its kernels are compiled. None where the system has no peak to set back.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # return freed memory to the system, so that the call cannot hide in it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _REFS.write_text("5")
    except OSError:
        return None
    before = _field("VmRSS")
    form()
    return max(_field("VmHWM") - before, 0)


def _field(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
