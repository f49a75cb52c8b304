"""How far a run is, on stderr, where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import progress as bars
from rich.console import Console

if TYPE_CHECKING:
    from dpverify.harness import Progress


@contextmanager
def progress_on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show a bar while a run goes on; nothing where stderr is no terminal.

    Yields
    ------
    callable
        To be called after each block with how far the run is.
    """
    console = Console(stderr=True)
    columns = (
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.description}", markup=False),
    )
    with bars.Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("loading the kernels and the algebra", total=None)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=progress.label)

        yield show


@contextmanager
def rounds_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while an audit goes on; nothing where stderr is no terminal.

    Yields
    ------
    callable
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
