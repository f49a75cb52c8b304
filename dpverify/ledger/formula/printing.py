r"""Write trees as text, with brackets only where the parser needs them, and as LaTeX in the printed form.

For example ``a/b`` becomes ``\frac{a}{b}``, and ``4*alpha*G`` becomes ``4 \alpha G``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from dpverify.ledger.formula.tree import (
    BINDERS,
    PI,
    Bin,
    Call,
    Compare,
    Comparison,
    Formula,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Node,
    Num,
    Operator,
    Sum,
    Supremum,
)

_UNARY = 3
_ATOM_LEVEL = 5
#: Precedence of the result, and the lowest precedence of the left and of the right operand without brackets.
_LEVELS: dict[Operator, tuple[int, int, int]] = {
    "+": (1, 1, 2),
    "-": (1, 1, 2),
    "*": (2, 2, 3),
    "/": (2, 2, 3),
    "**": (4, 5, 3),
}


def to_text(node: Node) -> str:
    """Write a tree in the formula language. Parsing the text returns `node` if `node` came from the parser."""
    return _write(node)[0]


def _write(node: Node) -> tuple[str, int]:
    """Return the text of a node and its precedence."""
    match node:
        case Num(value):
            return _number_text(value)
        case Name(name):
            return name, _ATOM_LEVEL
        case Inf():
            return "oo", _ATOM_LEVEL
        case Neg(arg):
            return f"-{_operand(arg, _UNARY)}", _UNARY
        case Bin(op, left, right):
            level, least_left, least_right = _LEVELS[op]
            sign = f" {op} " if level == 1 else op
            return (
                f"{_operand(left, least_left)}{sign}{_operand(right, least_right)}",
                level,
            )
        case Call(name, args):
            return f"{name}({', '.join(to_text(arg) for arg in args)})", _ATOM_LEVEL
        case Integral(body, index) if node.is_over_line:
            return f"integral({to_text(body)}, {index})", _ATOM_LEVEL
        case Sum(body, index, lo, hi):
            return (
                f"{BINDERS[type(node)]}({to_text(body)}, {index}, {to_text(lo)}, {to_text(hi)})",
                _ATOM_LEVEL,
            )
        case Compare(ops, operands):
            pairs = zip(ops, operands[1:], strict=True)
            return to_text(operands[0]) + "".join(
                f" {op} {to_text(operand)}" for op, operand in pairs
            ), 0


def _operand(node: Node, min_level: int) -> str:
    """Write an operand, in brackets if its precedence is below `min_level`."""
    text, level = _write(node)
    return text if level >= min_level else f"({text})"


def _number_text(value: Fraction) -> tuple[str, int]:
    """Write a number as a decimal if possible; it is possible for every parsed number."""
    decimal = decimal_text(value)
    if decimal is None:
        return f"{value.numerator}/{value.denominator}", 2
    return decimal, _UNARY if value < 0 else _ATOM_LEVEL


def decimal_text(value: Fraction) -> str | None:
    """Return the exact decimal expansion of a fraction, or None if it is infinite."""
    places = 0
    remainder = value.denominator
    for prime in (2, 5):
        times = 0
        while remainder % prime == 0:
            remainder //= prime
            times += 1
        places = max(places, times)
    if remainder != 1:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(
        places + 1, "0"
    )
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


# Precedence of a piece of LaTeX: comparison or
# remainder, sum, factor after a minus, factor, atom.
_LOOSE, _TERM, _SIGNED, _FACTOR, _ATOM = range(5)

_COMPARISONS: dict[Comparison, str] = {
    "<": "<",
    "<=": r"\le",
    ">": ">",
    ">=": r"\ge",
    "==": "=",
}
_FENCES = {
    "floor": (r"\lfloor", r"\rfloor"),
    "ceil": (r"\lceil", r"\rceil"),
    "abs": (r"\lvert", r"\rvert"),
}
_FENCES |= {"norm": (r"\lVert", r"\rVert"), "dot": (r"\langle", r"\rangle")}
_OPERATORS = {
    "log": r"\log",
    "log2": r"\log_2",
    "exp": r"\exp",
    "min": r"\min",
    "max": r"\max",
    "normal_cdf": r"\Phi",
    "gamma": r"\Gamma",
    "tanh": r"\tanh",
    "laplace_delta": r"\delta_{\mathrm{Laplace}}",
    "binomial_delta": r"\delta_{\mathrm{binomial}}",
    "gaussian_delta": r"\delta_{\mathrm{Gauss}}",
    "sampled_gaussian_delta": r"\delta_{\mathrm{sampled}}",
    "gaussian_epsilon": r"\epsilon_{\mathrm{Gauss}}",
    "sampled_gaussian_epsilon": r"\epsilon_{\mathrm{sampled}}",
    "batch_gaussian_delta": r"\delta_{\mathrm{batch}}",
    "batch_gaussian_epsilon": r"\epsilon_{\mathrm{batch}}",
    "replaced_gaussian_delta": r"\delta_{\mathrm{replaced}}",
    "replaced_gaussian_epsilon": r"\epsilon_{\mathrm{replaced}}",
    "laplace_law": r"\mathrm{Laplace}",
    "normal_law": r"\mathcal N",
    "exponential_law": r"\mathrm{Exp}",
    "uniform_law": r"\mathrm{Uniform}",
    "discrete_normal_law": r"\mathcal N_{\mathbb Z}",
    "discrete_laplace_law": r"\mathrm{Laplace}_{\mathbb Z}",
    "binomial_law": r"\mathrm{Bin}",
    "response_law": r"\mathrm{RR}",
    "hockey_stick": r"\mathrm H",
    "total_variation": r"\mathrm{TV}",
    "renyi": r"\mathrm D",
    "kl": r"\mathrm{KL}",
    "max_divergence": r"\mathrm D_\infty",
    "delta_of": r"\delta",
    "epsilon_of": r"\epsilon",
    "renyi_of": r"\mathrm D",
    "zcdp_of": r"\rho",
    "pure_epsilon_of": r"\epsilon_0",
    "tail_of": r"\mathrm P_{\ge}",
    "mean_of": r"\mathrm E",
    "variance_of": r"\mathrm{Var}",
}
_PLACE = re.compile("#([1-9])")
_SUPERSCRIPT = re.compile(
    r"('|\^(\{[^{}]*\}|\\[A-Za-z]+|[^\\{]))(_(\{[^{}]*\}|\\[A-Za-z]+|[^\\{]))?$"
)
_TALL = (r"\frac", r"\sum", r"\int_", r"\inf_", r"\sup_", r"\left")
_CLOSED = re.compile(r"\{[^{}]*\}|\([^()]*\)|\\\|.*?\\\||\\langle.*?\\rangle")
_OPEN_SIGN = re.compile(r" [-+] |/")


def latex(
    node: Node, symbols: Mapping[str, str], functions: Mapping[str, str] | None = None
) -> str:
    """Return a tree as LaTeX for math mode, with brackets only where the reader needs them.

    ``functions`` has, for each function of the paper, a head such as ``F`` that is followed by the arguments in
    brackets, or a pattern such as ``G_{[#1,#2]}`` in which the arguments replace #1, #2, ...
    """
    return _Setter(symbols, functions or {}).set(node)


class _Setter:
    """Typesets nodes. With `last`, nothing follows on the right, so a sum or an argument of log needs no brackets."""

    def __init__(
        self, symbols: Mapping[str, str], functions: Mapping[str, str]
    ) -> None:
        self.symbols = symbols
        self.functions = functions

    def set(self, node: Node) -> str:
        """Typeset a node on its own."""
        return self.piece(node, last=True)[0]

    def operand(self, node: Formula, min_level: int, *, last: bool = True) -> str:
        """Typeset an operand, in brackets if its precedence is below `min_level`."""
        text, level = self.piece(node, last=last)
        return text if level >= min_level else self.fenced(node)

    def fenced(self, node: Formula) -> str:
        """Typeset a node in brackets."""
        return _fence("(", self.set(node), ")")

    def piece(self, node: Node, *, last: bool) -> tuple[str, int]:
        """Return the LaTeX of a node and its precedence."""
        match node:
            case Num(value):
                return _number(value)
            case Name(name):
                text = self.name(name)
                return text, _TERM if _OPEN_SIGN.search(
                    _without_brackets(text)
                ) else _ATOM
            case Inf():
                return r"\infty", _ATOM
            case Neg(arg):
                return f"-{self.operand(arg, _FACTOR, last=last)}", _SIGNED
            case Bin("+" | "-" as sign, left, right):
                second = self.operand(
                    right, _TERM if sign == "+" else _FACTOR, last=last
                )
                if second.startswith("-"):
                    second = self.fenced(right)
                return f"{self.operand(left, _TERM)} {sign} {second}", _TERM
            case Bin("*"):
                text = self.product(_factors(node), last=last)
                return text, _SIGNED if text.startswith("-") else _FACTOR
            case Bin("/", Neg(left), right):
                return rf"-\frac{{{self.set(left)}}}{{{self.set(right)}}}", _SIGNED
            case Bin("/", left, right):
                return rf"\frac{{{self.set(left)}}}{{{self.set(right)}}}", _FACTOR
            case Bin(_, base, exponent):
                return f"{self.base(base)}^{{{self.exponent(exponent)}}}", _FACTOR
            case Call(name, args):
                return self.call(name, args, last=last)
            case Sum(body, index, lo, hi):
                inner = self.operand(body, _FACTOR)
                name = self.name(index)
                if isinstance(node, Infimum | Supremum):
                    operator = r"\inf" if isinstance(node, Infimum) else r"\sup"
                    text = rf"{operator}_{{{self.set(lo)} < {name} < {self.set(hi)}}} {inner}"
                elif isinstance(node, Integral):
                    text = rf"\int_{{{self.set(lo)}}}^{{{self.set(hi)}}} {inner} \, d{name}"
                else:
                    text = rf"\sum_{{{name}={self.set(lo)}}}^{{{self.set(hi)}}} {inner}"
                return (text, _FACTOR if last else _LOOSE)
            case Compare(ops, operands):
                later_operands = zip(ops, operands[1:], strict=True)
                return self.set(operands[0]) + "".join(
                    f" {_COMPARISONS[op]} {self.set(x)}" for op, x in later_operands
                ), _LOOSE

    def name(self, name: str) -> str:
        """Typeset a symbol, or a name without LaTeX."""
        return self.symbols.get(name) or _upright(name)

    def product(self, factors: list[Formula], *, last: bool) -> str:
        """Typeset factors next to each other, with a dot between numbers."""
        text = ""
        for i, factor in enumerate(factors):
            piece = self.operand(
                factor, _FACTOR if i else _SIGNED, last=last and i == len(factors) - 1
            )
            if not text:
                text = piece
            elif piece[0].isdigit() or (
                text[-1].isdigit() and piece.startswith(r"\frac") and _is_number(factor)
            ):
                text += rf" \cdot {piece}"
            else:
                text += f" {piece}"
        return text

    def base(self, node: Formula) -> str:
        """Typeset the base of a power, in brackets unless it is one letter, one number or already in brackets."""
        text, level = self.piece(node, last=False)
        # LaTeX refuses a double superscript
        twice = isinstance(node, Name) and _SUPERSCRIPT.search(text)
        return text if level == _ATOM and not twice else self.fenced(node)

    def exponent(self, node: Formula) -> str:
        """Typeset an exponent. A fraction of two letters or numbers is written on one line, as in papers."""
        match node:
            case Bin(
                "/",
                Num() | Name() | Neg(Num() | Name()) as left,
                Num() | Name() as right,
            ):
                return f"{self.set(left)}/{self.set(right)}"
            case Neg(Bin("/", Num() | Name() as left, Num() | Name() as right)):
                return f"-{self.set(left)}/{self.set(right)}"
            case _:
                return self.set(node)

    def call(
        self, name: str, args: tuple[Formula, ...], *, last: bool
    ) -> tuple[str, int]:
        """Typeset a function of the language or of the paper; return the LaTeX and its precedence."""
        inside = ", ".join(self.set(arg) for arg in args)
        if name == PI:
            return r"\pi", _ATOM
        if name in _FENCES:
            opening, closing = _FENCES[name]
            return _fence(opening, inside, closing), _ATOM
        if name == "sqrt":
            return rf"\sqrt{{{inside}}}", _FACTOR
        if name == "mod":
            left, right = (self.mod_operand(arg) for arg in args)
            return rf"{left} \bmod {right}", _LOOSE
        if name == "bit":
            return (
                rf"\mathrm{{bit}}_{{{self.set(args[1])}}}{_fence('(', self.set(args[0]), ')')}",
                _FACTOR,
            )
        if (
            last
            and name in ("log", "log2")
            and isinstance(args[0], Name | Num)
            and inside == self.operand(args[0], _ATOM)
        ):
            return f"{_OPERATORS[name]} {inside}", _FACTOR
        declared = self.functions.get(name, "")
        if "#1" in declared:
            return _PLACE.sub(
                lambda place: self.set(args[int(place[1]) - 1]), declared
            ), _FACTOR
        head = _OPERATORS.get(name) or declared or _upright(name)
        return head + _fence("(", inside, ")"), _FACTOR

    def mod_operand(self, node: Formula) -> str:
        """Typeset an operand of mod, without brackets if it is a letter, a number or a power."""
        text, level = self.piece(node, last=False)
        bare = level == _ATOM or (isinstance(node, Bin) and node.op == "**")
        return text if bare else self.fenced(node)


def _factors(node: Formula) -> list[Formula]:
    """Return the factors of a product from left to right; brackets inside a product are ignored."""
    if isinstance(node, Bin) and node.op == "*":
        return _factors(node.left) + _factors(node.right)
    return [node]


def _is_number(node: Formula) -> bool:
    """Test whether a fraction begins with a number; a digit before it would look like a mixed number."""
    while isinstance(node, Bin):
        node = node.left
    return isinstance(node, Num)


def _number(value: Fraction) -> tuple[str, int]:
    """Typeset a number, as a decimal if possible; return the LaTeX and its precedence."""
    text = decimal_text(value)
    if text is None:
        sign = "-" if value < 0 else ""
        return (
            rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}",
            _SIGNED if sign else _FACTOR,
        )
    return text, _SIGNED if value < 0 else _ATOM


def _without_brackets(text: str) -> str:
    """Remove everything in brackets. Operators in the remaining text could bind to the surrounding formula."""
    while (left := _CLOSED.sub("", text)) != text:
        text = left
    return text


def _upright(name: str) -> str:
    """Typeset a name without LaTeX: a letter unchanged, a word upright."""
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{escaped}}}"


def _fence(opening: str, inside: str, closing: str) -> str:
    """Put `inside` between brackets, which grow with it if it is tall."""
    glue = " " if opening.startswith("\\") else ""
    if any(tall in inside for tall in _TALL):
        return rf"\left{opening}{glue}{inside}\right{closing}"
    return f"{opening}{glue}{inside}{glue}{closing}"
