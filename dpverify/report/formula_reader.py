"""Read a formula in plain text: find where it ends, and write it as LaTeX.

The grammar is small. LaTeX is written token by token and in order, so that no bracket and no operator is added or
removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_GREEK = "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega"
_UNICODE = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "λ": "lambda",
    "μ": "mu",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "ω": "omega",
}
_OPERATORS = {
    "log": r"\log",
    "log2": r"\log_2",
    "ln": r"\ln",
    "exp": r"\exp",
    "min": r"\min",
    "max": r"\max",
    "popcount": r"\mathrm{popcount}",
    "lowbit": r"\mathrm{lowbit}",
    "COMPOSE": r"\mathrm{COMPOSE}",
    "O~": r"\tilde{O}",
}
_FENCES = {"floor": (r"\lfloor", r"\rfloor"), "ceil": (r"\lceil", r"\rceil")}
_RELATIONS = {
    "<=": r"\le",
    ">=": r"\ge",
    "!=": r"\ne",
    "==": "=",
    "=": "=",
    "<": "<",
    ">": ">",
    "|": r"\mid",
}
_SIGNS = {"+": "+", "-": "-", "*": r"\cdot", "/": "/"}
CLOSING = {"(": ")", "[": "]"}

_NAME = rf"(?:{_GREEK}|NOISE|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega|[α-ω]|[a-z](?=[A-Z](?![A-Za-z]))|[A-Za-z])"
_SYMBOL = re.compile(
    rf"(?P<name>{_NAME})(?:-(?P<accent>hat|bar|tilde)(?![A-Za-z])|(?P<tilde>~)(?!\w))?"
    rf"(?P<sub>_(?:\{{(?:[^{{}}$`]|\{{[^{{}}$`]*\}})*\}}|\[[\w,+-]*\]|\([\w+-]+\)"
    rf"|(?:<=|>=|<|>)?(?:{_GREEK}|Delta|Mon|IN|OUT|[A-Za-z0-9])[0-9N]*))?(?P<prime>'?)(?![A-Za-z_])"
)
# the first letter of ``jN``, which is a product
_PRODUCT = re.compile(r"[a-z](?=[A-Z](?![A-Za-z_]))")
_HYPHENATED = re.compile("-[A-Za-z]{2}")
NUMBER = re.compile(
    r"\d+(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w*[.]\w)(?![A-Za-z]{2,}|_)"
)
_EXPONENTIAL = re.compile(r"(\d+(?:\.\d+)?)e([+-]?)0*(\d+)")
_OPERATOR = re.compile(
    r"(log2|log|ln|exp|min|max|popcount|lowbit|COMPOSE|O~(?=\()|sqrt|floor|ceil|grad)(?![A-Za-z0-9_-])"
)
WORDS = frozenset("aAI")  # single letters that are words
_BARE_LOGARITHM = re.compile(r"(?:log2?|ln) ")
RELATION = re.compile(r"\s*(<=|>=|!=|==|=|<|>)\s*|(?<=[A-Z])\s+(\|)\s+")
_SIGN = re.compile(r"\s+([-+*/])\s+|([-+*/])(?!\s)")


@dataclass(frozen=True)
class Piece:
    """A part of a formula: where it ends in the text, its LaTeX, and whether it is clearly mathematics."""

    end: int
    latex: str
    is_clear: bool


def closing_end(text: str, place: int) -> int:
    """Return the end of the bracketed text that starts at a place; -1 if the bracket is not closed."""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] in "([") - (text[end] in ")]")
        if depth == 0:
            return end + 1
    return -1


def read_formula(text: str, place: int) -> Piece | None:
    """Parse sums with relations between them. Return None if no formula starts at the place."""
    side = _sum(text, place)
    while side is not None:
        relation = RELATION.match(text, side.end)
        following = _sum(text, relation.end()) if relation else None
        if relation is None or following is None:
            break
        value = NUMBER.match(text, relation.end())
        if (
            value
            and RELATION.match(text, following.end)
            and following.end > value.end() + 1
            and text[value.end()] == " "
        ):
            # ``At N = 1 V = 0``: the value ends the first formula
            return Piece(
                value.end(),
                f"{side.latex} {_RELATIONS[relation[1] or relation[2]]} {value[0]}",
                True,
            )
        side = Piece(
            following.end,
            f"{side.latex} {_RELATIONS[relation[1] or relation[2]]} {following.latex}",
            True,
        )
    return side


def _sum(text: str, place: int) -> Piece | None:
    """Parse factors with signs between them, and products without a sign."""
    minus = text.startswith("-", place)
    total = _factor(text, place + minus)
    if total is None:
        return None
    total = Piece(total.end, f"{'-' * minus}{total.latex}", total.is_clear)
    while True:
        sign = _SIGN.match(text, total.end)
        following = _factor(text, sign.end()) if sign else None
        if sign and following:
            symbol = sign[1] or sign[2]
            is_tight = sign[1] is None and symbol != "*"
            latex = _joined(
                total.latex,
                _SIGNS[symbol] if is_tight else f" {_SIGNS[symbol]} ",
                following.latex,
            )
            is_arithmetic = (
                not total.is_clear
                and not following.is_clear
                and not re.search("[A-Za-z]", latex)
            )
            total = Piece(following.end, latex, not is_arithmetic)
            continue
        following = _next_factor(text, total)
        if following is None:
            return total
        total = Piece(following.end, _joined(total.latex, "", following.latex), True)


def _joined(left: str, between: str, right: str) -> str:
    """Join LaTeX, with a blank if a letter would otherwise become a part of the command before it."""
    blank = (
        " "
        if not between and re.search(r"\\[A-Za-z]+$", left) and right[0].isalpha()
        else between
    )
    return f"{left}{blank}{right}"


def _next_factor(text: str, piece: Piece) -> Piece | None:
    """Parse the next factor of a product without a sign: ``2 eta N``, ``2N``, ``4 (1 - beta)``."""
    place = piece.end + (text[piece.end : piece.end + 1] == " ")
    if (
        place >= len(text)
        or text[place].isdigit()
        or text[place] in "[-"
        or text.startswith("| ", place)
    ):
        return None
    following = _factor(text, place)
    if following is None:
        return None
    written = text[place : following.end]
    if text[piece.end - 1].isdigit() and _BARE_LOGARITHM.match(written):
        return None  # ``At t = 1 log t is 0``: the number ends the first formula
    is_aside = written[0] == "(" and (
        not following.is_clear or re.search("[<>=,]", written)
    )
    return None if written in WORDS or is_aside else following


def _factor(text: str, place: int) -> Piece | None:
    """Parse a number, a letter, a function or a bracket, with its exponent."""
    base = _base(text, place)
    if base is None or not text.startswith("^", base.end):
        return base
    braces = re.compile(r"\^\{([^{}$`]*)\}").match(text, base.end)
    if braces:
        return Piece(braces.end(), f"{base.latex}^{_grouped(_inside(braces[1]))}", True)
    start = base.end + 1
    minus = text.startswith("-", start)
    if text.startswith("(", start):
        end = closing_end(text, start)
        exponent = _sum(text, start + 1)
        if exponent is None or exponent.end != end - 1:
            return None
        return Piece(end, f"{base.latex}^{_grouped(exponent.latex)}", True)
    exponent = _base(text, start + minus)
    if exponent is None:
        return None
    return Piece(
        exponent.end, f"{base.latex}^{_grouped('-' * minus + exponent.latex)}", True
    )


def _base(text: str, place: int) -> Piece | None:
    if operator := _OPERATOR.match(text, place):
        return _applied(text, operator)
    if number := NUMBER.match(text, place):
        return Piece(number.end(), _EXPONENTIAL.sub(_power_of_ten, number[0]), False)
    if symbol := _SYMBOL.match(text, place) or _PRODUCT.match(text, place):
        is_word = len(symbol[0]) == 1 and _HYPHENATED.match(text, symbol.end())
        norm = (
            _base(text, symbol.end())
            if symbol[0] == "E" and text.startswith("|", symbol.end())
            else None
        )
        if norm:
            return Piece(norm.end, rf"\mathbb{{E}}{norm.latex}", True)
        return None if is_word else _letter(text, symbol)
    if text.startswith("|", place):
        inside = _sum(text, place + 1)
        closed = inside and text.startswith("|", inside.end)
        return (
            Piece(inside.end + 1, f"|{inside.latex}|", True)
            if inside and closed
            else None
        )
    if text[place : place + 1] in CLOSING:
        return _bracket(text, place)
    return None


def _grouped(latex: str) -> str:
    return latex if len(latex) == 1 else f"{{{latex}}}"


def _power_of_ten(number: re.Match[str]) -> str:
    mantissa = "" if number[1] == "1" else rf"{number[1]} \cdot "
    return f"{mantissa}10^{{{'-' if number[2] == '-' else ''}{number[3]}}}"


def _letter(text: str, symbol: re.Match[str]) -> Piece:
    """Return a letter with its accent, subscript and arguments."""
    groups = symbol.groupdict()
    name = _UNICODE.get(symbol[0][0], groups.get("name") or symbol[0])
    latex = (
        r"\mathrm{NOISE}" if name == "NOISE" else f"\\{name}" if len(name) > 1 else name
    )
    accent = "tilde" if groups.get("tilde") else groups.get("accent")
    latex = rf"\{accent}{{{latex}}}" if accent else latex
    latex += (
        f"_{_grouped(_inside(groups['sub'][1:].strip('{()}')))}"
        if groups.get("sub")
        else ""
    )
    latex += groups.get("prime") or ""
    is_clear = latex != symbol[0] or len(symbol[0]) > 1
    arguments = (
        _bracket(text, symbol.end())
        if text.startswith(("(", "["), symbol.end())
        else None
    )
    if arguments and len(name) == 1:
        return Piece(arguments.end, f"{latex}{arguments.latex}", True)
    return Piece(symbol.end(), latex, is_clear)


def _inside(subscript: str) -> str:
    """Return the LaTeX of a subscript or of an exponent in braces."""
    relation = re.match("<=|>=|<|>", subscript)
    head = f"{_RELATIONS[relation[0]]} " if relation else ""
    body = subscript[len(relation[0]) :] if relation else subscript
    piece = _sum(body, 0) if body else None
    return head + (
        piece.latex if piece and piece.end == len(body) else rf"\mathrm{{{body}}}"
    )


def _applied(text: str, operator: re.Match[str]) -> Piece | None:
    """Parse a function with its argument in brackets, or with one factor after it: ``log(1/delta)``, ``log2 N``."""
    name = operator[1]
    start = operator.end()
    if text.startswith("(", start):
        argument = _bracket(text, start)
        if argument is None:
            return None
        if name == "sqrt":
            return Piece(argument.end, rf"\sqrt{{{argument.latex[1:-1]}}}", True)
        if name in _FENCES:
            left, right = _FENCES[name]
            return Piece(argument.end, f"{left} {argument.latex[1:-1]} {right}", True)
    else:
        place = start + 1
        argument = (
            _factor(text, place)
            if text.startswith(" ", start) and name in {"log", "log2", "grad"}
            else None
        )
        if argument is None or text[place : argument.end] in WORDS:
            return None
    space = "" if argument.latex.startswith("(") else " "
    head = r"\nabla" if name == "grad" else _OPERATORS[name]
    return Piece(argument.end, f"{head}{space}{argument.latex}", True)


def _bracket(text: str, place: int) -> Piece | None:
    """Parse formulas in brackets, with commas between them. Intervals ``[a, b)`` and ``(a, b]`` are allowed."""
    parts: list[str] = []
    is_clear = False
    end = place + 1
    while True:
        piece = read_formula(text, end)
        if piece is None:
            return None
        parts.append(piece.latex)
        is_clear = is_clear or piece.is_clear
        end = piece.end
        if text.startswith(
            (")", "]") if len(parts) == 2 else CLOSING[text[place]], end
        ):
            return Piece(
                end + 1, f"{text[place]}{', '.join(parts)}{text[end]}", is_clear
            )
        comma = re.compile(r",\s*").match(text, end)
        if comma is None:
            return None
        end = comma.end()
