"""Shorten the pages of a site and write them into a folder, without overwriting files of others."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dpverify.report.collect import ReportError
from dpverify.report.files import REMEDY, is_regular, write_whole
from dpverify.report.words import FIGURE_MARK

_KEPT = re.compile(r"(<pre\b.*?</pre>|<script\b.*?</script>)", re.DOTALL)
_INDENTATION = re.compile(r"[ \t]*\n\s*")
_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
_NUMBER = re.compile(r'<span class="normal">( *\d+)</span>')
_NAME = re.compile(
    r'<span class="std std-(?:doc|ref)">((?:(?!</?span).)*)</span>', re.DOTALL
)
_LONG_CODE = 'class="docutils literal notranslate"'
_CODE = 'class="notranslate"'
_ICON = re.compile(
    r'(<(?:span|i) class="icon")?(>?)<svg(?: class="([\w-]+)")?><use href="#svg-([a-z-]+)"></use></svg>'
)
_TITLES = {"menu": "Menu", "toc": "Contents", "arrow-right": "Expand"}
_ICONS_OF_TOGGLE = re.compile(
    r'\s*<svg class="theme-icon-[a-z-]+"><use href="#svg-[a-z-]+"></use></svg>'
)
_TOGGLE_LABEL = 'aria-label="Toggle Light / Dark / Auto color theme"'
_NO_CLASS = re.compile(
    r' class="(?:reference internal|toctree-l\d|row-odd|row-even|tex2jax_ignore mathjax_ignore)"'
)
"""Classes that no style sheet uses after ``shorten_style``; site.css does not use them either."""
_IMPLIED = re.compile(
    r"</(?:li|t[dhr])>|</p>(?=\s*<(?:p|[uod]l|div|table|section|blockquote|pre|h\d|/li|/t[dh]|/d[dt]|/div|/section|/blockquote)\b)"
)
"""End tags that HTML implies at these positions."""
_BREAK = re.compile(
    r"\n(?=</?(?:p|li|[uod]l|t(?:r|[hd]|head|body|able)|div|section|article|aside|header|footer|h\d|link|meta)\b)"
)
"""Line break before the start or end tag of a block, which is not displayed."""
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_QUOTED_VALUE = re.compile(r'(?<==)"([\w#./-]*[\w#.-])"(?=[ >])', re.ASCII)
_MAP = re.compile(r"/\*# sourceMappingURL=\S+ \*/")

# a repeated path with more characters is written once in a figure
MIN_SHARED_LENGTH = 1000

MIN_STYLE_USES = 3  # a style with more uses in a figure becomes a class

_STYLE = re.compile(r' style="([^"<>{}@*\\]*)"')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y)="[^"<>]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_PATH = re.compile(r'(?<=\sd=")[^"<>]*')
_COMMAND_SPACE = re.compile(r"\s*([MLHVCSQTAZ])\s*", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"(?<![\d.])0(?=\.\d)")


def shorten_page(page: str) -> str:
    """Return an HTML page without the indentation, quotes and elements that browsers and style sheets do not need."""
    pieces = _KEPT.split(_NUMBER.sub(r"\1", page))
    for place in range(0, len(pieces), 2):
        flat = _WORD.sub(r"\1", _INDENTATION.sub("\n", pieces[place])).replace(
            _LONG_CODE, _CODE
        )
        linked = _NO_CLASS.sub("", _NAME.sub(r"\1", flat))
        pieces[place] = _unquoted(_BREAK.sub("", _IMPLIED.sub("", _with_icons(linked))))
    for place in range(1, len(pieces), 2):
        if pieces[place].startswith("<pre"):
            pieces[place] = _unquoted(pieces[place])
    return "".join(pieces)


def _with_icons(html: str) -> str:
    """Replace references to icons in the page by classes; site.css draws the icons."""

    def icon(element: re.Match[str]) -> str:
        opening, end, place, name = element.groups("")
        title = f' title="{_TITLES[name]}"' if opening else ""
        return (
            f'{opening}{title}{end}<svg class="{f"icon-{name} {place}".strip()}"></svg>'
        )

    return _ICON.sub(icon, _ICONS_OF_TOGGLE.sub("", html)).replace(
        _TOGGLE_LABEL, _TOGGLE_LABEL.replace("aria-label", "title")
    )


def _unquoted(html: str) -> str:
    return _TAG.sub(lambda tag: _QUOTED_VALUE.sub(r"\1", tag[0]), html)


def shorten_style(style: str) -> str:
    """Return a style sheet for the shortened pages, without the reference to a source map."""
    selected = style.replace("a.reference", "a:any-link").replace(
        ".reference", ":any-link"
    )
    return _MAP.sub("", selected.replace("code.literal", "code.notranslate"))


def shorten_figure(figure: str) -> str:
    """Return an SVG figure with two decimals, without indentation and metadata, and with shared styles and paths."""
    flat = _INDENTATION.sub("\n", _METADATA.sub("", figure))
    short = _COORDINATES.sub(lambda coordinate: _DIGITS.sub(r"\1", coordinate[0]), flat)
    short = _PATH.sub(
        lambda path: _LEADING_ZERO.sub("", _COMMAND_SPACE.sub(r"\1", path[0].strip())),
        short,
    )
    often = [
        style
        for style, count in Counter(_STYLE.findall(short)).items()
        if count > MIN_STYLE_USES
    ]
    names = {style: f"s{number}" for number, style in enumerate(often)}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    head, mark, body = short.partition("</style>")
    if not mark or " class=" in body:
        return short
    body = _STYLE.sub(
        lambda style: _class_or_style(style[0], names.get(style[1])), body
    )
    shared_paths = ""
    for number, (path, count) in enumerate(Counter(_PATH.findall(body)).items()):
        if count > 1 and len(path) > MIN_SHARED_LENGTH:
            shared_paths += f'<path id="shared{number}" d="{path}"/>'
            body = body.replace(f'<path d="{path}"', f'<use href="#shared{number}"')
    return (
        head
        + rules
        + mark
        + (f"<defs>{shared_paths}</defs>" if shared_paths else "")
        + body
    )


def _class_or_style(attribute: str, name: str | None) -> str:
    return attribute if name is None else f' class="{name}"'


SCRIPT_MARK = "/* Generated by dpverify. */"
END_MARKS = {
    ".html": FIGURE_MARK,
    ".svg": FIGURE_MARK,
    ".js": SCRIPT_MARK,
    ".css": SCRIPT_MARK,
}
"""Last line of the files of a type. Files of other types, such as fonts, are the same in every build."""

SHORTENED = {".html": shorten_page, ".svg": shorten_figure, ".css": shorten_style}

FRONT_PAGE = "README.html"
START_PAGE = "index.html"  # the first page under the name that servers look for

_ACTIVE = re.compile(
    rb"<\s*(?:\w+:)?(?:script|foreignObject|iframe|object|embed|a|image|set|animate\w*|handler)\b|\son\w+\s*=|javascript:"
    rb"|<!ENTITY|<\?xml-stylesheet|@import|url\(\s*['\"]?(?!#)",
    re.IGNORECASE,
)


def check_picture(name: str, content: bytes) -> bytes:
    """Return the content of a figure; raise a ReportError if it contains scripts, links or other active elements."""
    if match := _ACTIVE.search(content):
        raise ReportError(
            f"{name}: a figure must be a drawing only, and it holds {match[0].decode('latin-1').strip()!r}"
        )
    return content


def check_out(out: Path) -> None:
    """Raise a ReportError before the build if the first page in the folder was not written by dpverify."""
    for path in (out / FRONT_PAGE, out / START_PAGE):
        if os.path.lexists(path) and not _is_ours(path):
            raise _foreign(path)


def publish(built: Path, out: Path) -> None:
    """Copy a site and add dpverify's markers. A ReportError is raised first if a file of someone else is in the way."""
    pages = {path.relative_to(built): _marked(path) for path in _files(built)}
    changed = {
        name: content
        for name, content in pages.items()
        if not _same(out / name, content)
    }
    for name in changed:
        for parent in list(name.parents)[:-1]:
            if os.path.lexists(out / parent) and (
                (out / parent).is_symlink() or not (out / parent).is_dir()
            ):
                raise _foreign(out / parent)
        if os.path.lexists(out / name) and not _is_ours(out / name):
            raise _foreign(out / name)
    for name, content in changed.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole("--out", out / name, content)


