"""A Sphinx extension that writes formulas as MathML, which browsers render without scripts or network access."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

MATHML = "{http://www.w3.org/1998/Math/MathML}"
ELEMENTS = frozenset(
    [
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "ms",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "mstyle",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mpadded",
        "mphantom",
        "menclose",
    ]
)
ATTRIBUTES = frozenset(
    [
        "display",
        "displaystyle",
        "scriptlevel",
        "mathvariant",
        "stretchy",
        "fence",
        "form",
        "separator",
        "accent",
        "accentunder",
        "movablelimits",
        "largeop",
        "symmetric",
        "minsize",
        "maxsize",
        "linethickness",
        "width",
        "height",
        "depth",
        "lspace",
        "rspace",
        "voffset",
        "columnalign",
        "rowalign",
        "columnspacing",
        "rowspacing",
        "columnlines",
        "rowlines",
        "frame",
        "notation",
        "mathsize",
        "mathcolor",
        "mathbackground",
    ]
)
_VALUE = re.compile(r"[\w #.%+-]*", re.ASCII)
_ALIGNED = re.compile(r"\\(?P<edge>begin|end)\{aligned\}")
"""An environment that the converter does not support; ``split`` renders the same."""
_ROW_OF_ONE = re.compile(r"<mrow>(<(m[in])>[^<]*</\2>)</mrow>")
_ONLY_ROW = re.compile(r"^(<math[^>]*>)<mrow>(.*)</mrow>(</math>)$", re.DOTALL)
_CODE = re.compile(r"&#x([0-9A-F]{5});")
_STRETCHED = re.compile(
    r' stretchy="true" fence="true"(?= form="(?:pre|post)fix">[()\[\]{}|⌊⌋⌈⌉]</mo>)'
)
"""Attributes that a bracket has by default (MathML Core, operator dictionary)."""
MAX_CHARACTERS = 20_000  # of a formula that is converted


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@cache
def typeset(latex: str, display: str) -> str:
    r"""Return a formula as MathML, or its source as code if it is damaged or contains more than a formula.

    The converter passes unknown input through, such as tags in ``\text`` and targets of ``\href``. Its result is used
    only if all elements and attributes are in ELEMENTS and ATTRIBUTES, so that a formula cannot inject HTML.
    """
    try:
        markup = (
            str(convert(_ALIGNED.sub(r"\\\g<edge>{split}", latex), display=display))
            if len(latex) <= MAX_CHARACTERS
            else ""
        )
    except Exception:  # noqa: BLE001  the converter's errors for damaged formulas are of many types
        markup = ""
    return _short(markup) if is_formula(markup) else f"<code>{escape(latex)}</code>"


def _short(markup: str) -> str:
    """Shorten a formula: drop the namespace, inline display, a single outer row, and character codes of letters."""
    plain = _ONLY_ROW.sub(r"\1\2\3", markup) if _has_one_row(markup) else markup
    plain = plain.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "").replace(
        ' display="inline"', ""
    )
    letters = _CODE.sub(
        lambda match: escape(chr(int(match[1], 16))), _ROW_OF_ONE.sub(r"\1", plain)
    )
    return _STRETCHED.sub("", letters)


def _has_one_row(markup: str) -> bool:
    root = ElementTree.fromstring(markup)
    return len(root) == 1 and not root.text


def is_formula(markup: str) -> bool:
    """Test whether a text is MathML without links, scripts, styles or elements of HTML."""
    try:
        root = ElementTree.fromstring(markup)
    except ElementTree.ParseError:
        return False
    return root.tag == f"{MATHML}math" and all(
        element.tag.startswith(MATHML)
        and element.tag.removeprefix(MATHML) in ELEMENTS
        and all(
            name in ATTRIBUTES and _VALUE.fullmatch(value)
            for name, value in element.attrib.items()
        )
        for element in root.iter()
    )


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(
        f'<span class="math-inline">{typeset(node.astext(), "inline")}</span>'
    )
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(
        f'<div class="math-block">{typeset(node.astext(), "block")}</div>\n'
    )
    raise nodes.SkipNode
