"""Pools of processes leave none behind, and touch no others."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

import pytest

from dpverify.processes import process_pool, read_spooled, spool
from tests.for_each import for_each
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


@for_each("wait", [True, False])
def test_an_exception_ends_processes_at_work_and_no_others(
    wait: bool, tmp_path: Path
) -> None:
    with process_pool(1, wait=False) as other:
        first = other.submit(os.getpid).result()
        with (
            suppress(KeyboardInterrupt),
            process_pool(1, _work, (tmp_path / "early", 0.0), wait=wait) as pool,
        ):
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


@for_each("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_when_the_one_that_started_them_is_killed(
    how: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True
    ) as parent:
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


LARGE = ("x" * 1_000_000,)  # more than a pipe holds


@pytest.mark.parametrize("line", ["exit 0", "kill -9 $$", "exec sleep 600"])
def test_a_child_that_never_reads_blocks_nobody(
    line: str, child_program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["dpverify", "x" * 1_000_000])
    child_program(line)
    with (
        spool(LARGE) as file,
        process_pool(1, read_spooled, (file,), wait=False) as pool,
    ):
        future = pool.submit(os.getpid)
        if "sleep" not in line:
            assert isinstance(future.exception(60), BrokenProcessPool)
    assert sys.argv[1:] == ["x" * 1_000_000]


def test_a_worker_that_is_killed_while_it_answers_is_missed() -> None:
    with process_pool(1, wait=False) as pool:
        assert isinstance(
            pool.submit(_die_while_answering).exception(60), BrokenProcessPool
        )


def _die_while_answering() -> None:
    """Write the length of an answer where the pool's own loop would, and end."""
    queue = sys._getframe(1).f_locals["result_queue"]
    os.write(queue._writer.fileno(), struct.pack("!i", 1000))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_large_value_is_read_by_a_child_and_its_file_is_removed() -> None:
    with spool(LARGE) as file:
        assert Path(file).stat().st_mode & 0o077 == 0
        with process_pool(1, wait=True) as pool:
            assert pool.submit(read_spooled, file).result() == LARGE
    assert not Path(file).exists()


FOREIGN_MODULES = """
from dpverify.processes import process_pool

if __name__ == "__main__":
    with process_pool(1, wait=False) as pool:
        print(pool.submit(len, "four").result(60), flush=True)
"""


@for_each("name", ["multiprocessing", "signal", "pickle", "concurrent"])
def test_a_file_of_the_working_folder_is_not_imported_by_a_child(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "working"
    folder.mkdir()
    (folder / f"{name}.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'w').close()\n", encoding="utf-8"
    )
    script = tmp_path / "parent.py"
    script.write_text(FOREIGN_MODULES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")
    assert not (tmp_path / "imported").exists()


def test_the_safe_path_of_a_child_is_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for safe in (None, "1"):
        if safe is None:
            monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        else:
            monkeypatch.setenv("PYTHONSAFEPATH", safe)
        with process_pool(1, wait=True) as pool:
            assert pool.submit(os.getenv, "PYTHONSAFEPATH").result() == safe
        assert os.environ.get("PYTHONSAFEPATH") == safe
