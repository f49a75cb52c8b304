"""Solve a simple inequality for one symbol, so that points meet a statement's conditions by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any, cast

from flint import arb

from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Name,
    Neg,
    Num,
    free_names,
    walk,
)
from dpverify.symbolic.exact.evaluate import cached_closure, run
from dpverify.symbolic.exact.numbers import (
    EvaluationError,
    Exact,
    to_exact,
    working_precision,
)
from dpverify.symbolic.exact.sums import Env

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "=": "="}
BITS = 256  # precision of the computed ends


@dataclass(frozen=True)
class Inequality:
    """Two sides and an operator: one link of a chain of comparisons."""

    op: str
    left: Formula  # the sides
    right: Formula

    @property
    def names(self) -> frozenset[str]:
        """Symbols of both sides."""
        return free_names(self.left) | free_names(self.right)


def links(relation: Compare) -> list[Inequality]:
    """Split a chain of comparisons into its links."""
    pairs = zip(relation.ops, relation.operands, relation.operands[1:], strict=False)
    return [Inequality(op, left, right) for op, left, right in pairs]


def can_solve(inequality: Inequality, symbol: str) -> bool:
    """Return whether the symbol occurs once, only under ``+ - * /``, signs and square roots, and not in a divisor."""
    count = sum(
        node == Name(symbol)
        for side in (inequality.left, inequality.right)
        for node in walk(side)
    )
    side = (
        inequality.left if symbol in free_names(inequality.left) else inequality.right
    )
    return count == 1 and _reachable(side, symbol)


def _reachable(node: Formula, symbol: str) -> bool:
    match node:
        case Name(name):
            return name == symbol
        case Neg(arg) | Call("sqrt", (arg,)):
            return _reachable(arg, symbol)
        case Bin("+" | "-" | "*", left, right):
            return _reachable(left, symbol) or _reachable(right, symbol)
        case Bin("/", left, _):
            return _reachable(left, symbol)
        case _:
            return False


def solve(inequality: Inequality, symbol: str, env: Env) -> tuple[str, Fraction] | None:
    """Return the operator and the finite end that bound a symbol, or None. Irrational ends are rounded inwards."""
    op = inequality.op
    node = inequality.left
    constant_side = inequality.right
    if symbol not in free_names(node):
        op = FLIPPED[op]
        node = inequality.right
        constant_side = inequality.left
    with working_precision(BITS):
        try:
            end = _value(constant_side, env)
            while not isinstance(node, Name):
                step = _undo(op, node, end, symbol, env)
                if step is None:
                    return None
                op, node, end = step
        except EvaluationError:
            return None
        inside = _inside(op, end)
    return None if inside is None else (op, inside)


def _undo(
    op: str, node: Formula, end: Exact, symbol: str, env: Env
) -> tuple[str, Formula, Exact] | None:
    """Move the outermost operation of ``node op end`` to the other side."""
    match node:
        case Neg(arg):
            return FLIPPED[op], arg, -end
        case Call("sqrt", (arg,)):
            return (op, arg, _exactly(mul, end, end)) if end >= 0 else None
        case Bin("+", left, right):
            inner, operand = (
                (left, right) if symbol in free_names(left) else (right, left)
            )
            return op, inner, _exactly(sub, end, _value(operand, env))
        case Bin("-", left, right):
            if symbol in free_names(left):
                return op, left, _exactly(add, end, _value(right, env))
            return FLIPPED[op], right, _exactly(sub, _value(left, env), end)
        case Bin("*", left, right):
            inner, operand = (
                (left, right) if symbol in free_names(left) else (right, left)
            )
            return _divided(op, inner, end, _value(operand, env))
        case Bin("/", left, right):
            factor = _value(right, env)
            inverse = _value(Bin("/", Num(Fraction(1)), right), env)
            return _divided(op, left, end, inverse) if factor != 0 else None
        case _:
            return None


def _value(node: Formula, env: Env) -> Exact:
    return to_exact(run(cached_closure(node), env, BITS))


def _divided(
    op: str, inner: Formula, end: Exact, factor: Exact
) -> tuple[str, Formula, Exact] | None:
    if factor > 0:
        return op, inner, _exactly(truediv, end, factor)
    if factor < 0:
        return FLIPPED[op], inner, _exactly(truediv, end, factor)
    return None


def _ball(value: Exact) -> arb:
    return (
        value
        if isinstance(value, arb)
        else arb(value.numerator) / arb(value.denominator)
    )


def _exactly(operation: Callable[[Any, Any], Any], a: Exact, b: Exact) -> Exact:
    """Apply an operation to two rationals, or to two balls if an operand is a ball."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return cast(Exact, operation(a, b))
    return cast(Exact, operation(_ball(a), _ball(b)))


# exp(-10**6) would take a million digits; such
# ends are skipped, and the whole point is checked
LONGEST_EXPONENT = 8192


def _inside(op: str, end: Exact) -> Fraction | None:
    """Convert an end to a rational number. An irrational end is rounded to the inner side."""
    if isinstance(end, Fraction):
        return end
    if not end.is_finite() or op in {"==", "="}:
        return None
    mantissa, exponent = (end.upper() if op in {">", ">="} else end.lower()).man_exp()
    if abs(int(exponent)) > LONGEST_EXPONENT:
        return None
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    places = 64 - max(
        abs(exact.numerator).bit_length() - exact.denominator.bit_length(), -1000
    )
    grid = Fraction(2) ** places
    scaled = exact * grid
    return (
        Fraction(
            -(-scaled.numerator // scaled.denominator)
            if op in {">", ">="}
            else scaled.__floor__()
        )
        / grid
    )
