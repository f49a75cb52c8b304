"""Tree back to text: brackets only where the parser needs them."""

from __future__ import annotations

from fractions import Fraction

from dpverify.ledger.formula.tree import BINDERS, Bin, Call, Compare, Inf, Integral, Name, Neg, Node, Num, Operator, Sum

_UNARY = 3
_ATOM = 5
#: Level of the result; lowest level of the left and of the right operand that stand without brackets.
_LEVELS: dict[Operator, tuple[int, int, int]] = {
    "+": (1, 1, 2),
    "-": (1, 1, 2),
    "*": (2, 2, 3),
    "/": (2, 2, 3),
    "**": (4, 5, 3),
}


def to_text(node: Node) -> str:
    """Write a tree in the formula language. Text whose parse is `node` again, for every tree that came from a parse."""
    return _write(node)[0]


def _write(node: Node) -> tuple[str, int]:
    """Return the text of a node and how tightly it binds."""
    match node:
        case Num(value):
            return _number(value)
        case Name(name):
            return name, _ATOM
        case Inf():
            return "oo", _ATOM
        case Neg(arg):
            return f"-{_operand(arg, _UNARY)}", _UNARY
        case Bin(op, left, right):
            level, least_left, least_right = _LEVELS[op]
            sign = f" {op} " if level == 1 else op
            return f"{_operand(left, least_left)}{sign}{_operand(right, least_right)}", level
        case Call(name, args):
            return f"{name}({', '.join(to_text(arg) for arg in args)})", _ATOM
        case Integral(body, index) if node.is_over_line:
            return f"integral({to_text(body)}, {index})", _ATOM
        case Sum(body, index, lo, hi):
            return f"{BINDERS[type(node)]}({to_text(body)}, {index}, {to_text(lo)}, {to_text(hi)})", _ATOM
        case Compare(ops, operands):
            pairs = zip(ops, operands[1:], strict=True)
            return to_text(operands[0]) + "".join(f" {op} {to_text(operand)}" for op, operand in pairs), 0


def _operand(node: Node, least: int) -> str:
    """Write an operand, in brackets if it binds less than `least`."""
    text, level = _write(node)
    return text if level >= least else f"({text})"


def _number(value: Fraction) -> tuple[str, int]:
    """Write a number as a decimal where it has one; every parsed number has."""
    decimal = decimal_text(value)
    if decimal is None:
        return f"{value.numerator}/{value.denominator}", 2
    return decimal, _UNARY if value < 0 else _ATOM


def decimal_text(value: Fraction) -> str | None:
    """Return the exact decimal expansion of a fraction, or None where it does not end."""
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
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
