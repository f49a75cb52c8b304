r"""TeX as plain text: ``$\frac{z}{2\sigma^2}$`` becomes z/(2σ²)."""

from __future__ import annotations

import re

from dpverify.report.text.formulas import GREEK, SUBSCRIPTS, SUPERSCRIPTS

_SIGNS = {
    "leq": "≤",
    "le": "≤",
    "geq": "≥",
    "ge": "≥",
    "neq": "≠",
    "ne": "≠",
    "ll": "≪",
    "gg": "≫",
    "in": "∈",
    "notin": "∉",
    "sim": "∼",
    "approx": "≈",
    "infty": "∞",
    "nabla": "∇",
    "partial": "∂",
    "sum": "Σ",
    "prod": "∏",
    "int": "∫",
    "cdot": "·",
    "times": "×",
    "pm": "±",
    "to": "→",
    "rightarrow": "→",
    "leftarrow": "←",
    "forall": "∀",
    "exists": "∃",
    "cup": "∪",
    "cap": "∩",
    "bigcup": "∪",
    "subset": "⊂",
    "subseteq": "⊆",
    "dots": "…",
    "ldots": "…",
    "cdots": "…",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "lceil": "⌈",
    "rceil": "⌉",
    "langle": "⟨",
    "rangle": "⟩",
    "|": "‖",
    "ell": "ℓ",
    "star": "*",
    "top": "T",
    "{": "{",
    "}": "}",
    "$": "$",
    "%": "%",
    "&": "&",
    "_": "_",
    "#": "#",
    "mid": "|",
    "varrho": "ϱ",
    "varepsilon": "ε",
    "vert": "|",
    "Vert": "‖",
    "quad": "  ",
    "qquad": "  ",
    " ": " ",
    ",": " ",
    ";": " ",
    ":": " ",
    "!": "",
    "\\": "\n",
    "colon": ":",
    "prime": "'",
}
_WORDS = {
    "log",
    "ln",
    "exp",
    "min",
    "max",
    "sup",
    "inf",
    "mod",
    "arg",
    "Pr",
    "det",
    "lim",
    "dim",
    "deg",
}
_IGNORED = {
    "left",
    "right",
    "big",
    "Big",
    "bigg",
    "Bigg",
    "displaystyle",
    "limits",
    "nonumber",
    "boldmath",
    "middle",
}
_FONTS = {
    "text",
    "textbf",
    "textit",
    "mathrm",
    "mathbf",
    "boldsymbol",
    "mathcal",
    "mathfrak",
    "mathsf",
    "operatorname",
    "mathbb",
    "mathit",
    "bm",
    "emph",
    "mbox",
    "textsc",
    "texttt",
    "underbrace",
    "overline",
    "bar",
    "rm",
    "bf",
}
_ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "tilde": "\u0303",
    "widetilde": "\u0303",
}
_COMMAND = re.compile(r"\\(?:([A-Za-z]+)\*?|(.)|$)", re.DOTALL)
_SYMBOL = re.compile(r"\d+|√?\w[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ₀₁₂₃₄₅₆₇₈₉]*|‖[^‖]*‖")
_SUM = re.compile(r"[-+=≤≥<>,;]")
_GAP = "\x00"  # becomes a space between letters or brackets, and is removed elsewhere
_GAP_NEXT_TO_LETTERS = re.compile(rf"(?<=[\w)\]]){_GAP}+(?=[\w(√Σ‖])")
_SPACE_INSIDE = re.compile(r"(?<=[⌊⌈(⟨]) +| +(?=[⌋⌉)⟩,.;:])")
_BLACKBOARD = {"R": "ℝ", "N": "ℕ", "Z": "ℤ"}


class _TexReader:
    """Reads TeX from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def until(self, stop: str) -> str:
        """Return the plain text up to the character ``stop``, or up to the end if it does not occur."""
        parts: list[str] = []
        while self.place < len(self.text):
            if stop and self.text[self.place] == stop:
                self.place += 1
                break
            parts.append(self.item())
        return _GAP_NEXT_TO_LETTERS.sub(" ", "".join(parts)).replace(_GAP, "")

    def argument(self) -> str:
        """Return the next group, command or letter: the argument of a command or a script."""
        while self.place < len(self.text) and self.text[self.place] == " ":
            self.place += 1
        return self.item().strip() if self.place < len(self.text) else ""

    def item(self) -> str:
        """Return one group, command, script or letter as plain text."""
        letter = self.text[self.place]
        if letter == "\\":
            return self._command()
        self.place += 1
        if letter == "{":
            return self.until("}")
        if letter == "^":
            return _script(self.argument(), "^", SUPERSCRIPTS, r"-?\d+|n")
        if letter == "_":
            return _script(self.argument(), "_", SUBSCRIPTS, r"\d+")
        return {"}": "", "$": "", "&": "", "~": " "}.get(letter, letter)

    def _command(self) -> str:
        match = _COMMAND.match(self.text, self.place)
        assert match is not None
        self.place = match.end()
        name = match[1] or match[2] or ""
        if name in ("frac", "dfrac", "tfrac"):
            return (
                f"{_GAP}{_numerator(self.argument())}/{_factor(self.argument())}{_GAP}"
            )
        if name == "binom":
            return f"binomial({self.argument()}, {self.argument()})"
        if name == "sqrt":
            return f"√{_factor(self.argument())}"
        if name == "mathbb":
            argument = self.argument()
            return _BLACKBOARD.get(argument, argument)
        if name in _ACCENTS:
            argument = self.argument()
            return argument[:1] + _ACCENTS[name] + argument[1:]
        if name == "tag":
            return f"  ({self.argument()})"
        if name in ("begin", "end"):
            self.argument()
            return ""
        if name in _FONTS:
            return self.argument()
        if name in _IGNORED:
            self._skip_dot()
            return ""
        return GREEK.get(name) or _SIGNS.get(name, self._word(name))

    def _skip_dot(self) -> None:
        r"""Skip the dot of ``\left.``, which is invisible."""
        if self.text[self.place : self.place + 1] == ".":
            self.place += 1

    def _word(self, name: str) -> str:
        """Return the name of a function, separated from neighbouring letters."""
        following = self.text[self.place : self.place + 1]
        if name not in _WORDS:
            return name
        return f"{_GAP}{name}{_GAP if following not in '(_^' else ''}"


def _script(text: str, sign: str, letters: dict[int, int], plain: str) -> str:
    if re.fullmatch(plain, text):
        return text.translate(letters)
    return (
        f"{sign}{text}"
        if re.fullmatch(r"\w|\*|'", text)
        else f"{sign}({text})"
        if text
        else ""
    )


def _numerator(text: str) -> str:
    """Return the text, in brackets if it is a sum."""
    outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", text))
    return f"({text})" if _SUM.search(outside) else text


def _factor(text: str) -> str:
    """Return the text, in brackets if it is more than one symbol."""
    return text if _SYMBOL.fullmatch(text) or _is_bracketed(text) else f"({text})"


def _is_bracketed(text: str) -> bool:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text.startswith("(") and place == len(text) - 1
    return False


def tex_text(text: str) -> str:
    """Return a quote of a paper as plain text without TeX, with displayed formulas on separate lines."""
    text = text.replace("**", "").replace("<sub>", "_{").replace("<sup>", "^{")
    text = re.sub(r"</su[bp]>", "}", text)
    plain_text = _SPACE_INSIDE.sub("", _TexReader(text.replace("$$", "\n")).until(""))
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in plain_text.splitlines())
    return "\n".join(line for line in lines if line)
