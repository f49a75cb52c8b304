"""Pools of processes leave none behind, and touch no others."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from dpverify.processes import process_pool
from tests.unit.alive import is_alive

LONG = 600.0
"""Seconds of work that nobody waits for."""


def test_processes_are_waited_for_and_end_by_themselves(tmp_path: Path) -> None:
    mark = tmp_path / "done"
    with process_pool(1, wait=True) as pool:
        pid = pool.submit(os.getpid).result()
        _under_way(pool.submit(_work, mark, 0.5))
    assert mark.exists(), "what was under way was not cut off"
    assert pid not in _children()


def test_they_look_for_reference_cycles_seldom() -> None:
    with process_pool(1, wait=True) as pool:
        assert pool.submit(gc.get_threshold).result() == (300_000, 20, 20)


@pytest.mark.parametrize("wait", [True, False])
def test_an_exception_ends_processes_at_work_and_no_others(wait: bool, tmp_path: Path) -> None:
    with process_pool(1, wait=False) as other:
        first = other.submit(os.getpid).result()
        with suppress(KeyboardInterrupt), process_pool(1, _work, (tmp_path / "early", 0.0), wait=wait) as pool:
            second = pool.submit(os.getpid).result()
            _under_way(pool.submit(_work, tmp_path / "late", LONG))
            raise KeyboardInterrupt
        _gone(second)
        assert first in _children()
        assert other.submit(os.getpid).result() == first
    _gone(first)
    assert (tmp_path / "early").exists()
    assert not (tmp_path / "late").exists()


def test_processes_at_work_are_ended_where_nobody_waits(tmp_path: Path) -> None:
    with process_pool(1, wait=False) as pool:
        pid = pool.submit(os.getpid).result()
        _under_way(pool.submit(_work, tmp_path / "late", LONG))
    _gone(pid)
    assert not (tmp_path / "late").exists()


def _work(mark: Path, seconds: float) -> None:
    time.sleep(seconds)
    mark.touch()


def _under_way(future: Future[None]) -> None:
    while not future.running():
        time.sleep(0.01)


def _children() -> set[int | None]:
    return {child.pid for child in multiprocessing.active_children()}


def _gone(pid: int) -> None:
    """Fail if the process does not end soon."""
    for child in multiprocessing.active_children():
        if child.pid == pid:
            child.join(10)
    assert pid not in _children()


def test_processes_never_see_an_interrupt() -> None:
    mine = _blocked()
    with process_pool(1, _interrupt_me, wait=True) as pool:
        assert pool.submit(_blocked).result() == mine | {signal.SIGINT}
    assert _blocked() == mine


def _interrupt_me() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _blocked() -> set[int]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


PARENT = """
import os, time
from dpverify.processes import process_pool

if __name__ == "__main__":
    with process_pool(1, wait=False) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600)
        time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_when_the_one_that_started_them_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(how)
        assert parent.wait(60) == -how
    for _ in range(600):
        if not is_alive(worker):
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived the process that started it")
