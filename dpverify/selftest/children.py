"""Processes that run Python modules in copies of the checkout, begun from one that has loaded the libraries already."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

LIBRARIES = ("flint", "mpmath", "msgspec", "numba", "numpy", "pytest", "scipy.special", "sympy")
"""What most of them load, which takes as long as many a test."""

LAUNCHER = """
import contextlib, importlib, json, os, runpy, sys, threading, time, warnings
if sys.platform == "linux":  # elsewhere it is not safe to fork after that
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # who needs it will say so
            importlib.import_module(name)
parent = os.getppid()
for line in sys.stdin:
    with warnings.catch_warnings(action="ignore"):  # of the threads that numpy may have begun, which stay behind
        child = os.fork()
    if not child:
        break
    os.setpgid(child, child)
    print(child, flush=True)
    ended = 0
    while not ended:
        if os.getppid() != parent:
            sys.exit()
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    sys.exit()

folder, *sys.argv = json.loads(line)
for stream in (0, 1):
    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
os.chdir(folder)
os.environ["PYTHONPATH"] = folder
sys.path.insert(0, folder)
def watch(launcher):
    while os.getppid() == launcher:
        time.sleep(1)
    os.killpg(0, 9)
threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs modules as ``python -m`` does, each in a process of its own, whose number and exit code it says.

It has loaded the libraries that are its arguments. It ends when whoever started it has ended, and then a child does,
with all of its group.
"""


class Children:
    """Processes under way: one ends when its time is over, and all of them when a run is over or broken off."""

    def __init__(self) -> None:
        self._lock, self._live, self.ended = Lock(), set[int](), False
        self._launchers = list[subprocess.Popen[bytes]]()  # that have no child

    def run(self, folder: Path, words: Sequence[str], until: float) -> int | None:
        """Run a Python module in a copy until a time; its exit code, None where the time was over."""
        with self._lock:
            if self.ended or time.monotonic() > until:
                return None
            launcher = self._launchers.pop() if self._launchers else _launcher()
            self._live.add(launcher.pid)
        requests = launcher.stdin
        replies = launcher.stdout
        assert requests is not None, "a pipe"
        assert replies is not None, "a pipe"
        code = b""
        in_time = True
        mine = {launcher.pid}
        with suppress(OSError, ValueError):  # all are ended, or the launcher has died
            requests.write(json.dumps([str(folder), *words]).encode() + b"\n")
            mine.add(child := int(replies.readline()))
            with self._lock:
                self._live |= mine
            in_time = bool(select.select([replies], [], [], max(until - time.monotonic(), 0.1))[0])
            _end(child)  # and what it has begun
            code = replies.readline()
        with self._lock:
            self._live -= mine
            if code and not self.ended:
                self._launchers.append(launcher)
            else:
                _close(launcher)
        return int(code or -signal.SIGKILL) if in_time else None

    def end(self) -> None:
        """End all that is under way, and start no more."""
        with self._lock:
            self.ended = True
            for pid in self._live:
                _end(pid)
            while self._launchers:
                _close(self._launchers.pop())


def _launcher() -> subprocess.Popen[bytes]:
    """Begin a launcher, whose children keep compiled kernels beside the sources of the copy that they work in."""
    removed_variables = {"NUMBA_CACHE_DIR", "PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONSAFEPATH"}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", LAUNCHER, *LIBRARIES],
        env={name: value for name, value in os.environ.items() if name not in removed_variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _close(launcher: subprocess.Popen[bytes]) -> None:
    with launcher:  # which closes both pipes, and waits
        launcher.kill()


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
