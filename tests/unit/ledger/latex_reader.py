r"""Reads the LaTeX of a statement as a reader does: with its letters and functions, and what typesetting means.

It shares no code with the one that writes LaTeX. What it gives is a normal form of sums and products, in which only
brackets that mean nothing, the place of a sign and a fraction for a decimal are lost; that of a tree is `normal`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.ledger.formula.tree import (
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Integral,
    Name,
    Neg,
    Node,
    Num,
    Sum,
)

# a name, and what it is said of: terms, sums of terms or numbers
Term: TypeAlias = tuple[Any, ...]
Terms: TypeAlias = tuple[tuple[int, Term], ...]  # each with its sign

_NUMBER = re.compile(r"\d+(\.\d+)?")
_COMPARISONS = {r"\le": "<=", r"\ge": ">=", "<": "<", ">": ">", "=": "=="}
_FENCES = {
    r"\lfloor": ("floor", r"\rfloor"),
    r"\lceil": ("ceil", r"\rceil"),
    r"\lvert": ("abs", r"\rvert"),
}
_FENCES |= {r"\lVert": ("norm", r"\rVert"), r"\langle": ("dot", r"\rangle")}
_HEADS = {
    r"\log_2": "log2",
    r"\log": "log",
    r"\exp": "exp",
    r"\min": "min",
    r"\max": "max",
    r"\Phi": "normal_cdf",
}
_HEADS |= {
    r"\delta_{\mathrm{Gauss}}": "gaussian_delta",
    r"\delta_{\mathrm{sampled}}": "sampled_gaussian_delta",
}
_HEADS |= {r"\epsilon_{\mathrm{Gauss}}": "gaussian_epsilon"}
_HEADS |= {r"\epsilon_{\mathrm{sampled}}": "sampled_gaussian_epsilon"}
_HEADS |= {
    rf"\{x}_{{\mathrm{{{s}}}}}": f"{s}_gaussian_{x}"
    for x in ("delta", "epsilon")
    for s in ("batch", "replaced")
}
_WORD = re.compile(r"\\mathrm\{((?:[A-Za-z0-9]|\\_)+)\}")
_ENDS = re.compile(
    r"$|[-+,)\]}<>=/]|\\(right|le|ge|bmod|rfloor|rceil|rvert|rVert|rangle)(?![A-Za-z])|\\,"
)


class UnreadableError(ValueError):
    """A text is not LaTeX of the kind that is read here."""


class Reader:
    """Reads one text; ``letters`` are LaTeX by name, ``functions`` heads or patterns by name."""

    def __init__(
        self, text: str, letters: Mapping[str, str], functions: Mapping[str, str]
    ) -> None:
        self.text, self.at = text, 0
        self.letters = sorted(
            ((latex, name) for name, latex in letters.items()),
            key=lambda pair: -len(pair[0]),
        )
        self.patterns = [
            (re.split(r"#([1-9])", shown), name)
            for name, shown in functions.items()
            if "#1" in shown
        ]
        heads = {
            shown: name for name, shown in functions.items() if "#1" not in shown
        } | _HEADS
        self.heads = sorted(heads.items(), key=lambda pair: -len(pair[0]))

    def whole(self) -> object:
        """A formula or a chain of comparisons, and nothing after it."""
        operands, ops = [self.sum()], list[str]()
        while op := next((op for op in _COMPARISONS if self.takes(op)), ""):
            ops.append(_COMPARISONS[op])
            operands.append(self.sum())
        self.wants(self.skipped() == len(self.text))
        return ("compare", tuple(ops), tuple(operands)) if ops else operands[0]

    def sum(self) -> Terms:
        found = negative(self.product()) if self.takes("-") else self.product()
        while True:
            if self.takes("+"):
                found += self.product()
            elif self.takes("-"):
                found += negative(self.product())
            elif self.takes(r"\bmod"):
                found = one("mod", found, self.product())
            else:
                return found

    def product(self) -> Terms:
        found = [self.power()]
        while not _ENDS.match(self.text, self.skipped()):
            self.takes(r"\cdot")
            found.append(self.power())
        upper = times(found)
        return quotient(upper, self.power()) if self.takes("/") else upper

    def power(self) -> Terms:
        base = self.atom()
        return one("**", base, self.group()) if self.takes("^{", back=True) else base

    def atom(self) -> Terms:
        # a letter that is a whole formula, such as a norm, is known as it stands
        for latex, name in self.letters:
            if not latex.isalnum() and self.takes(latex):
                return one("name", name)
        if number := _NUMBER.match(self.text, self.skipped()):
            self.at = number.end()
            return constant(Fraction(number[0]))
        if self.takes(r"\infty"):
            return one("oo")
        if self.takes(r"\frac"):
            return quotient(self.group(), self.group())
        if self.takes(r"\sqrt"):
            return one("sqrt", self.group())
        if self.takes(r"\sum") or self.takes(r"\int"):
            return self.bound(
                "sum" if self.text.endswith(r"\sum", 0, self.at) else "integral"
            )
        if (bracketed := self.bracketed()) is not None:
            return bracketed
        if self.takes(r"\mathrm{bit}_{"):
            index = self.group()
            self.wants((inside := self.arguments()) is not None)
            return one("bit", *(inside or ()), index)
        return self.called() or self.letter()

    def bound(self, kind: str) -> Terms:
        """A sum or an integral: its limits, then a product; of an integral the letter stands last."""
        self.wants(self.takes("_{", back=True))
        index = None
        if kind == "sum":
            index = self.letter()
            self.wants(self.takes("="))
        lower = self.sum()
        self.wants(self.takes("}") and self.takes("^{", back=True))
        upper, body = self.group(), self.product()
        if index is None:
            self.wants(self.takes(r"\, d"))
            index = self.letter()
        return one(kind, body, index, lower, upper)

    def bracketed(self) -> Terms | None:
        """What stands in brackets, or in those of floor, ceiling, size, norm and inner product."""
        start, tall = self.at, self.takes(r"\left")
        closing = r"\right" if tall else ""
        for opening, (name, end) in _FENCES.items():
            if self.takes(opening):
                arguments = self.listed(closing + end)
                return one(name, *arguments)
        if self.takes("("):
            (inside,) = self.listed(closing + ")")
            return inside
        self.at = start
        return None

    def called(self) -> Terms | None:
        """A function: of the paper, with a head and brackets or by a pattern; of the language."""
        for pieces, name in self.patterns:
            if (arguments := self.placed(pieces)) is not None:
                return one(name, *arguments)
        for head, name in self.heads:
            start = self.at
            if self.takes(head):
                if (arguments := self.arguments()) is not None:
                    return one(name, *arguments)
                if name in ("log", "log2") and self.text.startswith(" ", self.at):
                    return one(name, self.atom())
                self.at = start
        if (word := _WORD.match(self.text, self.skipped())) and self.text[
            word.end() :
        ].startswith(("(", r"\left(")):
            self.at = word.end()
            return one(word[1].replace(r"\_", "_"), *(self.arguments() or ()))
        return None

    def placed(self, pieces: list[str]) -> list[Terms] | None:
        """The arguments of a pattern, which is text and numbers of places by turns."""
        start, found = self.at, dict[str, Terms]()
        try:
            for i, piece in enumerate(pieces):
                if i % 2:
                    read = self.sum()
                    self.wants(found.setdefault(piece, read) == read)
                else:
                    self.wants(
                        self.text.startswith(
                            piece, self.skipped() if i == 0 else self.at
                        )
                    )
                    self.at = (self.skipped() if i == 0 else self.at) + len(piece)
        except UnreadableError:
            self.at = start
            return None
        return [found[place] for place in sorted(found)]

    def letter(self) -> Terms:
        """A letter of the statement, a letter that a sum binds, or a word set upright."""
        for latex, name in self.letters:
            if self.takes(latex):
                return one("name", name)
        if word := _WORD.match(self.text, self.skipped()):
            self.at = word.end()
            return one("name", word[1].replace(r"\_", "_"))
        self.wants(self.text[self.skipped() : self.skipped() + 1].isalpha())
        self.at = self.skipped() + 1
        return one("name", self.text[self.at - 1])

    def arguments(self) -> list[Terms] | None:
        """Arguments in brackets that follow a head without a space."""
        if self.text.startswith((r"\left(", "("), self.at):
            tall = self.takes(r"\left", back=True)
            self.takes("(")
            return self.listed(r"\right)" if tall else ")")
        return None

    def listed(self, closing: str) -> list[Terms]:
        found: list[Terms] = [self.sum()]
        while self.takes(","):
            found.append(self.sum())
        self.wants(self.takes(closing))
        return found

    def group(self) -> Terms:
        """What stands in braces, of which the first may have been read."""
        if not self.text.startswith("{", self.at - 1) or self.text.startswith(
            "{", self.at
        ):
            self.wants(self.takes("{"))
        found = self.sum()
        self.wants(self.takes("}"))
        return found

    def takes(self, piece: str, *, back: bool = False) -> bool:
        """Go past a piece if it stands next, after spaces unless `back`; a command ends where its letters do."""
        at = self.at if back else self.skipped()
        end = at + len(piece)
        cut = (
            piece[-1].isalpha() and "\\" in piece and self.text[end : end + 1].isalpha()
        )
        if not self.text.startswith(piece, at) or cut:
            return False
        self.at = end
        return True

    def skipped(self) -> int:
        at = self.at
        while self.text.startswith(" ", at):
            at += 1
        return at

    def wants(self, held: bool) -> None:
        if not held:
            raise UnreadableError(
                f"at {self.at} of {self.text!r}: {self.text[self.at : self.at + 30]!r}"
            )


def one(*term: object) -> Terms:
    """A sum of one term."""
    return ((1, term),)


def negative(terms: Terms) -> Terms:
    return tuple((-sign, term) for sign, term in terms)


def constant(value: Fraction) -> Terms:
    return ((-1 if value < 0 else 1, ("number", abs(value))),)


def times(factors: list[Terms]) -> Terms:
    """A product: signs go before it, a product in it is opened, as brackets there mean nothing."""
    if len(factors) == 1:
        return factors[0]
    sign, found = 1, list[Term]()
    for terms in factors:
        (first, term), *_ = terms
        sign *= first
        if len(terms) > 1:
            found.append(("+", terms if first > 0 else negative(terms)))
        else:
            found += term[1:] if term[0] == "*" else [term]
    return ((sign, ("*", *found)),)


def quotient(upper: Terms, lower: Terms) -> Terms:
    """A fraction: of two numbers the number, else the sign of what is above goes before it."""
    (sign, above), *_ = upper
    (below_sign, below), *_ = lower
    if len(upper) == len(lower) == 1 and above[0] == below[0] == "number":
        return ((sign * below_sign, ("number", above[1] / below[1])),)
    return ((sign, ("/", upper if sign > 0 else negative(upper), lower)),)


def normal(node: Node) -> object:
    """The same form of a tree."""
    if isinstance(node, Compare):
        return ("compare", node.ops, tuple(map(terms_of, node.operands)))
    return terms_of(node)


def terms_of(node: Formula) -> Terms:
    match node:
        case Num(value):
            return constant(value)
        case Name(name):
            return one("name", name)
        case Inf():
            return one("oo")
        case Neg(arg):
            return negative(terms_of(arg))
        case Bin("+", left, right):
            return terms_of(left) + terms_of(right)
        case Bin("-", left, right):
            return terms_of(left) + negative(terms_of(right))
        case Bin("*", left, right):
            return times([terms_of(left), terms_of(right)])
        case Bin("/", left, right):
            return quotient(terms_of(left), terms_of(right))
        case Bin(_, left, right):
            return one("**", terms_of(left), terms_of(right))
        case Call(name, args):
            return one(name, *map(terms_of, args))
        case Sum(body, index, lo, hi):
            kind = "integral" if isinstance(node, Integral) else "sum"
            return one(
                kind, terms_of(body), one("name", index), terms_of(lo), terms_of(hi)
            )
