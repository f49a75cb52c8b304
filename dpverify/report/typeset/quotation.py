r"""Quotations of papers: which part of a transcribed text is a formula and which part is words.

Transcribed papers write ``$...$`` and ``$$...$$``. An excerpt may begin or end inside such a formula, and some symbols
have no dollar signs. The text of a record is never changed; here it is completed to markdown that displays it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dpverify.report.text.tex import tex_text

_DELIMITER = re.compile(r"(?<!\\)(\$\$?)")
_COMMAND = re.compile(r"\\[a-zA-Z]+|[_^]\{")
_MARKED_WORDS = re.compile(r"\\(?:text\w*|math[a-z]+|operatorname\*?|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]{4,}(?![A-Za-z])")
_SYMBOL = re.compile(r"[A-Za-z][_^][A-Za-z0-9]\W*")
_OPERATOR = re.compile(r"[-+=<>/*|]|[A-Za-z0-9],?")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-z]+\*?)\}")
_STRETCHED = re.compile(r"\\(?:left|right)(?![a-zA-Z])\s*(?:\.(?!\w))?")
_ROWS_END = re.compile(r"(?:\s|\\\\|&)+\Z|\A(?:\s|\\\\)+")


def with_formulas_marked(text: str) -> str:
    """A quotation in which every formula, and nothing else, is between dollar signs."""
    parts = _DELIMITER.split(text.strip())
    pieces = parts[::2]
    delimiters = ["", *parts[1::2], ""]
    starts_inside = _misread(pieces, starts_inside=True) < _misread(pieces, starts_inside=False)
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
    """A formula between delimiters, or readable text as code if its transcription is damaged and cannot be typeset."""
    formula = mended(piece)
    is_damaged = formula.count("{") - formula.count(r"\{") != formula.count("}") - formula.count(r"\}")
    return f"`{tex_text(piece.strip())}`" if is_damaged else f"{delimiter}{formula}{delimiter}"


def _misread(pieces: Sequence[str], *, starts_inside: bool) -> int:
    """How many pieces are of the wrong kind if the quotation starts inside a formula, or outside."""
    wrong = 0
    for number, piece in enumerate(pieces):
        is_formula = (number % 2 == 0) == starts_inside
        wrong += has_words(piece) if is_formula else _COMMAND.search(piece) is not None
    return wrong


def has_words(latex: str) -> bool:
    """Whether LaTeX has words of a language that are not marked as text."""
    return _WORD.search(_MARKED_WORDS.sub(" ", latex)) is not None


def is_only_formula(piece: str) -> bool:
    """Whether a piece without dollar signs is a formula and nothing else."""
    return _COMMAND.search(piece) is not None and not has_words(piece)


def _words_and_symbols(text: str) -> str:
    """Words, with dollar signs around the symbols among them that have none."""
    tokens = re.split(r"(\s+)", text)
    is_symbol = [_COMMAND.search(token) is not None for token in tokens]
    if not any(is_symbol):
        return text
    is_symbol = [
        marked or _SYMBOL.fullmatch(token) is not None for token, marked in zip(tokens, is_symbol, strict=True)
    ]
    for place in range(2, len(tokens) - 2, 2):
        joins = is_symbol[place - 2] and is_symbol[place + 2]
        is_symbol[place] = is_symbol[place] or (joins and _OPERATOR.fullmatch(tokens[place]) is not None)
    for place in range(1, len(tokens), 2):
        is_symbol[place] = is_symbol[place - 1] and is_symbol[place + 1]
    return "".join(_marked(run) if symbol else run for symbol, run in _runs(tokens, is_symbol))


def _runs(tokens: Sequence[str], is_symbol: Sequence[bool]) -> Iterator[tuple[bool, str]]:
    """Yield neighbouring tokens of one kind, joined."""
    start = 0
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or is_symbol[place] != is_symbol[start]:
            yield is_symbol[start], "".join(tokens[start:place])
            start = place


def _marked(symbols: str) -> str:
    formula = symbols.rstrip(",.:; ")
    return f"{_delimited(formula, '$')}{symbols[len(formula) :]}"


def mended(latex: str) -> str:
    """A formula that an excerpt may have cut, with what belongs to the missing part left out or completed."""
    formula = _without_cut_environments(latex)
    formula = _ROWS_END.sub("", formula).strip()
    if len(re.findall(r"\\left(?![a-zA-Z])", formula)) != len(re.findall(r"\\right(?![a-zA-Z])", formula)):
        formula = _STRETCHED.sub("", formula)
    has_rows = re.search(r"\\\\|(?<!\\)&", _without_whole_environments(formula)) is not None
    return rf"\begin{{split}} {formula} \end{{split}}" if has_rows else formula


def _without_cut_environments(latex: str) -> str:
    """A formula without the beginnings of environments that do not end in it, and the ends of those begun before."""
    open_places: list[re.Match[str]] = []
    cut: list[re.Match[str]] = []
    for edge in _ENVIRONMENT.finditer(latex):
        if edge[1] == "begin":
            open_places.append(edge)
        elif open_places and open_places[-1][2] == edge[2]:
            open_places.pop()
        else:
            cut.append(edge)
    for edge in sorted([*open_places, *cut], key=lambda edge: edge.start(), reverse=True):
        latex = latex[: edge.start()] + latex[edge.end() :]
    return latex


def _without_whole_environments(latex: str) -> str:
    return re.sub(r"\\begin\{([a-z]+\*?)\}.*?\\end\{\1\}", "", latex, flags=re.DOTALL)


_LAYOUT = re.compile(r"\s+|&|\\[,;!]|\\(?:left|right|quad|displaystyle)(?![A-Za-z])")
_ONE_TOKEN = re.compile(r"\{(\w|\\[A-Za-z]+)\}")
_FRACTION = re.compile(r"\(\\frac\{(\w)\}\{(\w|\\[A-Za-z]+)\}\)")
_LOGARITHM = re.compile(r"(\\log(?:_\w)?)\((\w)\)(?=\Z|[^\w(\\]|\\(?:sqrt|le|ge)(?![a-z]))")
_SAME = {r"\leq": r"\le", r"\geq": r"\ge", r"\Vert": r"\|", r"\lVert": r"\|", r"\rVert": r"\|", r"\vert": "|"}
_ALIKE = re.compile(r"\\(?:leq|geq|lVert|rVert|Vert|vert)(?![A-Za-z])")


def quotes_formula(quotation: str, latex: str) -> bool:
    """Whether a whole formula of a quotation is this one, but for spaces, sizes, brackets of one letter and 1/x."""
    formulas = re.split(r"\$+|\\\\", with_formulas_marked(quotation))
    return len(latex) > SHORT and _plain(latex) in {_plain(formula) for formula in formulas}


SHORT = 12  # letters of a formula that costs a reader nothing to see twice


def _plain(latex: str) -> str:
    plain = _LAYOUT.sub("", _ALIKE.sub(lambda match: _SAME[match[0]], latex))
    plain = _ONE_TOKEN.sub(r"\1", _FRACTION.sub(r"(\1/\2)", plain))
    plain = _LOGARITHM.sub(r"\1\2", plain)
    return _ENVIRONMENT.sub("", plain).rstrip(".,;")
