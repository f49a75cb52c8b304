r"""Formulas in running text: ``alpha >= 1/N`` becomes ``$\alpha \ge 1/N$``.

The longest stretch of text that can be parsed as a formula is typeset, token by token
and in order, so that no bracket and no operator is added or removed. Code, links and
existing formulas are not changed. A stretch without an operator, a Greek letter, a
subscript or a function is not changed either, unless it is a single letter.

A small grammar of formulas in plain text determines where a formula ends, and produces its LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dpverify.report.formula_reader import (
    NUMBER,
    RELATION,
    WORDS,
    Piece,
    closing_end,
    read_formula,
)

_KEPT = re.compile(
    r"\{\{.*?\}\}|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|(?<!\\)\$\$.+?\$\$|(?<![\\$])\$[^$]+\$|!?\[[^\]]*\]\([^)]*\)"
    r"|</?[a-z][^>]*>|^\|[ :-]+\|.*$|^#+ .*$|\b[\w./]+\.(?:md|py|toml|json)\b|\w+://\S+",
    re.DOTALL | re.MULTILINE,
)
_COMMAND_LINE = re.compile(
    r"(?<![`\w])dpverify [a-z]+(?: [a-z]+-[\w-]*\w)?(?: --?[\w-]+(?: [\w.:/-]*\w)?)*"
)
_CLAIM = re.compile(
    r"(?<![\w`/#:.-])(?:[a-z]+\d{4}:)?(?:theorem|lemma|proposition|corollary|definition|remark|equation|algorithm|table"
    r"|section|appendix|abstract|note|assumption)-[a-z0-9]+(?:-[a-z0-9]+)*(?:\[[a-z]+=[a-z,=-]+\])?(?![\w-])"
)
_NUMBERED = re.compile(
    r"\b(?:theorems?|lemmas?|propositions?|corollar(?:y|ies)|definitions?|remarks?|equations?|algorithms?|tables?"
    r"|sections?|appendix|assumptions?|lines?|steps?|figures?|cases?|parts?|seeds?) (?:[\w.]+(?:,| and| or| to) )*$",
    re.IGNORECASE,
)
_LETTERED = re.compile(
    r"\b(?:appendix|case|part|party|panel|assumption|table|figure) $", re.IGNORECASE
)
# of a person's name
_INITIAL = re.compile(
    r"(?:(?<=\()|(?<=and ))[A-Z]\. [A-Za-z]|[A-Za-z]-|[A-Z]\. [A-Z]\."
)
_YEAR = re.compile(r"(?:19|20)\d\d[a-z]\b")  # of a citation
_START = re.compile(r"(?<![^\s(\[])(?<!\w[(\[])")
END = re.compile(r"(?=$|[\s),;:!?\]*]|\.(?:\s|$|\))|'s\b|-[A-Za-z]|\|)")


def in_dollars(latex: str) -> str:
    """Return a formula between dollar signs."""
    return f"${latex}$"


def typeset(text: str, write: Callable[[str], str] = in_dollars) -> str:
    """Return text with typeset formulas, and with claims and commands as code.

    ``write`` writes a formula, given its LaTeX.
    """
    parts: list[str] = []
    end = 0
    for span in [*_KEPT.finditer(text), None]:
        start = span.start() if span else len(text)
        parts.append(_with_code(text[end:start], write))
        parts.append(span[0] if span else "")
        end = span.end() if span else start
    return "".join(parts)


def _with_code(text: str, write: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for span in re.finditer(f"{_COMMAND_LINE.pattern}|{_CLAIM.pattern}", text):
        parts += [_with_formulas(text[end : span.start()], write), f"`{span[0]}`"]
        end = span.end()
    return "".join([*parts, _with_formulas(text[end:], write)])


def _with_formulas(text: str, write: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    place = 0
    while place < len(text):
        piece = _formula_at(text, place)
        if piece is None:
            place += 1
            continue
        parts += [text[end:place], write(piece.latex)]
        end = place = piece.end
    return "".join([*parts, text[end:]])


def _formula_at(text: str, place: int) -> Piece | None:
    """Return the longest formula that starts at a place of a text, or None."""
    if not _START.match(text, place) or text[place].isspace():
        return None
    if _YEAR.match(text, place):
        return None
    number = NUMBER.match(text, place)
    if (
        number
        and not text[number.end() : number.end() + 1].isalpha()
        and _NUMBERED.search(text, 0, place)
    ):
        return None
    piece = read_formula(text, place)
    if piece is None or not END.match(text, piece.end):
        return None
    written = text[place : piece.end]
    if (
        written[0] == "("
        and closing_end(text, place) == piece.end
        and RELATION.search(written)
    ):
        return None  # the brackets belong to the sentence
    if len(written) == 1:
        is_letter = (
            written.isalpha()
            and written not in WORDS
            and not _LETTERED.search(text, 0, place)
        )
        return piece if is_letter and not _INITIAL.match(text, place) else None
    return piece if piece.is_clear else None
