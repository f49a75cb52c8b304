"""Plain text for a terminal that shows ASCII only: formulas in the letters of a programming language."""

from __future__ import annotations

import re

from dpverify.report.text.formulas import GREEK
from dpverify.report.words import ASCII_MARKS, MARKS

_SIGNS = {
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "·": "*",
    "√": "sqrt",
    "Σ": "sum",
    "∫": "integral ",
    "Õ": "O~",
    "ℝ": "R",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "‖": "||",
    "⟨": "<",
    "⟩": ">",
    "∈": " in ",
    "∇": "grad ",
    "×": "x",
    "≈": "~",
    "∞": "oo",
    "−": "-",
    "\u2009": "",
    "é": "e",
    "…": "...",
    "–": "-",
    "—": "-",
    "ℓ": "l",
    "←": "<-",
    "ⁿ": "^n",
    "∼": "~",
    "≪": "<<",
    "∪": " u ",
    "∀": "for all ",
    "∏": "prod",
    "’": "'",
    "“": '"',
    "”": '"',
    "\u0302": "",
    "\u0303": "",
    "ϱ": "rho",
    "─": "-",
}
_LETTERS = str.maketrans(
    {mark: ASCII_MARKS[of] for of, mark in MARKS.items()} | {letter: name for name, letter in GREEK.items()} | _SIGNS
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_FROM_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_FROM_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def in_ascii(text: str) -> str:
    """Return plain text in ASCII letters; a letter that has no name in ASCII becomes a question mark."""
    text = text.replace("log₂", "log2")
    text = _RAISED.sub(lambda digits: f"^{digits[0].translate(_FROM_RAISED)}", text)
    text = _LOWERED.sub(lambda digits: f"_{digits[0].translate(_FROM_LOWERED)}", text)
    return text.translate(_LETTERS).encode("ascii", "replace").decode()
