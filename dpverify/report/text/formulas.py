"""Formulas and statements as plain text: ``z/(2*sigma**2)`` becomes z/(2·σ²).

A statement consists of its formula, its definitions, its conditions and the domains of its letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dpverify.ledger.claims import Line
from dpverify.ledger.formula import (
    BINDERS,
    Bin,
    Call,
    Compare,
    FormulaError,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Node,
    Num,
    Sum,
    Supremum,
    decimal_text,
    parse,
    parse_relation,
)

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
}
SUPERSCRIPTS = str.maketrans("0123456789-+n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ")
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
COMPARISONS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "="}

_FENCES = {
    "floor": ("⌊", "⌋"),
    "ceil": ("⌈", "⌉"),
    "abs": ("|", "|"),
    "norm": ("‖", "‖"),
    "dot": ("⟨", "⟩"),
}
_FUNCTIONS = {"log2": "log₂", "normal_cdf": "Φ", "gamma": "Γ"}
_NAME = re.compile(r"(?P<letter>[A-Za-z]+)(?:_(?P<index>\d+))?(?P<others>_\w+)?")
_ORDER = re.compile(r"(?P<left>.+?) = (?P<order>O~?)\((?P<right>.*)\)")
_EQUATION = re.compile(r"(?P<left>[^=<>]+?) = (?P<right>[^=<>]+)")

_SUM, _PRODUCT, _SIGNED, _POWER, _ATOM = range(1, 6)
_LEVELS = {
    "+": (_SUM, _SUM, _PRODUCT),
    "-": (_SUM, _SUM, _PRODUCT),
    "*": (_PRODUCT, _PRODUCT, _SIGNED),
}
_LEVELS |= {"/": (_PRODUCT, _PRODUCT, _POWER)}


def formula_text(text: str) -> str:
    """Return a formula, relation, definition or order of the formula language as plain text."""
    if order := _ORDER.fullmatch(text):
        return f"{formula_text(order['left'])} = {order['order'].replace('O~', 'Õ')}({formula_text(order['right'])})"
    if equation := _EQUATION.fullmatch(text):
        return f"{formula_text(equation['left'])} = {formula_text(equation['right'])}"
    for read in (parse_relation, parse):
        try:
            return _write(read(text))[0]
        except FormulaError:
            continue
    return prose_text(text)


def _write(node: Node) -> tuple[str, int]:
    """Return the text of a node and its precedence."""
    match node:
        case Num(value):
            decimal = decimal_text(value)
            text = (
                decimal
                if decimal is not None
                else f"{value.numerator}/{value.denominator}"
            )
            return text, _ATOM if decimal is not None and value >= 0 else _PRODUCT
        case Name(name):
            return letter_text(name), _ATOM
        case Inf():
            return "∞", _ATOM
        case Neg(arg):
            return f"-{_operand(arg, _SIGNED)}", _SIGNED
        case Bin("**", left, right):
            return _power(_operand(left, _ATOM), _write(right)[0]), _POWER
        case Bin(operator, left, right):
            level, least_left, least_right = _LEVELS[operator]
            sign = {"*": "·", "/": "/"}.get(operator, f" {operator} ")
            return (
                f"{_operand(left, least_left)}{sign}{_operand(right, least_right)}",
                level,
            )
        case Call(name, args):
            return _call(name, [_write(arg)[0] for arg in args])
        case Infimum(body, index, low, high) | Supremum(body, index, low, high):
            span = f"{_write(low)[0]} < {letter_text(index)} < {_write(high)[0]}"
            return f"{BINDERS[type(node)][:3]}[{span}] {_operand(body, _PRODUCT)}", _SUM
        case Integral(body, index, low, high):
            span = (
                "" if node.is_over_line else f"[{_write(low)[0]} .. {_write(high)[0]}]"
            )
            return f"∫{span} {_operand(body, _PRODUCT)} d{letter_text(index)}", _SUM
        case Sum(body, index, low, high):
            span = f"{letter_text(index)} = {_write(low)[0]} .. {_write(high)[0]}"
            return f"Σ[{span}] {_operand(body, _PRODUCT)}", _SUM
        case Compare(operators, operands):
            pairs = zip(operators, operands[1:], strict=True)
            first = _write(operands[0])[0]
            return first + "".join(
                f" {COMPARISONS[sign]} {_write(operand)[0]}" for sign, operand in pairs
            ), 0


def _operand(node: Node, least: int) -> str:
    text, level = _write(node)
    return text if level >= least else f"({text})"


def _power(base: str, exponent: str) -> str:
    if re.fullmatch(r"-?\d+|n", exponent):
        return base + exponent.translate(SUPERSCRIPTS)
    return (
        f"{base}^{exponent}"
        if re.fullmatch(r"\w+", exponent)
        else f"{base}^({exponent})"
    )


def _call(name: str, args: list[str]) -> tuple[str, int]:
    inside = ", ".join(args)
    if name == "pi":
        return "π", _ATOM
    if name in _FENCES:
        left, right = _FENCES[name]
        return f"{left}{inside}{right}", _ATOM
    if name == "sqrt":
        return f"√{inside}" if re.fullmatch(r"\w+", inside) else f"√({inside})", _ATOM
    return f"{_FUNCTIONS.get(name, letter_text(name))}({inside})", _ATOM


def letter_text(name: str) -> str:
    """Return the name of a symbol as plain text: ``gamma_0`` becomes γ₀."""
    match = _NAME.fullmatch(name)
    if match is None:
        return name
    letter = match["letter"]
    index = match["index"] or ""
    suffix = match["others"] or ""
    is_letter = letter in GREEK or len(letter) == 1
    plain_index = f"_{index}" if index else ""
    return (
        GREEK.get(letter, letter)
        + (index.translate(SUBSCRIPTS) if is_letter else plain_index)
        + suffix
    )


_GREEK_WORD = re.compile(rf"(?<![A-Za-z_\-'])({'|'.join(GREEK)})(?![A-Za-z\-'])")
_INDEX = re.compile(r"(?<=[α-ωΑ-Ω])_(\d+)(?!\w)|(?<=\b[A-Za-z])_(\d+)(?!\w)")
_SQUARE = re.compile(r"(?:\^|\*\*)(-?\d+)(?!\w|\.\d)")
_POWER_SIGN = re.compile(r"(?<=[\w)])\*\*(?=[\w(])")
_TIMES = re.compile(r"(?<=[\w)])\*(?=[\w(])")
_ROOT = re.compile(r"\bsqrt\(([A-Za-z0-9])\)")
_SIGNS = {
    "<=": "≤",
    ">=": "≥",
    "<>": "≠",
    "sqrt(": "√(",
    "log2(": "log₂(",
    "<sub>": "_",
    "<sup>": "^",
}
_SIGNS |= {"</sub>": "", "</sup>": "", "`": "", "==": "="}
_SIGN = re.compile(
    "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
)


def prose_text(text: str) -> str:
    """Return prose that contains ASCII mathematics as plain text: ``alpha >= 1/N`` becomes α ≥ 1/N."""
    text = _ROOT.sub(r"√\1", text)
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)
    text = _GREEK_WORD.sub(lambda word: GREEK[word[0]], text)
    text = _INDEX.sub(lambda index: (index[1] or index[2]).translate(SUBSCRIPTS), text)
    text = _SQUARE.sub(lambda power: power[1].translate(SUPERSCRIPTS), text)
    return _TIMES.sub("·", _POWER_SIGN.sub("^", text))


_BOUND = re.compile(r"(?P<letter>\w+)(?P<bound> (?:>=|>|<=|<) -?\d+)")


def statement_text(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the lines of a statement without its reading: the formula first, the letters last."""
    yield from formula_lines(lines)
    if assumptions := [
        prose_text(line.text) for line in lines if line.word == "assuming"
    ]:
        yield f"assuming {', '.join(assumptions)}"
    if letters := [
        letter_text(line.text)
        for line in lines
        if line.word == "constant may depend on"
    ]:
        yield f"the constant may depend on {', '.join(letters)}"
    if domains := domains_text(line.text for line in lines if line.word == "where"):
        yield f"for {domains}"
    yield from (
        f"where {line.text} is the {prose_text(line.about).removeprefix('the ')}"
        for line in lines
        if line.word == "measured:" and line.about
    )


