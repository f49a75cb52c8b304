"""Parse the prefix notation of rules and certificates, such as ``["+", "x", ["q", "1"]]``, into formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from dpverify.ledger.formula.tree import (
    Bin,
    Call,
    Compare,
    Comparison,
    Formula,
    Inf,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
)

# letters for indices that dpverify introduced, from the outermost sum inwards
INDICES = "ijkl"
_GENERATED_INDEX = re.compile(r"idx\d*|~\d+")
_RELATIONS: dict[str, Comparison] = {
    "<=": "<=",
    "<": "<",
    ">=": ">=",
    ">": ">",
    "=": "==",
}
_FLIPPED: dict[Comparison, Comparison] = {
    ">=": "<=",
    ">": "<",
    "<=": ">=",
    "<": ">",
    "==": "==",
}
_FUNCTION_NAMES = {"inner": "dot"}
_CONSTANTS: dict[str, Formula] = {"oo": Inf(), "-oo": Neg(Inf()), "pi": Call("pi", ())}
_RANGES = {"sum": Sum, "integral": Integral}


def relation_of(condition: Sequence[Any]) -> Compare:
    """Return a comparison such as ``["<=", "a", "b"]`` as a `Compare`."""
    return PrefixReader().relation(condition)


def formula_of(data: Any) -> Formula:
    """Return an expression as a formula with minus signs and fractions, in the usual notation."""
    return PrefixReader().formula(data)


@dataclass(frozen=True)
class PrefixReader:
    """Reads expressions. An integer in an expression of a certificate refers to a row of its table."""

    table: Sequence[Any] = ()
    # formulas to substitute for letters
    values: Mapping[str, Formula] = field(default_factory=dict)
    # index and body; no letter is substituted
    functions: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    depth: int = 0  # number of sums and index ranges around the expression

    def relation(self, condition: Sequence[Any]) -> Compare:
        """Return a comparison as a `Compare`."""
        sign, left, right = condition
        return Compare((_RELATIONS[sign],), (self.formula(left), self.formula(right)))

    def formula(self, data: Any) -> Formula:
        """Return an expression as a formula."""
        if isinstance(data, int):
            return self.formula(self.table[data])
        if isinstance(data, str):
            return (
                self.values.get(data)
                or _CONSTANTS.get(data)
                or Name(_index_letter(data))
            )
        head, *args = data
        if head == "q":
            value = Fraction(args[0])
            return _number(value) if value >= 0 else Neg(_number(-value))
        if head in _RANGES:
            return self._range(head, *args)
        if head == "if":
            # the page of the rules describes the condition in words
            return self.formula(args[1])
        if head == "apply":
            head, *args = args
            if head in self.functions:
                index, body = self.functions[head]
                return PrefixReader(
                    self.table, {index: self.formula(args[0])}, {}, self.depth
                ).formula(body)
        values = [self.formula(arg) for arg in args]
        match head:
            case "+":
                # 1 + t is written as t + 1
                is_successor = len(values) == 2 and isinstance(values[0], Num)
                values = values[::-1] if is_successor else values
                return reduce(
                    _sum, sorted(values, key=lambda term: isinstance(term, Neg))
                )
            case "*":
                return _product(values)
            case "^":
                return _power(*values)
            case _:
                return Call(_FUNCTION_NAMES.get(head, head), tuple(values))

    def _range(self, head: str, index: str, lo: Any, hi: Any, body: Any) -> Formula:
        """Return a sum or an integral; an index that dpverify introduced is replaced by a letter."""
        name = (
            INDICES[self.depth % len(INDICES)]
            if _GENERATED_INDEX.fullmatch(index)
            else index
        )
        inside = replace(
            self, values={**self.values, index: Name(name)}, depth=self.depth + 1
        )
        return _RANGES[head](
            inside.formula(body), name, self.formula(lo), self.formula(hi)
        )


def _index_letter(name: str) -> str:
    """Return the letter of an index such as ``%0``; other names are returned unchanged."""
    return INDICES[int(name[1:]) % len(INDICES)] if name.startswith("%") else name


def _number(value: Fraction) -> Formula:
    whole = Num(Fraction(value.numerator))
    return (
        whole
        if value.denominator == 1
        else Bin("/", whole, Num(Fraction(value.denominator)))
    )


def _power(base: Formula, exponent: Formula) -> Formula:
    if isinstance(exponent, Neg) and isinstance(exponent.arg, Num | Bin):
        return Bin("/", Num(Fraction(1)), _power(base, exponent.arg))
    if exponent == Num(Fraction(1)):
        return base
    return (
        Call("sqrt", (base,))
        if exponent == _number(Fraction(1, 2))
        else Bin("**", base, exponent)
    )


def _sum(left: Formula, right: Formula) -> Formula:
    return (
        Bin("-", left, right.arg) if isinstance(right, Neg) else Bin("+", left, right)
    )


def _product(values: Sequence[Formula]) -> Formula:
    """Return a product with its sign in front and all denominators in one fraction."""
    one = Num(Fraction(1))
    factors = [value.arg if isinstance(value, Neg) else value for value in values]
    is_negative = sum(isinstance(value, Neg) for value in values) % 2 == 1
    numerators: list[Formula] = []
    denominators: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Bin) and factor.op == "/":
            numerators.append(factor.left)
            denominators.append(factor.right)
        else:
            numerators.append(factor)
    for factor in [factor for factor in denominators if factor in numerators]:
        numerators.remove(factor)
        denominators.remove(factor)
    product = _times([factor for factor in numerators if factor != one] or [one])
    if denominators:
        product = Bin("/", product, _times(denominators))
    return Neg(product) if is_negative else product


def _times(factors: Sequence[Formula]) -> Formula:
    return reduce(lambda left, right: Bin("*", left, right), factors)


def comparison_of(relation: str, gap: Any) -> Compare:
    """Return the comparison of an expression with 0 as a reader would write it: ``T - t >= 0`` as ``t <= T``."""
    sign = _RELATIONS[relation]
    larger = PrefixReader().formula(gap)
    subtracted: list[Formula] = []
    while isinstance(larger, Bin) and larger.op == "-":
        subtracted.insert(0, larger.right)
        larger = larger.left
    if not subtracted:
        return Compare((sign,), (larger, Num(Fraction(0))))
    smaller = reduce(_sum, subtracted)
    if isinstance(smaller, Num) and not isinstance(larger, Num):
        return Compare((sign,), (larger, smaller))
    return Compare((_FLIPPED[sign],), (smaller, larger))
