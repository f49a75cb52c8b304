"""GitHub-flavoured markdown from plain text: every special character is escaped here and nowhere else.

Inline formulas are written ``$`...`$`` and displayed ones as a fence named ``math``. Both forms keep GitHub's
markdown parser away from underscores and backslashes; the plain dollar form does not.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from dpverify.report.typeset.formulas import typeset
from dpverify.report.typeset.quotation import with_formulas_marked

_SPANS = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:.+?)(?<!`)(?P=ticks)(?!`))"
    r"|(?<!\\)\$\$(?P<display>.+?)\$\$"
    r"|(?<![\\$])\$(?P<math>[^$`]+)\$(?!\d)"
    r"|(?P<tag></?su[bp]>)",
    re.DOTALL,
)
_DISPLAY = re.compile(r"(?<!\\)\$\$(.+?)\$\$", re.DOTALL)
_SPECIAL = re.compile(r"[\\`$~*]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINE_START = re.compile(
    r"^(?P<before>[ \t]*\d+(?=[.)](?:\s|$))|[ \t]*(?=#+(?:\s|$)|>|[+-](?:\s|$)|(?:=+|-+)[ \t]*$))", re.MULTILINE
)
_BARS = re.compile(r"\\\\|\\\||\|")
_DOLLAR = re.compile(r"(?<!\\)\$")  # it would end the formula
_OPERATOR_NAME = re.compile(r"\\operatorname\*?(?=\s*\{)")


def escape(text: str, *, emphasis: bool = False, inside_line: bool = False) -> str:
    """Plain text as markdown that shows exactly that text."""
    out = _ENTITY.sub("&amp;", text)
    out = _SPECIAL.sub(lambda m: m[0] if emphasis and m[0] == "*" else "\\" + m[0], out)
    out = _TAG.sub("&lt;", out)
    lead = "." if inside_line else ""
    return _LINE_START.sub(r"\g<before>\\", lead + out)[len(lead) :]


def prose(text: str, *, emphasis: bool = False) -> str:
    r"""Text in which code spans, ``$...$``, ``<sub>`` and ``<sup>`` keep their meaning and all else is escaped."""
    parts: list[str] = []
    end = 0
    for span in _SPANS.finditer(text):
        parts.append(escape(text[end : span.start()], emphasis=emphasis, inside_line=end > 0))
        formula = span["math"] or span["display"]
        if formula:
            parts.append(inline_math(formula))
        elif span["code"] and ("\n" in span[0] or len(span["ticks"]) > 2):
            parts.append(code(span[0].strip("`")))  # it would be a block, and might be a directive
        else:
            parts.append(span[0])
        end = span.end()
    parts.append(escape(text[end:], emphasis=emphasis, inside_line=end > 0))
    return "".join(parts)


def explanation(text: str) -> str:
    """What we write about a claim: as :func:`prose`, with its formulas typeset and its claims and commands as code."""
    return prose(typeset(text))


def code(text: str) -> str:
    """A code span that holds ``text``, whatever backticks are in it."""
    flat = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", flat)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}" if flat else ""


def _github_latex(latex: str) -> str:
    r"""LaTeX without the macros GitHub refuses (``\operatorname``)."""
    return _OPERATOR_NAME.sub(r"\\mathrm", latex).strip()


def inline_math(latex: str) -> str:
    r"""An inline formula. Bars become ``\vert`` and ``\Vert``, so that it can stand in a table."""
    names = {"|": r"\vert ", r"\|": r"\Vert "}
    latex = _DOLLAR.sub(r"\\$", _github_latex(latex))
    flat = " ".join(_BARS.sub(lambda m: names.get(m[0], m[0]), latex).split())
    return f"$`{flat.replace('`', chr(39))}`$" if flat else ""


def math_block(latex: str) -> str:
    """A displayed formula."""
    latex = _github_latex(latex).replace("`", "'")
    lines = [line.rstrip() for line in latex.splitlines() if line.strip()]
    return "\n".join(["```math", *lines, "```"])


def quote(text: str) -> str:
    """A quotation of a paper, its formulas typeset and its line breaks kept."""
    blocks: list[str] = []
    for number, piece in enumerate(_DISPLAY.split(with_formulas_marked(text))):
        if number % 2:
            blocks.append(math_block(piece))
            continue
        for paragraph in re.split(r"\n\s*\n", piece):
            lines = [prose(line.strip(), emphasis=True) for line in paragraph.splitlines() if line.strip()]
            blocks.extend(["\\\n".join(lines)] if lines else [])
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """A table of markdown fragments."""
    body: list[str] = []
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"row={list(row)!r}: a row has {len(row)} cells where the header has {len(header)}")
        body.append("| " + " | ".join(map(cell, row)) + " |")
    if not body:
        return ""
    rule = "| " + " | ".join("---:" if column in right else "---" for column in range(len(header))) + " |"
    return "\n".join(["| " + " | ".join(map(cell, header)) + " |", rule, *body])


def cell(fragment: str) -> str:
    """A markdown fragment as it must stand in a table: one line, no bare pipe."""
    return fragment.strip().replace("|", r"\|").replace("\n", "<br>")


def anchor(name: str) -> str:
    """A place that a link can point to."""
    return f'<a id="{html.escape(name)}"></a>'


def link(text: str, target: str) -> str:
    """A link; ``text`` is markdown."""
    return f"[{text}]({target})"


def folded(summary: str, block: str) -> str:
    """A block that a reader opens; ``summary`` is plain text. Where HTML is not shown it is simply there."""
    return f"<details>\n<summary>{escape(summary, inside_line=True)}</summary>\n\n{block}\n\n</details>"


def bullets(items: Iterable[str]) -> str:
    """A list of markdown fragments, one line each."""
    return "\n".join(f"- {one_line(item)}" for item in items)


def one_line(fragment: str) -> str:
    """A fragment without line ends, and with single blanks."""
    return " ".join(fragment.split())


def document(blocks: Iterable[str]) -> str:
    """Blocks with one empty line between them and a newline at the end; empty blocks are left out."""
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"
