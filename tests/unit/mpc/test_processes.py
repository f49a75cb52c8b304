"""Child processes of parties: what they write, and how all end once one has failed, died, or was stopped.

Time is a counter here: nothing depends on how fast the machine is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from dpverify.mpc.fixed_point import PartyError
from dpverify.mpc.processes import PartyProcesses, python_command
from tests.for_each import for_each

READS = "import sys; exec(sys.stdin.buffer.read().strip(b' '))"
STOPS = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
HANGS = "import time; time.sleep(10**6)"
WRITES = "print('line 1', flush=True); print('line 2', flush=True)"
FAILS = "print('Traceback', file=sys.stderr); print('party 1 has a NaN', file=sys.stderr); raise SystemExit(2)"
PAD = b" " * (1 << 20)  # more than a pipe holds


def run(
    programs: Sequence[str], code: str = READS, step: int = 100
) -> list[list[bytes]]:
    """Run a program in each party; no process is left."""
    ticks = count(step=step)

    def clock() -> float:
        """Stand still until all have ended or stopped that do so by themselves."""
        still = sum(
            party.process.poll() is None and not party.is_stopped
            for party in processes.parties
        )
        if still > sum(
            HANGS in program for program in programs if STOPS not in program
        ):
            return 0.0
        time = next(ticks)
        assert time <= 50 * step, "the run continues long after its time limits"
        return time

    with PartyProcesses(len(programs), code, 30.0, clock) as processes:
        processes.feed([program.encode() + PAD for program in programs])
        try:
            return list(processes.lines())
        finally:
            processes.__exit__()
            assert all(
                party.process.returncode is not None for party in processes.parties
            )


def test_all_read_what_they_are_fed_and_their_lines_come_together() -> None:
    assert run([WRITES] * 3, step=0) == [[b"line 1"] * 3, [b"line 2"] * 3]


@for_each(
    ("programs", "words"),
    [
        ([HANGS, FAILS, HANGS], "party 1 has a NaN"),
        ([FAILS, FAILS, "raise SystemExit('another reason')"], "party 1 has a NaN"),
        ([HANGS, "raise SystemExit(3)", HANGS], "party 1 died, with exit code 3"),
        (
            [HANGS, "import os; os.kill(os.getpid(), 9)", HANGS],
            "party 1 died, with exit code -9",
        ),
        ([HANGS, STOPS, HANGS], "party 1 was stopped for 30 s"),
        ([STOPS, STOPS, STOPS], "party 0 was stopped for 30 s"),
        (
            [WRITES + "; " + HANGS, WRITES + "; " + STOPS, WRITES + "; " + HANGS],
            "party 1 was stopped for 30 s",
        ),
        (
            [WRITES, WRITES, WRITES + "; " + HANGS],
            "party 2 did not end within 40 s of the others",
        ),
        ([FAILS, STOPS, HANGS], "party 1 (has a NaN|was stopped for 30 s)"),
    ],
)
def test_all_are_ended_once_one_has_failed_or_was_stopped(
    programs: list[str], words: str
) -> None:
    with pytest.raises(PartyError, match=f"^{words}$"):
        run(programs)


@for_each("code", [STOPS, HANGS + "; " + READS])
def test_nobody_waits_for_a_party_that_does_not_read(code: str) -> None:
    """Its input is more than a pipe holds."""
    with PartyProcesses(2, code, 30.0, count(step=100).__next__) as processes:
        processes.feed([PAD, PAD])
        if code != STOPS:
            os.kill(processes.parties[1].process.pid, 9)
        words = (
            "party [01] was stopped for 30 s"
            if code == STOPS
            else "party 1 died, with exit code -9"
        )
        with pytest.raises(PartyError, match=f"^{words}$"):
            list(processes.lines())


def test_a_party_that_goes_on_after_a_stop_is_not_at_fault() -> None:
    """Party 1 stops itself, and party 0 lets it go on; the clock stands still."""
    with PartyProcesses(2, READS, 30.0, lambda: 0.0) as processes:
        pid = processes.parties[1].process.pid
        goes_on = (
            "import os, signal, time\n"
            f"while open('/proc/{pid}/stat').read().rpartition(') ')[2][0] != 'T': time.sleep(0.01)\n"
            f"os.kill({pid}, signal.SIGCONT)\n" + WRITES
        )
        processes.feed([goes_on.encode(), f"{STOPS}\n{WRITES}".encode()])
        assert list(processes.lines()) == [[b"line 1"] * 2, [b"line 2"] * 2]


def test_a_child_finds_dpverify_and_no_module_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    command = python_command(
        "import json, dpverify.mpc.fixed_point; print(sys.argv[1:])", "word"
    )
    assert command[:2] == [sys.executable, "-P"]
    assert run(
        ["import json, dpverify.mpc.fixed_point; print(sys.flags.safe_path)"], step=0
    ) == [[b"True"]]
