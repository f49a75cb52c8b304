"""From the format of the catalogue of rules and of certificates, such as ``["+", "x", ["q", "1"]]``, to a formula."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from dpverify.ledger.formula.tree import Bin, Call, Compare, Comparison, Formula, Inf, Integral, Name, Neg, Num, Sum

_RELATIONS: dict[str, Comparison] = {"<=": "<=", "<": "<", ">=": ">=", ">": ">", "=": "=="}
_RENAMED = {"inner": "dot"}
_CONSTANTS: dict[str, Formula] = {"oo": Inf(), "-oo": Neg(Inf()), "pi": Call("pi", ())}
_RANGES = {"sum": Sum, "integral": Integral}


def relation_of(condition: Sequence[Any]) -> Compare:
    """A comparison, such as ``["<=", "a", "b"]``, as a formula."""
    sign, left, right = condition
    return Compare((_RELATIONS[sign],), (formula_of(left), formula_of(right)))


def formula_of(data: Any) -> Formula:
    """An expression as a formula with minus signs and fractions, as a reader would write it."""
    if isinstance(data, str):
        return _CONSTANTS.get(data, Name(data))
    head, *args = data
    if head == "q":
        value = Fraction(args[0])
        return Num(value) if value >= 0 else Neg(Num(-value))
    if head in _RANGES:
        index, lo, hi, body = args
        return _RANGES[head](formula_of(body), index, formula_of(lo), formula_of(hi))
    if head == "if":
        return formula_of(args[1])  # the page of the rules says in words where
    if head == "apply":
        head, *args = args
    values = [formula_of(arg) for arg in args]
    match head:
        case "+":
            positive_first = sorted(values, key=lambda term: isinstance(term, Neg))
            return reduce(_sum, positive_first)
        case "*":
            return _product(values)
        case "^":
            base, exponent = values
            if exponent == Neg(Num(Fraction(1))):
                return Bin("/", Num(Fraction(1)), base)
            return Call("sqrt", (base,)) if exponent == Num(Fraction(1, 2)) else Bin("**", base, exponent)
        case _:
            return Call(_RENAMED.get(head, head), tuple(values))


def _sum(left: Formula, right: Formula) -> Formula:
    return Bin("-", left, right.arg) if isinstance(right, Neg) else Bin("+", left, right)


def _product(values: Sequence[Formula]) -> Formula:
    """A product: its signs in front, and what is to the power -1 below a line."""
    one = Num(Fraction(1))
    factors = [value.arg if isinstance(value, Neg) else value for value in values]
    is_negative = sum(isinstance(value, Neg) for value in values) % 2 == 1
    above: list[Formula] = []
    below: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Bin) and factor.op == "/":
            above.append(factor.left)
            below.append(factor.right)
        elif isinstance(factor, Num) and factor.value.denominator != 1:
            above.append(Num(Fraction(factor.value.numerator)))
            below.append(Num(Fraction(factor.value.denominator)))
        else:
            above.append(factor)
    product = _times([factor for factor in above if factor != one] or [one])
    if below:
        product = Bin("/", product, _times(below))
    return Neg(product) if is_negative else product


def _times(factors: Sequence[Formula]) -> Formula:
    return reduce(lambda left, right: Bin("*", left, right), factors)
