"""Leave out of pages and figures what browsers do not show: they would be half as long again.

Text of a page cannot be meant by any of this, as its angle brackets are escaped.
"""

from __future__ import annotations

import re
from collections import Counter

_KEPT = re.compile(r"(<pre\b.*?</pre>|<script\b.*?</script>)", re.DOTALL)
_INDENTATION = re.compile(r"[ \t]*\n\s*")
_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
_NUMBER = re.compile(r'<span class="normal">( *\d+)</span>')
_NAME = re.compile(r'<span class="std std-(?:doc|ref)">((?:(?!</?span).)*)</span>', re.DOTALL)
_LONG_CODE = 'class="docutils literal notranslate"'
_CODE = 'class="literal notranslate"'

OFTEN = 3  # uses of a style in a figure from which on it gets a name

_STYLE = re.compile(r' style="([^"<>{}@*\\]*)"')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y)="[^"<>]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")


def shorten_page(page: str) -> str:
    """Return a page of HTML without indentation and without elements that no style sheet of the site names."""
    pieces = _KEPT.split(_NUMBER.sub(r"\1", page))
    for place in range(0, len(pieces), 2):
        flat = _WORD.sub(r"\1", _INDENTATION.sub("\n", pieces[place])).replace(_LONG_CODE, _CODE)
        pieces[place] = _NAME.sub(r"\1", flat)
    return "".join(pieces)


def shorten_figure(figure: str) -> str:
    """Return a drawing with two decimals of a point, without indentation and metadata, and each style written once."""
    flat = _INDENTATION.sub("\n", _METADATA.sub("", figure))
    short = _COORDINATES.sub(lambda found: _DIGITS.sub(r"\1", found[0]), flat)
    often = [style for style, count in Counter(_STYLE.findall(short)).items() if count > OFTEN]
    names = {style: f"s{number}" for number, style in enumerate(often)}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    head, mark, body = short.partition("</style>")
    if not mark or " class=" in body:
        return short
    return head + rules + mark + _STYLE.sub(lambda found: _class_or_style(found[0], names.get(found[1])), body)


def _class_or_style(attribute: str, name: str | None) -> str:
    return attribute if name is None else f' class="{name}"'
