from __future__ import annotations

import gc
import io
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest
from rich.console import Console

from dpverify.cli.progress import MAX_SHOWN, progress_on_stderr
from dpverify.harness.run.engine import Progress
from dpverify.ledger.check_results import CheckResult
from dpverify.report.text import console as console_module

ONE_OF_TWO = Progress(1, 2, "a check")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def during_collection() -> Iterator[Callable[[], None]]:
    """Collect garbage, with a Ctrl-C while a callback of the collector runs."""

    def callback(phase: str, info: object) -> None:
        del info
        if phase == "start":
            interrupt()

    def collect() -> None:
        gc.callbacks.append(callback)
        gc.collect()
        gc.callbacks.remove(callback)

    yield collect
    if callback in gc.callbacks:
        gc.callbacks.remove(callback)


def test_an_interrupt_that_python_would_drop_comes_after_the_next_block(
    during_collection: Callable[[], None],
) -> None:
    before = signal.getsignal(signal.SIGINT)
    with progress_on_stderr() as show:
        show(ONE_OF_TWO)
        during_collection()
        with pytest.raises(KeyboardInterrupt):
            show(ONE_OF_TWO)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_interrupts_come_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), progress_on_stderr():
        interrupt()
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupts_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with progress_on_stderr() as show:
            interrupt()
            show(ONE_OF_TWO)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What stderr shows as a terminal."""
    shown = io.StringIO()
    monkeypatch.setattr(
        console_module,
        "Console",
        partial(Console, file=shown, force_terminal=True, width=400),
    )
    return shown


def test_refutations_are_told_as_soon_as_they_are_there_and_what_was_decided(
    terminal: io.StringIO,
) -> None:
    found = CheckResult(
        name="search", method="search", status="refuted", message="at n = 1 it is 2"
    )
    with progress_on_stderr() as show:
        for k in range(MAX_SHOWN + 2):
            for check in ("search", "another"):
                show(
                    Progress(
                        k, 40, f"demo:claim-{k}[printed|{check}]", found, compiling=3.2
                    )
                )
        show(
            Progress(
                MAX_SHOWN + 2,
                40,
                "demo:last[printed|search]",
                msgspec.structs.replace(found, status="proved"),
            )
        )
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    lines = re.findall(
        r"refuted so far: demo:claim-(\d+)\[printed\|\w+\]: at n = 1 it is 2", told
    )
    assert lines == [str(k) for k in range(MAX_SHOWN)]
    assert (
        f"1 proved, {2 * MAX_SHOWN + 4} refuted; 0 s went into compiling; demo:last[printed|search]"
        in told
    )
