"""A Sphinx extension that removes active content: only the HTML, links and images allowed here reach a page.

Other people may write records, reasons and report folders. Their text is escaped when it is written as markdown. This
extension is a second protection after the parser, independent of the escaping.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

SCHEMES = ("http", "https", "mailto")
EARLY_PRIORITY = 100  # before Sphinx collects images and downloads, which copies files

_HTML = re.compile(
    r"""(?:\s|[^<>]
    |</?(?:details|summary|sub|sup|b|i|em|strong|p)>|<br\s*/?>
    |<a\ id="[\w.:-]+">|</a>
    |<form\ id="filters"\ aria-label="Filters">|</form>
    |<!--(?:(?!--)[^<>])*-->
    )*""",
    re.VERBOSE,
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\ufeff]")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", _forbid_files)
    app.connect("doctree-read", _clean, priority=EARLY_PRIORITY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def is_harmless_html(text: str) -> bool:
    """Test whether raw HTML consists only of the few tags that the report writes."""
    return _HTML.fullmatch(text) is not None


def is_harmless_target(target: str) -> bool:
    """Test whether a link leads to a page of the site, to the web, or to an email address."""
    scheme = _SCHEME.match(_INVISIBLE.sub("", target))
    return scheme is None or scheme[1].lower() in SCHEMES


def is_local_image(target: str, page: Path, source: Path) -> bool:
    """Test whether an image is a file in the site's source folder; ``page`` is the file that shows it."""
    if (
        "://" in target
        or _SCHEME.match(_INVISIBLE.sub("", target))
        or target.startswith("//")
    ):
        return False
    file = (
        source / target.lstrip("/") if target.startswith("/") else page.parent / target
    )
    return file.resolve().is_relative_to(source.resolve()) and file.is_file()


def _forbid_files(app: Sphinx) -> None:
    """Switch off the directives that read files or write raw HTML."""
    app.env.settings.update({"file_insertion_enabled": False, "raw_enabled": False})


def _clean(app: Sphinx, document: nodes.document) -> None:
    """Replace the elements of a page that are not known to be harmless by their text."""
    page = Path(str(document.get("source", "")))
    source = Path(app.srcdir)
    for raw in list(document.findall(nodes.raw)):
        if not is_harmless_html(raw.astext()):
            node_type = (
                nodes.literal
                if isinstance(raw.parent, nodes.TextElement)
                else nodes.literal_block
            )
            raw.replace_self(node_type(raw.astext(), raw.astext()))
    for link in [*document.findall(nodes.reference), *document.findall(nodes.target)]:
        if not is_harmless_target(str(link.get("refuri", ""))):
            link.replace_self(nodes.inline("", "", *link.children))
    for download in list(document.findall(addnodes.download_reference)):
        download.replace_self(nodes.inline("", "", *download.children))
    for image in list(document.findall(nodes.image)):
        if not is_local_image(str(image.get("uri", "")), page, source):
            image.replace_self(nodes.inline("", str(image.get("alt", ""))))
    for meta in list(document.findall(nodes.meta)):
        meta.parent.remove(meta)
