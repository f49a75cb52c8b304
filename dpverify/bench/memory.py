"""The memory that a call adds at its peak, over what was resident before it."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

from dpverify.bench.case import Form

_STATUS, _REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def added_memory(form: Form) -> int:
    """Bytes that a call adds to this process's resident memory at its peak.

    The form is called once before, so that kernels are compiled and what it keeps for ever is there. Where the system
    can set its peak counter back (Linux), the difference is exact to some pages; elsewhere it is what the second call
    adds to the peak of the first, which may be nothing.
    """
    form()
    peak = AddedPeak()
    form()
    return peak.read()


class AddedPeak:
    """The memory that is added at the peak from here on; for a form too slow to be called once more for it alone."""

    def __init__(self) -> None:
        gc.collect()
        _give_back()
        self._exact = _reset_peak()
        self._before = _field("VmRSS") if self._exact else _peak_of_process()

    def read(self) -> int:
        """Bytes added since, at the peak; at least 0."""
        return max((_field("VmHWM") if self._exact else _peak_of_process()) - self._before, 0)


def can_measure_memory() -> bool:
    """Whether the system can set the peak of this process back, without which only a fresh process tells anything."""
    return _reset_peak()


def _give_back() -> None:
    """Return freed memory to the system, so that the next call cannot hide in it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    try:
        _REFS.write_text("5")
    except OSError:
        return False
    return _STATUS.is_file()


def _field(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def _peak_of_process() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
