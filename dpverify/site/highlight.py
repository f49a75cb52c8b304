"""A Sphinx extension that highlights only keywords, strings, comments and definitions of Python code.

Pygments would mark every name, dot and bracket, which makes a page of source six times as long as the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from pygments.filter import Filter
from pygments.lexer import Lexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, String, Text, _TokenType
from sphinx.application import Sphinx

COLOURED = (Comment, Keyword, String, Name.Function, Name.Class)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the lexer for the language ``python``."""
    app.add_lexer("python", PlainPythonLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class MergedKinds(Filter):  # type: ignore[misc]  # Pygments ships no types
    """Merge neighbouring tokens of the same kind. All kinds without a colour count as one kind."""

    def filter(
        self, lexer: Lexer, stream: Iterable[tuple[_TokenType, str]]
    ) -> Iterator[tuple[_TokenType, str]]:
        """Yield the merged tokens."""
        kinds = ((_kind(token), text) for token, text in stream)
        for kind, pieces in groupby(kinds, key=itemgetter(0)):
            yield kind, "".join(text for _, text in pieces)


class PlainPythonLexer(PythonLexer):  # type: ignore[misc]  # Pygments ships no types
    """Python's lexer with few kinds of tokens."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_filter(MergedKinds())


def _kind(token: _TokenType) -> _TokenType:
    return next((kind for kind in COLOURED if token in kind), Text)
