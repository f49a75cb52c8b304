"""Leave out of pages and figures what browsers do not show: they would be half as long again.

Text of a page cannot be meant by any of this, as its angle brackets are escaped.
"""

from __future__ import annotations

import re

_KEPT = re.compile(r"(<pre\b.*?</pre>|<script\b.*?</script>)", re.DOTALL)
_INDENTATION = re.compile(r"[ \t]*\n\s*")
_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
_CLASSES = {
    'class="docutils literal notranslate"': 'class="literal notranslate"',
    'class="std std-doc"': 'class="std"',
    'class="std std-ref"': 'class="std"',
}
"""Classes that no style sheet of the site names, with what is left of them."""

_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y)="[^"<>]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")


def shorten_page(page: str) -> str:
    """Return a page of HTML without indentation, and without a span around each word of code."""
    pieces = _KEPT.split(page)
    for place in range(0, len(pieces), 2):
        piece = _WORD.sub(r"\1", _INDENTATION.sub("\n", pieces[place]))
        for classes, remaining in _CLASSES.items():
            piece = piece.replace(classes, remaining)
        pieces[place] = piece
    return "".join(pieces)


def shorten_figure(figure: str) -> str:
    """Return a drawing with two decimals of a point in its coordinates, without indentation and metadata."""
    flat = _INDENTATION.sub("\n", _METADATA.sub("", figure))
    return _COORDINATES.sub(lambda found: _DIGITS.sub(r"\1", found[0]), flat)
