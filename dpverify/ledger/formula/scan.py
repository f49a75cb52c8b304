"""The first look at a formula: its characters, words and brackets, before any parser sees it.

What passes here is short, shallow and made of a dozen kinds of token, so the parser behind it can neither overflow
nor meet a string, an attribute or a keyword.
"""

from __future__ import annotations

import keyword
import re

from dpverify.ledger.formula.errors import FormulaError

MAX_LENGTH = 2000  # characters
MAX_DEPTH = 40  # brackets within brackets, and nodes from the root of the tree to a leaf

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z][A-Za-z0-9_]*)
      | (?P<operator>\*\*|<=|>=|==|!=|//|[-+*/<>(),%^=])""",
    re.VERBOSE,
)

_REFUSED_OPERATORS = {
    "^": "a power is written **",
    "=": "equality is written ==",
    "!=": "the comparisons are < <= > >= ==",
    "//": "integer division is written floor(a/b)",
    "%": "a remainder is written mod(a, b)",
}
_REFUSED_CHARACTERS = {
    "'": "strings are not part of the language",
    '"': "strings are not part of the language",
    ".": "attributes are not part of the language",
    "[": "subscripts and lists are not part of the language",
    "{": "sets and tables are not part of the language",
    "_": "a name begins with a letter",
    "\\": "formulas are plain text, not LaTeX",
    "≤": "it is written <=",
    "≥": "it is written >=",
    "∞": "it is written oo",
    "\N{MULTIPLICATION SIGN}": "a product is written *",
    "\N{MIDDLE DOT}": "a product is written *",
    "\N{MINUS SIGN}": "minus is the plain - of the keyboard",
}


def scan(text: str) -> str:
    """Check characters, words and brackets of a formula; the text with every kind of space a blank."""
    if len(text) > MAX_LENGTH:
        raise FormulaError(text, f"a formula has at most {MAX_LENGTH} characters, this one has {len(text)}")
    if not text.strip():
        raise FormulaError(text, "a formula must not be empty")
    depth = 0
    position = 0
    previous = ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormulaError(text, _refused_character(text, position))
        kind, token = str(match.lastgroup), match.group()
        if kind in ("number", "name"):
            _check_word(text, position, kind, token, previous)
        elif token in _REFUSED_OPERATORS:
            raise FormulaError(text, f"column {position + 1}: {token!r}: {_REFUSED_OPERATORS[token]}")
        depth += (token == "(") - (token == ")")
        if depth > MAX_DEPTH:
            raise FormulaError(text, f"brackets nest at most {MAX_DEPTH} deep")
        if depth < 0:
            raise FormulaError(text, f"column {position + 1}: this bracket was never opened")
        if kind != "space":
            previous = kind
        position = match.end()
    if depth:
        raise FormulaError(text, "a bracket is not closed")
    return "".join(" " if c in "\t\r\n" else c for c in text)


def _check_word(text: str, position: int, kind: str, token: str, previous: str) -> None:
    """Refuse Python's keywords, and a word or number glued or set beside another."""
    if kind == "name" and keyword.iskeyword(token):
        rule = f"{token!r} is a word of Python; choose another name, such as {token.lower()}_"
        raise FormulaError(text, f"column {position + 1}: {rule}")
    if previous in ("number", "name"):
        raise FormulaError(text, f"column {position + 1}: {token!r}: an operator is missing before it (2*x, not 2x)")


def _refused_character(text: str, position: int) -> str:
    """Say why the character at `position` has no place in a formula."""
    character = text[position]
    rule = _REFUSED_CHARACTERS.get(character, "this character is not part of the language")
    return f"column {position + 1}: {character!a}: {rule}"
