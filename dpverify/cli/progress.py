"""Show the progress of a run on stderr if it is a terminal."""

from __future__ import annotations

import gc
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars

from dpverify.foreign import raise_lost_interrupt
from dpverify.report.terminal import refutation_line
from dpverify.report.text.console import bar_on_stderr
from dpverify.report.words import STATUSES, counts_words

if TYPE_CHECKING:
    from types import FrameType

    from dpverify.harness.run.engine import Progress
    from dpverify.ledger.records import Status

MAX_SHOWN = 8  # number of refuted claims that are printed during the run


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a run and its first refutations. Yield a function to call after each block.

    The function raises KeyboardInterrupt if a Ctrl-C was lost.
    """
    with (
        _interrupts_kept() as raise_lost,
        bar_on_stderr(bars.MofNCompleteColumn()) as bar,
    ):
        task = bar.add_task("loading the kernels and the algebra", total=None)
        decided: Counter[Status] = Counter()
        refuted_claims = set[str]()

        def show(progress: Progress) -> None:
            raise_lost()
            raise_lost_interrupt()
            if bar.disable:
                return
            if (result := progress.result) is not None:
                decided[result.status] += 1
                claim = progress.label.partition("[")[0]
                if (
                    result.status == "refuted"
                    and claim not in refuted_claims
                    and len(refuted_claims) < MAX_SHOWN
                ):
                    refuted_claims.add(claim)
                    bar.console.print(
                        refutation_line(progress.label, result, bar.console)
                    )
            spent = f"{progress.compiling:.0f} s went into compiling"
            words = f"{counts_words({status: decided[status] for status in STATUSES})}; {spent}; {progress.label}"
            bar.update(
                task, completed=progress.done, total=progress.total, description=words
            )

        yield show


@contextmanager
def _interrupts_kept() -> Iterator[Callable[[], None]]:
    """Yield a function that raises a Ctrl-C that Python dropped in a callback of the garbage collector."""
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        while frame is not None and frame.f_code not in callbacks:
            frame = frame.f_back
        if frame is None:
            raise KeyboardInterrupt

    def raise_lost() -> None:
        if interrupted:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    # another handler is installed, or the signal is ignored
    if before is not signal.default_int_handler:
        yield raise_lost
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield raise_lost
    finally:
        signal.signal(signal.SIGINT, before)