def formula_lines(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the formula or the words of a statement, its definitions, and its conditions in one line."""
    all_lines = list(lines)
    for line in all_lines:
        if line.word == "in words:":
            yield prose_text(line.text)
        elif line.word in ("", "with"):
            yield f"{line.word} {formula_text(line.text)}".strip()
    if conditions := [
        formula_text(line.text) for line in all_lines if line.word == "if"
    ]:
        yield f"if {' and '.join(conditions)}"


def domains_text(domains: Iterable[str]) -> str:
    """Return the domains of letters, grouped by kind and bound: ``integer N, T ≥ 1; real σ > 0``."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for domain in domains:
        head, *bounds = domain.split(", ")
        name, _, kind = head.partition(" ")
        match = _BOUND.fullmatch(bounds[0]) if len(bounds) == 1 else None
        bounds_text = " and ".join(map(formula_text, bounds)) or letter_text(name)
        letters = kinds.setdefault(kind, {}).setdefault(
            match["bound"] if match else "", []
        )
        letters.append(letter_text(name) if match else bounds_text)
    return "; ".join(f"{kind} {_together(bounded)}" for kind, bounded in kinds.items())


def _together(bounded: dict[str, list[str]]) -> str:
    return ", ".join(
        ", ".join(letters)
        + (formula_text(f"x{bound}").removeprefix("x") if bound else "")
        for bound, letters in bounded.items()
    )
