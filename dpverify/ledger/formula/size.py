"""How large the exact value of a formula can become: towers of powers, products of them, binomials."""

from __future__ import annotations

import math

from dpverify.ledger.formula.tree import Bin, Call, Formula, Inf, Integral, Name, Neg, Num, Sum, free_names

MAX_BITS = 4_000_000  # of an exact value; 10**40 to the power 10,000 has 1.4 million

LARGEST = 2.0**60
_CAP = 60.0  # of a binary logarithm: beyond it a value is too large in any case


def bits(node: Formula) -> float:
    """Bound the bits of the exact value where every name is 1: a lower bound of what larger values take."""
    match node:
        case Num(value):
            return float(value.numerator.bit_length() + value.denominator.bit_length())
        case Neg(arg):
            return bits(arg)
        case Bin("**", left, right):
            return bits(left) * max(1.0, _power_of_two(right))
        case Bin(_, left, right):
            return bits(left) + bits(right) + 1.0
        case Call("binomial", args):
            return _power_of_two(args[0]) + sum(map(bits, args))
        case Call("exp", args):
            return 64.0 + bits(args[0])
        case Call(_, args):
            return sum(map(bits, args))
        case Integral(body):
            return bits(body)
        case Sum(body, _, lo, hi):
            return bits(body) + bits(lo) + bits(hi)
        case Name() | Inf():
            return 1.0


def _power_of_two(exponent: Formula) -> float:
    """Bound the absolute value of an exponent, at most 2**60."""
    return float(2.0 ** min(_log2(exponent), _CAP))


def _log2(node: Formula) -> float:
    """Bound the binary logarithm of the absolute value where every name is 1."""
    match node:
        case Num(value):
            return math.log2(value) if value > 0 else -_CAP
        case Neg(arg):
            return _log2(arg)
        case Bin("**", left, right):
            return min(abs(_log2(left)) * _power_of_two(right), LARGEST)
        case Bin("*", left, right):
            return _log2(left) + _log2(right)
        case Bin("/", left, right):
            return _log2(left) - (0.0 if free_names(right) else _log2(right))
        case Bin(_, left, right):
            return max(_log2(left), _log2(right)) + 1.0
        case Call("exp", args):
            return 1.45 * _power_of_two(args[0])
        case Call("binomial", args):
            return _power_of_two(args[0])
        case Call(_, args):
            return max(map(_log2, args)) + 1.0
        case Integral(body):
            return _log2(body)
        case Sum(body, _, _, hi):
            return _log2(body) + max(_log2(hi), 0.0)
        case Name() | Inf():
            return 0.0
