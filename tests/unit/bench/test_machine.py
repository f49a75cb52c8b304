"""What it is measured on, with a clock and counters of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpverify.bench import run as machine
from dpverify.bench.run import Watch
from dpverify.processes import usable_cores


def test_cores_are_those_that_this_process_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda pid: {0: {4, 7, 9}}[pid], raising=False
    )
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_others_are_what_all_spent_but_we_by_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, everything, own = (
        iter([10.0, 14.0, 18.0]),
        iter([100.0, 110.0, 111.0]),
        iter([1.0, 5.0, 9.0]),
    )
    monkeypatch.setattr(machine, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(machine, "_machine_seconds", lambda: next(everything))
    monkeypatch.setattr(machine, "_process_seconds", lambda: next(own))
    watch = Watch()
    assert watch.load_by_others() == 1.5  # (10 - 4)/4
    assert watch.load_by_others() == 0.375  # (11 - 8)/8


def test_all_seconds_leave_out_those_in_which_nothing_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tick = os.sysconf("SC_CLK_TCK")
    line = " ".join(str(tick * each) for each in (1, 2, 4, 1000, 5000, 8, 16, 32))
    monkeypatch.setattr(
        Path, "read_text", lambda self: f"cpu  {line} 64 128\ncpu0 1 1\n"
    )
    assert machine._machine_seconds() == 1 + 2 + 4 + 8 + 16 + 32


def test_the_load_is_the_mean_of_the_last_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 1.5, 2.5))
    assert machine.load() == 0.5
    monkeypatch.delattr(os, "getloadavg")
    assert machine.load() == 0.0
