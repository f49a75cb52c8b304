"""What it is measured on: processor, cores, memory, and how busy it is. Nothing heavy is imported."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from time import perf_counter


class Watch:
    """How long something takes, and what other processes do meanwhile."""

    def __init__(self) -> None:
        self.load = load()
        self._begin, self._all, self._own = perf_counter(), _all_seconds(), _own_seconds()

    def seconds(self) -> float:
        """Seconds since it was made."""
        return perf_counter() - self._begin

    def others(self) -> float | None:
        """Cores that other processes kept busy since, in the mean; None where the system does not tell."""
        now = _all_seconds()
        if now is None or self._all is None:
            return None
        spent = now - self._all - (_own_seconds() - self._own)
        return round(max(spent, 0.0) / max(self.seconds(), 1e-9), 3)


def machine() -> dict[str, str]:
    """Kind of machine, without its name: system, architecture, cores; processor and memory where the system tells."""
    from dpverify.harness.run import manifest

    description = manifest.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        description |= {"processor": names[0]} if names else {}
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        description["memory"] = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
    return description


def load() -> float:
    """Processes that wanted a core, mean of the last minute; 0 where the system does not tell."""
    with suppress(OSError, AttributeError):
        return os.getloadavg()[0]
    return 0.0


def _own_seconds() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _all_seconds() -> float | None:
    """Processor seconds of everything on this machine, what a hypervisor took from it included."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    ticks = [int(word) for word in words[1:9]]  # user nice system idle iowait irq softirq steal
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
