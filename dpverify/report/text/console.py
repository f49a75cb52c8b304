"""Output of all commands to a terminal: tables without a frame, lines, and progress bars on stderr.

Letters that the terminal cannot show are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.ledger.records import Status
from dpverify.report.text.formulas import GREEK
from dpverify.report.text.paragraphs import StyledLine
from dpverify.report.words import ASCII_MARKS, MARKS

_SIGNS = {
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "·": "*",
    "√": "sqrt",
    "Σ": "sum",
    "∫": "integral ",
    "Õ": "O~",
    "ℝ": "R",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "‖": "||",
    "⟨": "<",
    "⟩": ">",
    "∈": " in ",
    "∇": "grad ",
    "×": "x",
    "≈": "~",
    "∞": "oo",
    "−": "-",
    "\u2009": "",
    "é": "e",
    "…": "...",
    "–": "-",
    "—": "-",
    "ℓ": "l",
    "←": "<-",
    "ⁿ": "^n",
    "∼": "~",
    "≪": "<<",
    "∪": " u ",
    "∀": "for all ",
    "∏": "prod",
    "’": "'",
    "“": '"',
    "”": '"',
    "\u0302": "",
    "\u0303": "",
    "ϱ": "rho",
    "─": "-",
}
_LETTERS = str.maketrans(
    {mark: ASCII_MARKS[of] for of, mark in MARKS.items()}
    | {letter: name for name, letter in GREEK.items()}
    | _SIGNS
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_FROM_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_FROM_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def in_ascii(text: str) -> str:
    """Return plain text in ASCII; a letter without a replacement becomes a question mark."""
    text = text.replace("log₂", "log2")
    text = _RAISED.sub(lambda digits: f"^{digits[0].translate(_FROM_RAISED)}", text)
    text = _LOWERED.sub(lambda digits: f"_{digits[0].translate(_FROM_LOWERED)}", text)
    return text.translate(_LETTERS).encode("ascii", "replace").decode()


MAX_WORD = 26  # at 80 columns, columns are wide enough for words up to this length
COLUMN_GAP = 3  # characters between two columns

Cell = str | Text


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    console: Console,
    right: Sequence[str] = (),
) -> Table:
    """Return a table without its empty columns. ``right`` has the names of right-aligned columns."""
    unicode = console.encoding.lower().startswith("utf")
    cells = [
        [cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows
    ]
    cells = (
        cells
        if unicode
        else [
            [Text(in_ascii(cell.plain), style=cell.style) for cell in row]
            for row in cells
        ]
    )
    used = [
        place for place in range(len(columns)) if any(row[place].plain for row in cells)
    ]
    rich_table = Table(
        box=box.SIMPLE_HEAD if unicode else box.ASCII2,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    texts = [[columns[place], *(row[place].plain for row in cells)] for place in used]
    for place, width in zip(used, _widths(texts, console.width), strict=True):
        is_number = columns[place] in right
        rich_table.add_column(
            columns[place],
            justify="right" if is_number else "left",
            width=width,
            overflow="fold",
        )
    for row in cells:
        rich_table.add_row(*(row[place] for place in used))
    return rich_table


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the widths of the columns.

    Columns fit their longest words if there is room. The remaining width goes to the narrowest columns that need more.
    """
    natural = [
        max(len(line) for text in texts for line in text.split("\n"))
        for texts in columns
    ]
    words = [
        max((len(word) for text in texts for word in text.split()), default=1)
        for texts in columns
    ]
    widths = [min(longest, longest_word(room)) for longest in words]
    left = room - COLUMN_GAP * (len(columns) - 1)
    while sum(widths) > left and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    while sum(widths) < left and widths != natural:
        short = [place for place, width in enumerate(widths) if width < natural[place]]
        widths[min(short, key=widths.__getitem__)] += 1
    return widths


def longest_word(room: int) -> int:
    """Return the length up to which words are not broken in a table of width ``room``."""
    return max(MAX_WORD, room // 3)


def name_cell(name: str, room: int = 80) -> str:
    """Return a claim with its reading below it. A claim too long for a table of width ``room`` breaks after hyphens."""
    claim, _, reading = name.partition("[")
    lines = [""]
    for part in re.findall(r"[^-]+-?", claim):
        if len(lines[-1]) + len(part) > longest_word(room):
            lines.append(f"  {part}")
        else:
            lines[-1] += part
    return "\n".join(
        [
            *lines,
            *(f"  {choice}" for choice in reading.rstrip("]").split(",") if choice),
        ]
    )


STYLES: dict[Status, str] = {
    "proved": "blue",
    "proved given": "blue",
    "argued": "cyan",
    "not refuted": "cyan",
    "not refuted on witnesses": "cyan",
    "inconclusive": "yellow",
    "refuted": "bold red",
    "untested": "dim",
}


def readable(text: str, console: Console) -> str:
    """Return a text in letters that the console can show."""
    if _unicode(console):
        return text
    return in_ascii(text)


def print_lines(lines: Iterable[StyledLine], console: Console) -> None:
    """Print lines that are already wrapped."""
    for line in lines:
        console.print(
            Text(readable(line.text, console), style=line.style), soft_wrap=True
        )


def mark(status: Status, console: Console) -> str:
    """Return the mark of a status in letters that the console can show."""
    return (MARKS if _unicode(console) else ASCII_MARKS)[status]


def _unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


class _Rate(bars.ProgressColumn):
    """The speed of a task."""

    def render(self, task: bars.Task) -> Text:
        """Return the steps per second, or an empty text while they are unknown."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.2g}/s" if speed else "")


def bar_on_stderr(count: bars.ProgressColumn) -> bars.Progress:
    """Return a progress bar on stderr with `count` as its counter; it is hidden if stderr is not a terminal."""
    console = Console(stderr=True)
    label = bars.TextColumn("{task.description}", markup=False)
    columns = (
        bars.BarColumn(),
        count,
        _Rate(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        label,
    )
    return bars.Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    )


@contextmanager
def rounds_on_stderr() -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar, and yield a function of the finished calls, all calls, and a label."""
    with bar_on_stderr(bars.TaskProgressColumn()) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, label: bar.update(
            task, completed=done, total=total, description=label
        )
