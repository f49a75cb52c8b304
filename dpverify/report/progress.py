"""How far something is, as a bar on stderr, where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console


def bar_on_stderr(count: bars.ProgressColumn) -> bars.Progress:
    """A bar with how far it is in its own words; nothing where stderr is no terminal."""
    console = Console(stderr=True)
    label = bars.TextColumn("{task.description}", markup=False)
    columns = (bars.BarColumn(), count, bars.TimeElapsedColumn(), label)
    return bars.Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


@contextmanager
def rounds_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """Show how far it is: how many calls were made, of how many, and what is being done."""
    with bar_on_stderr(bars.TaskProgressColumn()) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=label)
