"""How far a run is, on stderr, where somebody can see it."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars

from dpverify.report.terminal import bar_on_stderr

if TYPE_CHECKING:
    from types import FrameType

    from dpverify.harness.run.engine import Progress


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show how far a run is. To be called after each block; it raises KeyboardInterrupt where a Ctrl-C was lost."""
    with _interrupts_kept() as raise_lost, bar_on_stderr(bars.MofNCompleteColumn()) as bar:
        task = bar.add_task("loading the kernels and the algebra", total=None)

        def show(progress: Progress) -> None:
            raise_lost()
            bar.update(task, completed=progress.done, total=progress.total, description=progress.label)

        yield show


@contextmanager
def _interrupts_kept() -> Iterator[Callable[[], None]]:
    """Give what raises a Ctrl-C later that came in a callback of the garbage collector, where Python drops it."""
    seen = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen = True
        callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        while frame is not None and frame.f_code not in callbacks:
            frame = frame.f_back
        if frame is None:
            raise KeyboardInterrupt

    def raise_lost() -> None:
        if seen:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # somebody else sees to it, or it is to be ignored
        yield raise_lost
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield raise_lost
    finally:
        signal.signal(signal.SIGINT, before)
