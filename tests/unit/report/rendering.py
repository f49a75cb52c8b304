"""Markdown as a reader sees it: tables as cells, text without markup."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterator, Mapping

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(markdown: str) -> str:
    """The text of all inline content, markup removed; a formula or code span shows its source."""
    return "\n".join(
        _text(token) for token in PARSER.parse(markdown) if token.type == "inline"
    )


def _text(token: Token) -> str:
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(
        breaks.get(child.type, child.content) for child in token.children or []
    )


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


def places(markdown: str) -> set[str]:
    """What a link can point to on a page: anchors, and headings as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", markdown, re.MULTILINE)
    words = [
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings
    ]
    named = {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}
    return named | set(re.findall(r'<a id="([^"]*)">', markdown))


def links(markdown: str) -> list[str]:
    """Targets of all links and pictures that lead to a file or a place, not to another site."""
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", markdown)
        if "://" not in target
    ]


def dead_links(pages: Mapping[str, str], others: Container[str]) -> list[str]:
    """The links that lead nowhere.

    Parameters
    ----------
    pages : Mapping[str, str]
        Path to text; paths are relative to one folder.
    others : Container[str]
        Paths of files that are no pages.
    """
    known = {name: places(text) for name, text in pages.items()}
    dead = []
    for name, text in pages.items():
        for target in links(text):
            file, _, place = target.partition("#")
            path = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
                if file
                else name
            )
            found = (
                place in known[path]
                if place and path in known
                else not place and (path in known or path in others)
            )
            if not found:
                dead.append(f"{name}: {target}")
    return dead
