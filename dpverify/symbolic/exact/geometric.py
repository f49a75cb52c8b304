"""Recognise summands whose neighbours have a constant ratio: ``(1 - alpha)**(N*i + 1)`` and the like."""

from __future__ import annotations

from fractions import Fraction

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names

_ZERO = Num(Fraction(0))
_ONE = Num(Fraction(1))


def ratio(node: Formula, index: str) -> Formula | None:
    """Ratio of the term at ``index + 1`` to the term at ``index``, if it is the same for every index.

    A formula free of the index, or None where the shape of the summand does not show that there is one. A power of a
    zero base needs a positive slope: the ratio is then 0, which with ``0**0 = 1`` is right from the second term on.
    """
    if index not in free_names(node):
        return _ONE
    match node:
        case Neg(arg):
            return ratio(arg, index)
        case Bin("*" | "/" as op, left, right):
            return _combine(op, ratio(left, index), ratio(right, index))
        case Bin("**", base, exponent):
            return _ratio_of_power(base, exponent, index)
        case Call("exp", (arg,)):
            step = slope(arg, index)
            return None if step is None else Call("exp", (step,))
        case Call("sqrt" | "abs" as name, (arg,)):
            inner = ratio(arg, index)
            return None if inner is None else Call(name, (inner,))
        case _:
            return None


def _ratio_of_power(base: Formula, exponent: Formula, index: str) -> Formula | None:
    if index not in free_names(exponent):
        inner = ratio(base, index)
        return None if inner is None else Bin("**", inner, exponent)
    if index in free_names(base):
        return None
    step = slope(exponent, index)
    return None if step is None else Bin("**", base, step)


def distributed(node: Formula, index: str) -> Formula | None:
    """Multiply out a term with a constant ratio times a sum.

    A sum or difference of products; None where the node is not such a product. One factor of constant ratio is asked
    for, so that a product of many sums is not blown up.
    """
    match node:
        case Bin("*", factor, Bin("+" | "-" as op, a, b)) if ratio(factor, index) is not None:
            return Bin(op, Bin("*", factor, a), Bin("*", factor, b))
        case Bin("*", Bin("+" | "-" as op, a, b), factor) if ratio(factor, index) is not None:
            return Bin(op, Bin("*", a, factor), Bin("*", b, factor))
        case _:
            return None


def slope(node: Formula, index: str) -> Formula | None:
    """Coefficient of the index in a formula that is affine in it.

    A formula free of the index, or None if the node is not visibly affine.
    """
    if index not in free_names(node):
        return _ZERO
    match node:
        case Name():
            return _ONE
        case Neg(arg):
            inner = slope(arg, index)
            return None if inner is None else Neg(inner)
        case Bin("+" | "-" as op, left, right):
            return _combine(op, slope(left, index), slope(right, index))
        case Bin("*", left, right) if index not in free_names(left):
            return _combine("*", left, slope(right, index))
        case Bin("*" | "/" as op, left, right) if index not in free_names(right):
            return _combine(op, slope(left, index), right)
        case _:
            return None


def _combine(op: str, left: Formula | None, right: Formula | None) -> Formula | None:
    if left is None or right is None:
        return None
    match op, left, right:
        case ("+", Num(value), other) | ("*", Num(value), other) if value == (op == "*"):
            return other
        case ("+" | "-", other, Num(value)) if value == 0:
            return other
        case ("*" | "/", other, Num(value)) if value == 1:
            return other
        case ("+", _, _):
            return Bin("+", left, right)
        case ("-", _, _):
            return Bin("-", left, right)
        case ("*", _, _):
            return Bin("*", left, right)
        case _:
            return Bin("/", left, right)
