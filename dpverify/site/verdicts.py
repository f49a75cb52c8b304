"""A Sphinx extension that adds classes to status words; the style sheet gives each status a colour and a shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from dpverify.ledger.records import Status
from dpverify.report.words import MARKS

_LONGEST_FIRST = sorted(MARKS, key=len, reverse=True)
_MARKED = re.compile(
    "|".join(f"{re.escape(MARKS[status])} {status}" for status in _LONGEST_FIRST)
)
_STATUS = {f"{mark} {status}": status for status, mark in MARKS.items()}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("doctree-read", _colour)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _colour(app: Sphinx, document: nodes.document) -> None:
    """Add a class to each status word with its mark, and to each status word that is a text of a table cell."""
    for text in list(document.findall(nodes.Text)):
        parent = text.parent
        if isinstance(parent, nodes.literal | nodes.literal_block | nodes.title):
            continue
        if isinstance(parent, nodes.strong) and text.astext() == "refuted":
            parent["classes"] += _classes("refuted")
        elif text.astext() in MARKS and _is_in_table(parent):
            parent.replace(text, _word(text.astext(), text.astext()))
        elif _MARKED.search(text.astext()):
            parent.replace(text, list(_pieces(text.astext())))


def _pieces(text: str) -> Iterator[nodes.Node]:
    end = 0
    for match in _MARKED.finditer(text):
        yield nodes.Text(text[end : match.start()])
        yield _word(match[0], _STATUS[match[0]])
        end = match.end()
    yield nodes.Text(text[end:])


def _word(word: str, status: str) -> nodes.inline:
    return nodes.inline("", word, classes=_classes(status))


def _classes(status: Status | str) -> list[str]:
    return ["verdict", f"verdict-{status.replace(' ', '-')}"]


def _is_in_table(node: nodes.Node | None) -> bool:
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None
