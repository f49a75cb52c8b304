"""How far a run is, on stderr, where somebody can see it."""

from __future__ import annotations

import gc
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars

from dpverify.foreign import raise_lost_interrupt
from dpverify.report.terminal import bar_on_stderr, found_so_far
from dpverify.report.words import STATUSES, counts_words

if TYPE_CHECKING:
    from types import FrameType

    from dpverify.harness.run.engine import Progress
    from dpverify.ledger.records import Status

FIRST = 8  # so many refuted claims are told before the end, those of privacy first


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show how far a run is, and the first refutations. To be called after each block.

    It raises KeyboardInterrupt where a Ctrl-C was lost.
    """
    with _interrupts_kept() as raise_lost, bar_on_stderr(bars.MofNCompleteColumn()) as bar:
        task = bar.add_task("loading the kernels and the algebra", total=None)
        decided: Counter[Status] = Counter()
        told = set[str]()

        def show(progress: Progress) -> None:
            raise_lost()
            raise_lost_interrupt()
            if bar.disable:
                return
            if (found := progress.found) is not None:
                decided[found.status] += 1
                claim = progress.label.partition("[")[0]
                if found.status == "refuted" and claim not in told and len(told) < FIRST:
                    told.add(claim)
                    bar.console.print(found_so_far(progress.label, found, bar.console))
            spent = f"{progress.compiling:.0f} s went into compiling"
            words = f"{counts_words({status: decided[status] for status in STATUSES})}; {spent}; {progress.label}"
            bar.update(task, completed=progress.done, total=progress.total, description=words)

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
