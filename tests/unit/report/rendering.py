"""Markdown as a reader sees it: tables as cells, text without markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(markdown: str) -> str:
    """The text of all inline content, markup removed; a formula or code span shows its source."""
    return "\n".join(_text(token) for token in PARSER.parse(markdown) if token.type == "inline")


def _text(token: Token) -> str:
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(breaks.get(child.type, child.content) for child in token.children or [])


def raw_tables(markdown: str) -> Iterator[list[str]]:
    """The lines of each table."""
    for block in re.split(r"\n\s*\n", markdown):
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            yield lines


def cells(line: str) -> list[str]:
    """The cells of a line of a table, as GitHub splits it: at every pipe that no backslash precedes."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables(markdown: str) -> int:
    """How many tables a parser finds."""
    return sum(token.type == "table_open" for token in PARSER.parse(markdown))
