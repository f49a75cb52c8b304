"""How far a run is, on stderr, where somebody can see it."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars
from rich.console import Console

if TYPE_CHECKING:
    from types import FrameType

    from dpverify.harness.run.engine import Progress


def _bar(count: bars.ProgressColumn) -> bars.Progress:
    """A bar on stderr with how far it is in its own words; nothing where stderr is no terminal."""
    console = Console(stderr=True)
    label = bars.TextColumn("{task.description}", markup=False)
    columns = (bars.BarColumn(), count, bars.TimeElapsedColumn(), label)
    return bars.Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show how far a run is. To be called after each block; it raises KeyboardInterrupt where a Ctrl-C was lost."""
    with _interrupts_kept() as raise_lost, _bar(bars.MofNCompleteColumn()) as bar:
        task = bar.add_task("loading the kernels and the algebra", total=None)

        def show(progress: Progress) -> None:
            raise_lost()
            bar.update(task, completed=progress.done, total=progress.total, description=progress.label)

        yield show


@contextmanager
def rounds_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """Show how far an audit or a benchmark is: how many calls were made, of how many, and what is being done."""
    with _bar(bars.TaskProgressColumn()) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=label)


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
