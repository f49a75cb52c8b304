"""Paragraphs for a terminal, wrapped between words and cut after a number of lines."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

CUT = " ..."
UNLIMITED = 10**6  # columns of an output without a terminal
_GAP = re.compile(" {2,}")


@dataclass(frozen=True)
class StyledLine:
    """A line of output with its style, in the syntax of the library ``rich``."""

    text: str
    style: str = ""


def wrapped(
    text: str, width: int, *, first: str | None = None, indent: str = ""
) -> list[str]:
    """Wrap a text between words. A word that is longer than a line is broken."""
    lines = textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return [line.rstrip() for line in lines]


def terminal_width() -> int:
    """Return the width of the terminal or the value of COLUMNS; lines for a pipe or a file are not wrapped."""
    return (
        shutil.get_terminal_size().columns
        if sys.stdout.isatty() or "COLUMNS" in os.environ
        else UNLIMITED
    )


def prose_wrapped(text: str) -> str:
    """Wrap the lines of an output at the width of the terminal.

    A line with one gap of two or more blanks is a label with a text, and the text is wrapped at its column. A line with
    several gaps is the row of a table and is not wrapped.
    """
    width = terminal_width()
    lines: list[str] = []
    for line in text.splitlines():
        _, *texts = _GAP.split(line.strip())
        if len(line) <= width or len(texts) > 1:
            lines.append(line)
            continue
        start = line.index(texts[0]) if texts else len(line) - len(line.lstrip())
        lines += wrapped(
            line[start:],
            width,
            first=line[:start],
            indent=" " * (start if texts else start + 2),
        )
    return "\n".join(lines)


def cut(lines: list[str], line_limit: int, width: int) -> list[str]:
    """Return at most ``line_limit`` lines; if lines are left out, the last one ends with an ellipsis."""
    if len(lines) <= line_limit:
        return lines
    last = lines[line_limit - 1]
    while len(last) + len(CUT) > width:
        last = (
            last[: last.rstrip().rfind(" ")]
            if " " in last.strip()
            else last[: width - len(CUT)]
        )
    return [*lines[: line_limit - 1], last.rstrip(" ,;:.") + CUT]


def fitted(
    paragraphs: Iterable[str],
    width: int,
    line_limit: int,
    *,
    first: str | None = None,
    indent: str = "",
) -> list[str]:
    """Wrap paragraphs with a hanging indent into at most ``line_limit`` lines; ``first`` begins the first line."""
    lines: list[str] = []
    for text in filter(None, paragraphs):
        lines += wrapped(text, width, first=indent if lines else first, indent=indent)
    return cut(lines, line_limit, width)
