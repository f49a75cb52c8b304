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


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show a bar while a run goes on; nothing where stderr is no terminal.

    To be called after each block with how far the run is; it raises KeyboardInterrupt where a Ctrl-C was lost.
    """
    console = Console(stderr=True)
    columns = (
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.description}", markup=False),
    )
    shown = bars.Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    with _interrupts_kept() as raise_lost, shown as bar:
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


@contextmanager
def rounds_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while an audit goes on; nothing where stderr is no terminal.

    To be called with how many calls were made, of how many, and what is being done.
    """
    console = Console(stderr=True)
    columns = (
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.description}", markup=False),
    )
    with bars.Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label)

        yield show
