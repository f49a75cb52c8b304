from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from dpverify.cli.progress import progress_on_stderr
from dpverify.harness.run.engine import Progress

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


def test_an_interrupt_that_python_would_drop_comes_after_the_next_block(during_collection: Callable[[], None]) -> None:
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
