"""Limits of the formula language: allowed names, the kinds of their arguments, and the size of exact values.

Names from other languages are refused with a hint. Nested powers, their products and binomials can become huge, so the
size of a value is bounded before it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from dpverify.ledger.errors import FormulaError, suggest
from dpverify.ledger.formula.tree import (
    BINDERS,
    BUILTINS,
    SIGNATURES,
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Infimum,
    Integral,
    Kind,
    Name,
    Neg,
    Num,
    Sum,
    Supremum,
    children,
    free_names,
    walk,
)


def kind_of(node: Formula) -> Kind:
    """Return the kind of a formula's value: a number, a probability law or a pair of laws."""
    return (
        SIGNATURES[node.name].value
        if isinstance(node, Call) and node.name in SIGNATURES
        else "number"
    )


def check_kinds(text: str, node: Formula | Compare) -> None:
    """Raise `FormulaError` for a law in the place of a number, and the other way round."""
    if not isinstance(node, Compare) and kind_of(node) != "number":
        rule = f"a formula is a number; {_name(node)} is a {kind_of(node)}: take a divergence or a moment of it"
        raise FormulaError(text, rule)
    _check_inside(text, node)


def _check_inside(text: str, node: Formula | Compare) -> None:
    parts = children(node)
    signature = SIGNATURES.get(node.name) if isinstance(node, Call) else None
    kinds: list[Kind] = ["number"] * len(parts)
    if signature is not None:
        extra = len(parts) - len(signature.arguments)
        kinds = [*signature.arguments, *(signature.arguments[-1:] * extra)]
    for i, (part, kind) in enumerate(zip(parts, kinds, strict=True), 1):
        if kind_of(part) != kind:
            where = (
                f"argument {i} of {node.name}"
                if isinstance(node, Call)
                else "an operand"
            )
            raise FormulaError(
                text,
                f"{where} is a {kind}, got {_name(part)}, which is a {kind_of(part)}",
            )
        _check_inside(text, part)


def _name(node: Formula) -> str:
    return (
        node.name
        if isinstance(node, Call)
        else node.id
        if isinstance(node, Name)
        else "a formula"
    )


WRITTEN = {  # names from other languages, and what to write instead
    "ln": "log(x)",
    "lg": "log2(x)",
    "log10": "log(x)/log(10)",
    "log1p": "log(1 + x)",
    "expm1": "exp(x) - 1",
    "e": "exp(1)",
    "E": "exp(1)",
    "Pi": "pi",
    "inf": "oo",
    "infinity": "oo",
    "Phi": "normal_cdf(x)",
    "norm_cdf": "normal_cdf(x)",
    "erfc": "1 - erf(x)",
    "Gamma": "gamma(x)",
    "factorial": "gamma(n + 1)",
    "comb": "binomial(n, k)",
    "choose": "binomial(n, k)",
    "sinh": "(exp(x) - exp(-x))/2",
    "cosh": "(exp(x) + exp(-x))/2",
    "ceiling": "ceil(x)",
    "pow": "x**y",
    "Laplace": "laplace_law(m, b)",
    "Lap": "laplace_law(m, b)",
    "Normal": "normal_law(m, s)",
    "Gaussian": "normal_law(m, s)",
    "Binomial": "binomial_law(n, p)",
    "Bin": "binomial_law(n, p)",
    "Bernoulli": "binomial_law(1, p)",
    "Uniform": "uniform_law(a, b)",
    "Exponential": "exponential_law(m, b)",
    "Geometric": "discrete_laplace_law(m, b)",
    "randomized_response": "response_law(k, epsilon, v)",
    "expectation": "mean_of(P)",
    "mean": "mean_of(P)",
    "variance": "variance_of(P)",
    "KL": "kl(P, Q)",
    "TV": "total_variation(P, Q)",
    "D_alpha": "renyi(P, Q, z)",
    "compose": "self_composed(M, k)",
    "subsampled": "poisson_sampled(M, q)",
    "shuffle": "shuffled(M, R, n)",
}


def _unknown(name: str, what: str, names: frozenset[str]) -> str:
    """Return the rule that an unknown name breaks, with its equivalent in this language or the nearest known names."""
    hint = f"; use {WRITTEN[name]}" if name in WRITTEN else suggest(name, names)
    return f"unknown {what} {name!r}{hint}"


def check_names(
    text: str,
    node: Formula | Compare,
    symbols: frozenset[str],
    functions: dict[str, int],
) -> None:
    """Raise `FormulaError` for undeclared names and for wrong kinds or numbers of arguments."""
    check_kinds(text, node)
    for name in sorted(free_names(node) - symbols):
        raise FormulaError(text, _unknown(name, "symbol", symbols))
    for part in walk(node):
        if isinstance(part, Sum) and part.index in symbols:
            kind = f"{'an' if isinstance(part, Integral | Infimum) else 'a'} {BINDERS[type(part)]}"
            raise FormulaError(
                text,
                f"index {part.index!r} of {kind} is a symbol of the paper; choose another letter",
            )
        if (
            isinstance(part, Call)
            and part.args
            and part.name in BUILTINS
            and part.name in symbols
        ):
            rule = f"{part.name} is a symbol of the paper; a product is written {part.name}*(...)"
            raise FormulaError(text, rule)
        if not isinstance(part, Call) or part.name in BUILTINS:
            continue
        if part.name not in functions:
            function_names = (
                frozenset(BUILTINS) | set(BINDERS.values()) | functions.keys()
            )
            raise FormulaError(text, _unknown(part.name, "function", function_names))
        if len(children(part)) != functions[part.name]:
            arity = functions[part.name]
            raise FormulaError(
                text, f"{part.name} takes {arity} argument(s), got {len(part.args)}"
            )


MAX_BITS = 4_000_000  # of an exact value; 10**40 to the power 10,000 has 1.4 million

Sizes: TypeAlias = Mapping[str, tuple[float, float]]
"""Sizes of defined names: the bits of the exact value, and the binary logarithm of its absolute value."""

NO_SIZES: Sizes = {}
LARGEST = 2.0**60
_CAP = 60.0  # of a binary logarithm; larger values are too large in any case


def bits(node: Formula, sizes: Sizes = NO_SIZES) -> float:
    """Return an upper bound on the bits of the exact value if every name without a size is 1."""
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
    """Return an upper bound on the absolute value of an exponent, capped at 2**60."""
    return float(2.0 ** min(log2_of(exponent, sizes), _CAP))


def log2_of(node: Formula, sizes: Sizes) -> float:
    """Return an upper bound on the binary logarithm of the absolute value if every name without a size is 1."""
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
            return log2_of(left, sizes) - (
                0.0 if free_names(right) else log2_of(right, sizes)
            )
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
