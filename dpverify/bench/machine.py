"""What it is measured on: the kind of processor, its cores, its memory, and how busy it is."""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path
from time import perf_counter

from dpverify.harness.run import manifest

_CPUINFO, _STAT = Path("/proc/cpuinfo"), Path("/proc/stat")


class Watch:
    """How long something takes, and what other processes do meanwhile."""

    def __init__(self) -> None:
        self.load = load()
        self._begin, self._all, self._own = perf_counter(), _all_seconds(), _own_seconds()

    def seconds(self) -> float:
        """Seconds since it was made."""
        return perf_counter() - self._begin

    def others(self) -> float | None:
        """Cores that processes other than this one and its ended children kept busy since, in the mean.

        None where the system does not tell.
        """
        now = _all_seconds()
        if now is None or self._all is None:
            return None
        spent = now - self._all - (_own_seconds() - self._own)
        return round(max(spent, 0.0) / max(self.seconds(), 1e-9), 3)


def machine() -> dict[str, str]:
    """Kind of machine, without its name.

    System, architecture, cores, and where the system tells: processor and memory.
    """
    found = manifest.machine()
    processor = _processor()
    if processor:
        found["processor"] = processor
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        found["memory"] = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
    return found


def load() -> float:
    """Processes that wanted a core, mean of the last minute. NaN-free: 0 where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return 0.0


def _processor() -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _own_seconds() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _all_seconds() -> float | None:
    """Processor seconds of everything on this machine, what a hypervisor took from it included."""
    try:
        words = _STAT.read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    ticks = [int(word) for word in words[1:9]]  # user nice system idle iowait irq softirq steal
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
