"""Fences of markdown that others wrote: none of them is a directive."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^(?P<fence>[ \t>\d.)*+-]*(?:`{3,}|~{3,}|:{3,}))(?P<info>[ \t]*(?:\\*\{|&)[^\n]*)$", re.MULTILINE)


def plain_fences(text: str) -> str:
    """Markdown in which no fence is a directive, such as ``{include}``: its content is shown as it is."""
    return _FENCE.sub(r"\g<fence>text", text)
