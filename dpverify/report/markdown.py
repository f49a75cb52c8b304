"""GitHub-flavoured markdown from plain text and quotations. Only this module escapes special characters.

Inline formulas are written
``$`...`$`` and displayed formulas as a fence named ``math``. Both forms keep GitHub's
markdown parser away from underscores and backslashes; the plain dollar form does not.

This module also finds the formulas in quotations of papers. Transcribed papers write ``$...$`` and ``$$...$$``, but an
excerpt may begin or end inside such a formula, and some symbols have no dollar signs. The markdown adds the missing
dollar signs. The text of the record is not changed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from dpverify.report.text.tex import tex_text
from dpverify.report.typesetting import typeset

_DELIMITER = re.compile(r"(?<!\\)(\$\$?)")
_COMMAND = re.compile(r"\\[a-zA-Z]+|[_^]\{")
_MARKED_WORDS = re.compile(
    r"\\(?:text\w*|math[a-z]+|operatorname\*?|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+"
)
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]{4,}(?![A-Za-z])")
_SYMBOL = re.compile(r"[A-Za-z][_^][A-Za-z0-9]\W*")
_OPERATOR = re.compile(r"[-+=<>/*|]|[A-Za-z0-9],?")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-z]+\*?)\}")
_STRETCHED = re.compile(r"\\(?:left|right)(?![a-zA-Z])\s*(?:\.(?!\w))?")
_ROWS_END = re.compile(r"(?:\s|\\\\|&)+\Z|\A(?:\s|\\\\)+")


def with_formulas_marked(text: str) -> str:
    """Return a quotation in which exactly the formulas are between dollar signs."""
    parts = _DELIMITER.split(text.strip())
    pieces = parts[::2]
    delimiters = ["", *parts[1::2], ""]
    starts_inside = _count_contradictions(
        pieces, starts_inside=True
    ) < _count_contradictions(pieces, starts_inside=False)
    marked: list[str] = []
    for number, piece in enumerate(pieces):
        is_formula = (number % 2 == 0) == starts_inside
        at_edge = number in {0, len(pieces) - 1}
        if not is_formula and not (at_edge and is_only_formula(piece)):
            marked.append(_words_and_symbols(piece))
        elif not piece.strip():
            marked.append(piece)
        else:
            is_inline = is_formula and "$" in delimiters[number : number + 2]
            marked.append(_delimited(piece, "$" if is_inline else "$$"))
    return "".join(marked)


def _delimited(piece: str, delimiter: str) -> str:
    """Return a formula between delimiters, or as code in plain text if its transcription is damaged."""
    formula = complete_formula(piece)
    is_damaged = formula.count("{") - formula.count(r"\{") != formula.count(
        "}"
    ) - formula.count(r"\}")
    return code(tex_text(piece)) if is_damaged else f"{delimiter}{formula}{delimiter}"


def _count_contradictions(pieces: Sequence[str], *, starts_inside: bool) -> int:
    """Count the pieces that contradict the assumption that the quotation starts inside (or outside) a formula."""
    contradictions = 0
    for number, piece in enumerate(pieces):
        if (number % 2 == 0) == starts_inside:
            contradictions += has_words(piece)
        else:
            contradictions += _COMMAND.search(piece) is not None
    return contradictions


def has_words(latex: str) -> bool:
    """Test whether LaTeX contains words of prose that are not marked as text."""
    return _WORD.search(_MARKED_WORDS.sub(" ", latex)) is not None


def is_only_formula(piece: str) -> bool:
    """Test whether a piece without dollar signs is entirely a formula."""
    return _COMMAND.search(piece) is not None and not has_words(piece)


def _words_and_symbols(text: str) -> str:
    """Return a text with dollar signs around the symbols that have none."""
    tokens = re.split(r"(\s+)", text)
    is_symbol = [_COMMAND.search(token) is not None for token in tokens]
    if not any(is_symbol):
        return text
    is_symbol = [
        marked or _SYMBOL.fullmatch(token) is not None
        for token, marked in zip(tokens, is_symbol, strict=True)
    ]
    for place in range(2, len(tokens) - 2, 2):
        joins = is_symbol[place - 2] and is_symbol[place + 2]
        is_symbol[place] = is_symbol[place] or (
            joins and _OPERATOR.fullmatch(tokens[place]) is not None
        )
    for place in range(1, len(tokens), 2):
        is_symbol[place] = is_symbol[place - 1] and is_symbol[place + 1]
    return "".join(
        _formula_with_rest(run) if symbol else run
        for symbol, run in _runs(tokens, is_symbol)
    )


def _runs(
    tokens: Sequence[str], is_symbol: Sequence[bool]
) -> Iterator[tuple[bool, str]]:
    """Yield joined runs of neighbouring tokens of the same kind, each with its kind."""
    start = 0
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or is_symbol[place] != is_symbol[start]:
            yield is_symbol[start], "".join(tokens[start:place])
            start = place


def _formula_with_rest(symbols: str) -> str:
    formula = symbols.rstrip(",.:; ")
    return f"{_delimited(formula, '$')}{symbols[len(formula) :]}"


def complete_formula(latex: str) -> str:
    r"""Return a formula that an excerpt may have cut, without unmatched environments, ``\left`` and ``\right``."""
    formula = _without_cut_environments(latex)
    formula = _ROWS_END.sub("", formula).strip()
    if len(re.findall(r"\\left(?![a-zA-Z])", formula)) != len(
        re.findall(r"\\right(?![a-zA-Z])", formula)
    ):
        formula = _STRETCHED.sub("", formula)
    has_rows = (
        re.search(r"\\\\|(?<!\\)&", _without_whole_environments(formula)) is not None
    )
    return rf"\begin{{split}} {formula} \end{{split}}" if has_rows else formula


def _without_cut_environments(latex: str) -> str:
    """Return a formula without the unmatched beginnings and ends of environments."""
    open_places: list[re.Match[str]] = []
    cut: list[re.Match[str]] = []
    for edge in _ENVIRONMENT.finditer(latex):
        if edge[1] == "begin":
            open_places.append(edge)
        elif open_places and open_places[-1][2] == edge[2]:
            open_places.pop()
        else:
            cut.append(edge)
    for edge in sorted(
        [*open_places, *cut], key=lambda edge: edge.start(), reverse=True
    ):
        latex = latex[: edge.start()] + latex[edge.end() :]
    return latex


def _without_whole_environments(latex: str) -> str:
    return re.sub(r"\\begin\{([a-z]+\*?)\}.*?\\end\{\1\}", "", latex, flags=re.DOTALL)


_LAYOUT = re.compile(r"\s+|&|\\[,;!]|\\(?:left|right|quad|displaystyle)(?![A-Za-z])")
_ONE_TOKEN = re.compile(r"\{(\w|\\[A-Za-z]+)\}")
_FRACTION = re.compile(r"\(\\frac\{(\w)\}\{(\w|\\[A-Za-z]+)\}\)")
_LOGARITHM = re.compile(
    r"(\\log(?:_\w)?)\((\w)\)(?=\Z|[^\w(\\]|\\(?:sqrt|le|ge)(?![a-z]))"
)
_CANONICAL = {
    r"\leq": r"\le",
    r"\geq": r"\ge",
    r"\Vert": r"\|",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\vert": "|",
}
_VARIANTS = re.compile(r"\\(?:leq|geq|lVert|rVert|Vert|vert)(?![A-Za-z])")


def quotes_formula(quotation: str, latex: str) -> bool:
    """Test whether a quotation has a long formula, up to spaces, sizes, single-letter brackets and simple fractions."""
    formulas = re.split(r"\$+|\\\\", with_formulas_marked(quotation))
    return len(latex) > MAX_REPEATED and _plain(latex) in {
        _plain(formula) for formula in formulas
    }


MAX_REPEATED = 12  # a formula of at most this many characters may be shown twice


def _plain(latex: str) -> str:
    plain = _LAYOUT.sub("", _VARIANTS.sub(lambda match: _CANONICAL[match[0]], latex))
    plain = _ONE_TOKEN.sub(r"\1", _FRACTION.sub(r"(\1/\2)", plain))
    plain = _LOGARITHM.sub(r"\1\2", plain)
    return _ENVIRONMENT.sub("", plain).rstrip(".,;")


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
    r"^(?P<before>[ \t]*\d+(?=[.)](?:\s|$))|[ \t]*(?=#+(?:\s|$)|>|[+-](?:\s|$)|(?:=+|-+)[ \t]*$))",
    re.MULTILINE,
)
_BARS = re.compile(r"\\\\|\\\||\|")
_DOLLAR = re.compile(r"(?<!\\)\$")  # an unescaped dollar sign would end the formula
_OPERATOR_NAME = re.compile(r"\\operatorname\*?(?=\s*\{)")


def escape(text: str, *, emphasis: bool = False, inside_line: bool = False) -> str:
    """Return markdown that shows exactly the given plain text."""
    out = _ENTITY.sub("&amp;", text)
    out = _SPECIAL.sub(lambda m: m[0] if emphasis and m[0] == "*" else "\\" + m[0], out)
    out = _TAG.sub("&lt;", out)
    lead = "." if inside_line else ""
    return _LINE_START.sub(r"\g<before>\\", lead + out)[len(lead) :]


def prose(text: str, *, emphasis: bool = False) -> str:
    r"""Return text as markdown, escaping everything except code spans, ``$...$``, ``<sub>`` and ``<sup>``."""
    parts: list[str] = []
    end = 0
    for span in _SPANS.finditer(text):
        parts.append(
            escape(text[end : span.start()], emphasis=emphasis, inside_line=end > 0)
        )
        formula = span["math"] or span["display"]
        if formula:
            parts.append(inline_math(formula))
        elif span["code"] and ("\n" in span[0] or len(span["ticks"]) > 2):
            # without this, the span would start a block, perhaps a directive
            parts.append(code(span[0].strip("`")))
        else:
            parts.append(span[0])
        end = span.end()
    parts.append(escape(text[end:], emphasis=emphasis, inside_line=end > 0))
    return "".join(parts)


def explanation(text: str) -> str:
    """Return our prose about a claim like :func:`prose`, with formulas typeset and with claims and commands as code."""
    return prose(typeset(text))


def code(text: str) -> str:
    """Return a code span with ``text``, which may contain backticks."""
    flat = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", flat)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}" if flat else ""


def _github_latex(latex: str) -> str:
    r"""Return LaTeX without the macros that GitHub refuses (``\operatorname``)."""
    return _OPERATOR_NAME.sub(r"\\mathrm", latex).strip()


def inline_math(latex: str) -> str:
    r"""Return an inline formula, with bars written as ``\vert`` and ``\Vert`` so that it fits in a table."""
    names = {"|": r"\vert ", r"\|": r"\Vert "}
    latex = _DOLLAR.sub(r"\\$", _github_latex(latex))
    flat = " ".join(_BARS.sub(lambda m: names.get(m[0], m[0]), latex).split())
    return f"$`{flat.replace('`', chr(39))}`$" if flat else ""


def math_block(latex: str) -> str:
    """Return a displayed formula."""
    latex = _github_latex(latex).replace("`", "'")
    lines = [line.rstrip() for line in latex.splitlines() if line.strip()]
    return "\n".join(["```math", *lines, "```"])


def quote(text: str) -> str:
    """Return a quotation of a paper with typeset formulas and its original line breaks."""
    blocks: list[str] = []
    for number, piece in enumerate(_DISPLAY.split(with_formulas_marked(text))):
        if number % 2:
            blocks.append(math_block(piece))
            continue
        for paragraph in re.split(r"\n\s*\n", piece):
            lines = [
                prose(line.strip(), emphasis=True)
                for line in paragraph.splitlines()
                if line.strip()
            ]
            blocks.extend(["\\\n".join(lines)] if lines else [])
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()
) -> str:
    """Return a table of markdown fragments; empty without rows. ``right`` has the indices of right-aligned columns."""
    body: list[str] = []
    for row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"row={list(row)!r}: a row has {len(row)} cells where the header has {len(header)}"
            )
        body.append("| " + " | ".join(map(cell, row)) + " |")
    if not body:
        return ""
    rule = (
        "| "
        + " | ".join(
            "---:" if column in right else "---" for column in range(len(header))
        )
        + " |"
    )
    return "\n".join(["| " + " | ".join(map(cell, header)) + " |", rule, *body])


def cell(fragment: str) -> str:
    """Return a markdown fragment for a table cell: on one line, with pipes escaped."""
    return fragment.strip().replace("|", r"\|").replace("\n", "<br>")


def anchor(name: str) -> str:
    """Return an anchor for links."""
    return f'<a id="{html.escape(name)}"></a>'


def link(text: str, target: str) -> str:
    """Return a link; ``text`` is markdown."""
    return f"[{text}]({target})"


def details_block(summary: str, block: str) -> str:
    """Return a block that the reader can unfold; ``summary`` is plain text. Without HTML the block is always shown."""
    return f"<details>\n<summary>{escape(summary, inside_line=True)}</summary>\n\n{block}\n\n</details>"


def bullets(items: Iterable[str]) -> str:
    """Return a list of markdown fragments, one line each."""
    return "\n".join(f"- {one_line(item)}" for item in items)


def one_line(fragment: str) -> str:
    """Return a fragment without line ends and with single blanks."""
    return " ".join(fragment.split())


def document(blocks: Iterable[str]) -> str:
    """Join blocks with one empty line between them and a newline at the end, without empty blocks."""
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"
