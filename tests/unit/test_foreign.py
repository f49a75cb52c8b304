"""Foreign code: every way in which it ends is an error that names it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from dpverify import apart
from dpverify.apart import run_apart
from dpverify.foreign import ForeignError, foreign_code, interrupts_recorded
from dpverify.processes import ProcessStartError
from tests.for_each import for_each
from tests.unit.alive import is_alive

ERRORS = (
    SystemExit(0),
    GeneratorExit(),
    StopIteration(1),
    MemoryError(),
    KeyError("a"),
    KeyboardInterrupt(),
)


@for_each("error", ERRORS, ids=repr)
def test_whatever_is_raised_becomes_an_error_with_a_name(error: BaseException) -> None:
    with (
        interrupts_recorded(),
        pytest.raises(ForeignError, match=f"^step raised {type(error).__name__}"),
        foreign_code("step"),
    ):
        raise error


def test_ctrl_c_stays_what_it_is() -> None:
    with interrupts_recorded(), pytest.raises(KeyboardInterrupt), foreign_code("step"):
        os.kill(os.getpid(), signal.SIGINT)
    # nobody recorded what a person did
    with pytest.raises(KeyboardInterrupt), foreign_code("step"):
        raise KeyboardInterrupt
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def calls(do: str) -> Iterator[str]:
    yield "before"
    with foreign_code("their code"):
        match do:
            case "leave":
                os._exit(0)
            case "exit":
                sys.exit(0)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                ctypes.PyDLL(None).sleep(600)
            case "interrupt":
                raise KeyboardInterrupt
            case "answer":
                apart._writer.send(("done", None))
                os._exit(0)
            case "replace":
                vars(np.linalg)["norm"] = np.linalg.det
    if do == "crash":
        raise ZeroDivisionError("planted")
    yield "after"


@for_each(
    ("do", "message"),
    [
        ("leave", "their code ended its process with exit code 0"),
        ("exit", "their code raised SystemExit: 0"),
        ("kill", "their code ended its process by signal 9"),
        ("hang", "their code did not return within 2 s"),
        ("interrupt", "their code raised KeyboardInterrupt"),
        ("answer", "their code ended the tests that judge it"),
    ],
)
def test_code_that_runs_apart_cannot_end_or_stop_its_parent(
    do: str, message: str
) -> None:
    run = run_apart(2.0, calls, do)
    assert next(run) == "before"
    with pytest.raises(ForeignError, match=message):
        next(run)


def test_code_that_replaces_functions_that_judge_it_is_named_though_all_values_are_there() -> (
    None
):
    run = run_apart(60.0, calls, "replace")
    assert [next(run), next(run)] == ["before", "after"]
    with pytest.raises(ForeignError, match=r"replaced numpy\.linalg\.norm"):
        next(run)


@for_each(
    ("line", "message"),
    [
        ("exec sleep 600", "did not start within 1 s"),
        ("kill -STOP $$", "did not start within 1 s"),
        ("kill -KILL $$", "ended by signal 9 before it had started"),
        ("exit 0", "ended with exit code 0 before it had started"),
    ],
)
def test_a_process_that_does_not_start_is_named(
    line: str,
    message: str,
    child_program: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "START_SECONDS", 1.0)
    child_program(line)
    with pytest.raises(ProcessStartError, match=message):
        list(run_apart(60.0, calls, ""))


def copies() -> Iterator[int]:
    with foreign_code("their code"):
        os.fork()
    yield 1


def leaves_a_child(pid: Path) -> Iterator[int]:
    with foreign_code("their code"):
        if (child := os.fork()) == 0:
            time.sleep(600)
        pid.write_text(str(child))
    yield 1


def test_copies_and_children_of_a_process_do_not_answer_or_stay(tmp_path: Path) -> None:
    assert list(run_apart(60.0, copies)) == [1]
    pid = tmp_path / "pid"
    assert list(run_apart(60.0, leaves_a_child, pid)) == [1]
    for _ in range(600):
        if not is_alive(int(pid.read_text())):
            return
        time.sleep(0.1)
    pytest.fail("a process outlived the one that foreign code started it in")


class Mute(Exception):  # noqa: N818
    """An exception whose own code fails."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_exception_without_a_message_is_named() -> None:
    with (
        pytest.raises(
            ForeignError,
            match=r"^step raised Mute: \(its message raised ZeroDivisionError\)",
        ),
        foreign_code("step"),
    ):
        raise Mute


def test_what_runs_apart_gives_its_values_and_its_errors() -> None:
    assert list(run_apart(60.0, calls, "")) == ["before", "after"]
    assert list(run_apart(0.0, calls, "")) == ["before", "after"]
    with pytest.raises(ZeroDivisionError, match="planted") as caught:
        list(run_apart(60.0, calls, "crash"))
    assert "in calls" in "".join(caught.value.__notes__)
