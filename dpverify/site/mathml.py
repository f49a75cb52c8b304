"""A Sphinx extension: formulas as MathML, which browsers set themselves, without a script and without a network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from latex2mathml.exceptions import (
    ExtraLeftOrMissingRightError,
    MissingEndError,
    NoAvailableTokensError,
    NumeratorNotFoundError,
)
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

DAMAGED = (ExtraLeftOrMissingRightError, MissingEndError, NoAvailableTokensError, NumeratorNotFoundError)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def typeset(latex: str, display: str) -> str:
    """A formula as MathML; one of a damaged text, whose brackets do not close, as it stands in the quotation."""
    try:
        return str(convert(latex, display=display))
    except DAMAGED:
        return f"<code>{escape(latex)}</code>"


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(f'<span class="math-inline">{typeset(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math-block">{typeset(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode
