"""How large the exact value of a formula can become: towers of powers, products of them, binomials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from dpverify.ledger.formula.tree import (
    Bin,
    Call,
    Formula,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
    Supremum,
    free_names,
)

MAX_BITS = 4_000_000  # of an exact value; 10**40 to the power 10,000 has 1.4 million

Sizes: TypeAlias = Mapping[str, tuple[float, float]]
"""Of names that definitions give: the bits of the exact value, and the binary logarithm of its absolute value."""

NO_SIZES: Sizes = {}
LARGEST = 2.0**60
_CAP = 60.0  # of a binary logarithm: beyond it a value is too large in any case


def bits(node: Formula, sizes: Sizes = NO_SIZES) -> float:
    """Bound the bits of the exact value where every name without a size is 1: larger values take more."""
    match node:
        case Num(value):
            return float(value.numerator.bit_length() + value.denominator.bit_length())
        case Neg(arg):
            return bits(arg, sizes)
        case Bin("**", left, right):
            return bits(left, sizes) * max(1.0, _power_of_two(right, sizes))
        case Bin(_, left, right):
            return bits(left, sizes) + bits(right, sizes) + 1.0
        case Call("binomial", args):
            return _power_of_two(args[0], sizes) + sum(bits(arg, sizes) for arg in args)
        case Call("exp", args):
            return 64.0 + bits(args[0], sizes)
        case Call(_, args):
            return sum(bits(arg, sizes) for arg in args)
        case Sum(body, _, lo, hi):
            return bits(body, sizes) + bits(lo, sizes) + bits(hi, sizes)
        case Name(name):
            return sizes.get(name, (1.0, 0.0))[0]
        case Inf():
            return 1.0


def _power_of_two(exponent: Formula, sizes: Sizes) -> float:
    """Bound the absolute value of an exponent, at most 2**60."""
    return float(2.0 ** min(log2_of(exponent, sizes), _CAP))


def log2_of(node: Formula, sizes: Sizes) -> float:
    """Bound the binary logarithm of the absolute value where every name without a size is 1."""
    match node:
        case Num(value):
            return math.log2(value) if value > 0 else -_CAP
        case Neg(body) | Integral(body) | Infimum(body) | Supremum(body):
            return log2_of(body, sizes)
        case Bin("**", left, right):
            return min(abs(log2_of(left, sizes)) * _power_of_two(right, sizes), LARGEST)
        case Bin("*", left, right):
            return log2_of(left, sizes) + log2_of(right, sizes)
        case Bin("/", left, right):
            return log2_of(left, sizes) - (0.0 if free_names(right) else log2_of(right, sizes))
        case Bin(_, left, right):
            return max(log2_of(left, sizes), log2_of(right, sizes)) + 1.0
        case Call("exp", args):
            return 1.45 * _power_of_two(args[0], sizes)
        case Call("binomial" | "gamma", args):
            return _power_of_two(args[0], sizes)
        case Call(_, args):
            return max((log2_of(arg, sizes) for arg in args), default=1.0) + 1.0
        case Sum(body, _, _, hi):
            return log2_of(body, sizes) + max(log2_of(hi, sizes), 0.0)
        case Name(name):
            return sizes.get(name, (1.0, 0.0))[1]
        case Inf():
            return 0.0
