"""Leave out of pages, styles and figures what browsers do not need: pages would be twice as long.

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
_CODE = 'class="notranslate"'
_ICON = re.compile(r'(<(?:span|i) class="icon")?(>?)<svg(?: class="([\w-]+)")?><use href="#svg-([a-z-]+)"></use></svg>')
_TITLES = {"menu": "Menu", "toc": "Contents", "arrow-right": "Expand"}
_ICONS_OF_TOGGLE = re.compile(r'\s*<svg class="theme-icon-[a-z-]+"><use href="#svg-[a-z-]+"></use></svg>')
_TOGGLE_LABEL = 'aria-label="Toggle Light / Dark / Auto color theme"'
_NO_CLASS = re.compile(r' class="(?:reference internal|toctree-l\d|row-odd|row-even|tex2jax_ignore mathjax_ignore)"')
"""Classes that no style sheet names, as ``shorten_style`` and site.css have it."""
_IMPLIED = re.compile(
    r"</(?:li|t[dhr])>|</p>(?=\s*<(?:p|[uod]l|div|table|section|blockquote|pre|h\d|/li|/t[dh]|/d[dt]|/div|/section|/blockquote)\b)"
)
"""End tags that HTML implies where they are."""
_BREAK = re.compile(
    r"\n(?=</?(?:p|li|[uod]l|t(?:r|[hd]|head|body|able)|div|section|article|aside|header|footer|h\d|link|meta)\b)"
)
"""Space before the start or the end of a block, which is not shown."""
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_QUOTED = re.compile(r'(?<==)"([\w#./-]*[\w#.-])"(?=[ >])', re.ASCII)
_MAP = re.compile(r"/\*# sourceMappingURL=\S+ \*/")

LONG = 1000  # letters of a path that a figure does not write twice

OFTEN = 3  # uses of a style in a figure from which on it gets a name

_STYLE = re.compile(r' style="([^"<>{}@*\\]*)"')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y)="[^"<>]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_PATH = re.compile(r'(?<=\sd=")[^"<>]*')
_AROUND_COMMAND = re.compile(r"\s*([MLHVCSQTAZ])\s*", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"(?<![\d.])0(?=\.\d)")


def shorten_page(page: str) -> str:
    """Return a page of HTML without indentation, quotes and elements that a browser or a style sheet does not need."""
    pieces = _KEPT.split(_NUMBER.sub(r"\1", page))
    for place in range(0, len(pieces), 2):
        flat = _WORD.sub(r"\1", _INDENTATION.sub("\n", pieces[place])).replace(_LONG_CODE, _CODE)
        linked = _NO_CLASS.sub("", _NAME.sub(r"\1", flat))
        pieces[place] = _unquoted(_BREAK.sub("", _IMPLIED.sub("", _with_icons(linked))))
    for place in range(1, len(pieces), 2):
        if pieces[place].startswith("<pre"):
            pieces[place] = _unquoted(pieces[place])
    return "".join(pieces)


def _with_icons(html: str) -> str:
    """Name each icon, which site.css draws, and not refer to a drawing in the page."""

    def icon(element: re.Match[str]) -> str:
        opening, end, place, name = element.groups("")
        title = f' title="{_TITLES[name]}"' if opening else ""
        return f'{opening}{title}{end}<svg class="{f"icon-{name} {place}".strip()}"></svg>'

    return _ICON.sub(icon, _ICONS_OF_TOGGLE.sub("", html)).replace(
        _TOGGLE_LABEL, _TOGGLE_LABEL.replace("aria-label", "title")
    )


def _unquoted(html: str) -> str:
    return _TAG.sub(lambda tag: _QUOTED.sub(r"\1", tag[0]), html)


def shorten_style(style: str) -> str:
    """Return a style sheet for the pages as they are shortened, which names no file that the site does not have."""
    selected = style.replace("a.reference", "a:any-link").replace(".reference", ":any-link")
    return _MAP.sub("", selected.replace("code.literal", "code.notranslate"))


def shorten_figure(figure: str) -> str:
    """Return a drawing with two decimals of a point, without indentation and metadata, and each style written once."""
    flat = _INDENTATION.sub("\n", _METADATA.sub("", figure))
    short = _COORDINATES.sub(lambda coordinate: _DIGITS.sub(r"\1", coordinate[0]), flat)
    short = _PATH.sub(lambda path: _LEADING_ZERO.sub("", _AROUND_COMMAND.sub(r"\1", path[0].strip())), short)
    often = [style for style, count in Counter(_STYLE.findall(short)).items() if count > OFTEN]
    names = {style: f"s{number}" for number, style in enumerate(often)}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    head, mark, body = short.partition("</style>")
    if not mark or " class=" in body:
        return short
    body = _STYLE.sub(lambda style: _class_or_style(style[0], names.get(style[1])), body)
    shared_paths = ""
    for number, (path, count) in enumerate(Counter(_PATH.findall(body)).items()):
        if count > 1 and len(path) > LONG:
            shared_paths += f'<path id="shared{number}" d="{path}"/>'
            body = body.replace(f'<path d="{path}"', f'<use href="#shared{number}"')
    return head + rules + mark + (f"<defs>{shared_paths}</defs>" if shared_paths else "") + body


def _class_or_style(attribute: str, name: str | None) -> str:
    return attribute if name is None else f' class="{name}"'