def _files(built: Path) -> Iterator[Path]:
    """Yield the files of the site, without Sphinx's internal files and source maps."""
    for path in sorted(built.rglob("*")):
        if (
            path.is_file()
            and path.suffix != ".map"
            and not any(part.startswith(".") for part in path.relative_to(built).parts)
        ):
            yield path


def _marked(path: Path) -> bytes:
    content = path.read_bytes()
    shorten = SHORTENED.get(path.suffix)
    if shorten is not None:
        content = shorten(content.decode()).encode()
    mark = END_MARKS.get(path.suffix, "").encode()
    return (
        content
        if not mark or content.rstrip().endswith(mark)
        else content.rstrip() + b"\n" + mark + b"\n"
    )


def _same(path: Path, content: bytes) -> bool:
    return is_regular(path) and path.read_bytes() == content


def _is_ours(path: Path) -> bool:
    if not is_regular(path):
        return False
    content = path.read_bytes()
    if path.suffix == ".inv":
        return content.startswith(
            b"# Sphinx inventory version 2\n# Project: dpverify\n"
        )
    mark = END_MARKS.get(path.suffix)
    return mark is not None and content.rstrip().endswith(mark.encode())


def _foreign(path: Path) -> ReportError:
    return ReportError(f"{path}: exists, and was not written by dpverify; {REMEDY}")
