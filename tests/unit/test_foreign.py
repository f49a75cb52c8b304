"""Foreign code: every way in which it ends is an error that names it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from dpverify.apart import run_apart
from dpverify.foreign import ForeignError, foreign_code, interrupts_recorded

ERRORS = (SystemExit(0), GeneratorExit(), StopIteration(1), MemoryError(), KeyError("a"), KeyboardInterrupt())


@pytest.mark.parametrize("error", ERRORS, ids=repr)
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
    with pytest.raises(KeyboardInterrupt), foreign_code("step"):  # nobody recorded what a person did
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
    if do == "crash":
        raise ZeroDivisionError("planted")
    yield "after"


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("leave", "their code ended its process with exit code 0"),
        ("exit", "their code raised SystemExit: 0"),
        ("kill", "their code ended its process by signal 9"),
        ("hang", "their code did not return within 2 s"),
        ("interrupt", "their code raised KeyboardInterrupt"),
    ],
)
def test_code_that_runs_apart_cannot_end_or_stop_its_parent(do: str, message: str) -> None:
    run = run_apart(2.0, calls, do)
    assert next(run) == "before"
    with pytest.raises(ForeignError, match=message):
        next(run)


def test_what_runs_apart_gives_its_values_and_its_errors() -> None:
    assert list(run_apart(60.0, calls, "")) == ["before", "after"]
    assert list(run_apart(0.0, calls, "")) == ["before", "after"]
    with pytest.raises(ZeroDivisionError, match="planted") as caught:
        list(run_apart(60.0, calls, "crash"))
    assert "in calls" in "".join(caught.value.__notes__)
