"""Modules that run in copies: nothing once a run has ended or its time is over, and nobody outlives who began it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from dpverify.selftest.detection import Children
from tests.unit.alive import is_alive

SAYS = """
import json, os, pathlib, subprocess, sys
import beside
other = subprocess.Popen(["sleep", "60"])
kept = [name for name in ("NUMBA_CACHE_DIR", "PYTEST_ADDOPTS") if name in os.environ]
words = [__name__, *sys.argv[1:], *kept, beside.__file__, os.environ["PYTHONPATH"]]
words += [os.getpid(), os.getppid(), other.pid]
pathlib.Path("new").write_text(json.dumps(words))
pathlib.Path("new").rename("said")
if sys.argv[1] == "wait":
    other.wait()
sys.exit(3)
"""


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--nothing-of-the-kind")
    monkeypatch.setattr(
        "dpverify.selftest.detection.LIBRARIES", ("pytest", "no_such_library")
    )
    (tmp_path / "says.py").write_text(SAYS)
    (tmp_path / "beside.py").write_text("")
    found = Children()
    yield found
    found.end()


@pytest.mark.parametrize(
    ("ended", "seconds", "runs"),
    [(False, 30.0, True), (True, 30.0, False), (False, -1.0, False)],
)
def test_nothing_begins_after_the_end_or_after_its_time(
    ended: bool, seconds: float, runs: bool, children: Children, tmp_path: Path
) -> None:
    if ended:
        children.end()
    assert children.run(tmp_path, ["says", ""], time.monotonic() + seconds) == (
        3 if runs else None
    )
    assert (tmp_path / "said").exists() == runs


def test_one_launcher_runs_them_as_python_does_and_leaves_nothing_of_theirs(
    children: Children, tmp_path: Path
) -> None:
    said = []
    for word in ("a", "b"):
        assert children.run(tmp_path, ["says", word], time.monotonic() + 30.0) == 3
        said.append(json.loads((tmp_path / "said").read_text()))
    (*same, first, launcher, other), (*_, second, again, another) = said
    assert same == ["__main__", "a", str(tmp_path / "beside.py"), str(tmp_path)]
    assert launcher == again
    assert first != second
    waited_for(lambda: not is_alive(other) and not is_alive(another))


def test_one_that_takes_too_long_is_ended_with_what_it_began_and_the_next_one_runs(
    children: Children, tmp_path: Path
) -> None:
    assert children.run(tmp_path, ["says", "wait"], time.monotonic() + 1.0) is None
    *_, child, _, other = json.loads((tmp_path / "said").read_text())
    waited_for(lambda: not is_alive(child) and not is_alive(other))
    assert children.run(tmp_path, ["says", ""], time.monotonic() + 30.0) == 3


@pytest.mark.parametrize("by", ["end", "kill"])
def test_who_waits_goes_on_where_a_run_is_broken_off_and_where_the_launcher_dies(
    by: str, children: Children, tmp_path: Path
) -> None:
    codes: list[int | None] = []
    waits = Thread(
        target=lambda: codes.append(
            children.run(tmp_path, ["says", "wait"], time.monotonic() + 60.0)
        )
    )
    waits.start()
    waited_for((tmp_path / "said").exists)
    *_, child, launcher, other = json.loads((tmp_path / "said").read_text())
    if by == "end":
        children.end()
    else:
        os.kill(launcher, signal.SIGKILL)
    waits.join()
    assert codes == [-signal.SIGKILL]
    waited_for(lambda: not any(is_alive(pid) for pid in (child, launcher, other)))


def test_children_end_with_who_started_them(children: Children, tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from dpverify.selftest.detection import Children;"
    code += "Children().run(Path(sys.argv[1]), ['says', 'wait'], time.monotonic() + 60)"
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    try:
        waited_for((tmp_path / "said").exists)
    finally:
        parent.kill()
        parent.wait()
    pids = json.loads((tmp_path / "said").read_text())[-3:]
    waited_for(lambda: not any(is_alive(pid) for pid in pids))


def waited_for(done: Callable[[], bool]) -> None:
    for _ in range(1200):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it took a minute")
