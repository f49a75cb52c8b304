"""Evaluation of formula trees and loaded statements at a point, with exact rationals and balls.

The precision is raised until a relation between numbers is decided, up to a limit. A statement has definitions
(``let``), conditions, and two sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from flint import arb, ctx, fmpq

from dpverify.ledger.check_results import Number
from dpverify.ledger.formula import Compare, Formula
from dpverify.symbolic.exact.compile import compile_formula, compile_relation
from dpverify.symbolic.exact.numbers import (
    MAX_BITS,
    Datum,
    EvaluationError,
    Exact,
    UndecidedError,
    Value,
    compare,
    conjunction,
    is_integer,
    to_exact,
    to_value,
    working_precision,
)
from dpverify.symbolic.exact.sums import Closure, Env

if TYPE_CHECKING:
    from dpverify.ledger.statements import Statement


_START_BITS = 64
_MAX_EXACT_CHARACTERS = 1000


def decide(
    lhs: Callable[[int], Exact] | Exact,
    relation: str,
    rhs: Callable[[int], Exact] | Exact,
    *,
    start: int = _START_BITS,
    max_bits: int = MAX_BITS,
) -> bool | None:
    """Decide ``lhs relation rhs`` with certainty. Return None if the balls still overlap at ``max_bits`` bits.

    A side that is a function is called with the number of bits.
    """
    fixed = not callable(lhs) and not callable(rhs)
    bits = start
    while True:
        with working_precision(bits):
            try:
                left = lhs(bits) if callable(lhs) else lhs
                right = rhs(bits) if callable(rhs) else rhs
                answer = compare(to_value(left), relation, to_value(right))
            except UndecidedError:
                if bits >= max_bits:
                    raise
                answer = None
        if answer is not None or fixed or bits >= max_bits:
            return answer
        bits = min(4 * bits, max_bits)


def to_number(x: Exact | int) -> Number:
    """Write a number for a report: a fraction if it is short, and the float nearest to it or to a ball's midpoint.

    The float is text if it would be infinite or NaN, or if a nonzero number would become 0: ``"inf"``, ``"-inf"``,
    ``"nan"``, ``"1.5e-400"``.
    """
    if isinstance(x, arb):
        return Number(exact=None, float=_float_of_ball(x))
    value = Fraction(x)
    # long integers are slow to print, and Python refuses very long ones
    short = (
        max(value.numerator.bit_length(), value.denominator.bit_length())
        < 3 * _MAX_EXACT_CHARACTERS
    )
    exact = str(value) if short else ""
    return Number(
        exact=exact if 0 < len(exact) <= _MAX_EXACT_CHARACTERS else None,
        float=_float_of_fraction(value),
    )


def _float_of_fraction(value: Fraction) -> float | str:
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isinf(result) or (result == 0 and value != 0):
        with working_precision(_START_BITS):
            return _decimal(arb(to_value(value)))
    return result


def _float_of_ball(x: arb) -> float | str:
    if x.is_nan():
        return "nan"
    if not x.is_finite():
        return "inf" if x > 0 else "-inf" if x < 0 else "nan"
    middle = x.mid()
    result = float(middle)
    if math.isinf(result) or (result == 0 and not middle.is_zero()):
        return _decimal(middle)
    return result


def _decimal(x: arb) -> str:
    return x.str(6, radius=False)


Point: TypeAlias = Mapping[str, Any]


def evaluate(
    node: Formula, env: Point, *, precision: int = 256, extended: bool = False
) -> Exact:
    """Evaluate a formula at a point, to a Fraction if rational arithmetic suffices, otherwise to a ball.

    ``precision`` is the number of bits of the balls. It is raised if they do not show whether the formula is defined.
    If ``extended``, ``x/0`` is +oo or -oo by the sign of x, and ``log(0)`` is -oo, instead of a DomainError.
    """
    return to_exact(run(cached_closure(node, extended), values(env), precision))


def values(point: Point) -> Env:
    """Copy a point into the dict that compiled formulas read."""
    # Most values are Fractions, and a run converts a million of them, so this
    # conversion is inline.
    return {
        name: fmpq(*v.as_integer_ratio())
        if type(v) is Fraction
        else v
        if _is_not_number(v)
        else to_value(v)
        for name, v in point.items()
    }


def _is_not_number(value: Any) -> bool:
    return isinstance(value, Datum) or callable(value)


def run(closure: Closure, env: Env, precision: int, max_bits: int = MAX_BITS) -> Value:
    """Run a compiled formula, and double the precision while it is undecided. The value is never a NaN."""
    while True:
        try:
            with working_precision(precision):
                result = closure(env)
            if not (isinstance(result, arb) and result.is_nan()):
                return result
            raise UndecidedError(
                "the value is indeterminate: oo - oo, 0*oo, or a ball that is too wide."
            )
        except UndecidedError:
            if precision >= max_bits:
                raise
            precision *= 2


def holds(
    node: Compare, env: Point, *, precision: int = 64, extended: bool = False
) -> bool | None:
    """Decide comparisons at a point: None if the largest precision does not suffice, False if a side is not defined."""
    return holds_compiled(compile_relation(node, extended), values(env), precision)


def holds_compiled(
    relation: Callable[[Env], bool | None], env: Env, precision: int = 64
) -> bool | None:
    """Decide a compiled chain of comparisons; see :func:`holds`."""
    while True:
        try:
            with working_precision(precision):
                answer = relation(env)
        except UndecidedError:
            answer = None
        except EvaluationError:
            return False
        if answer is not None or precision >= MAX_BITS:
            return answer
        precision *= 4


def all_hold(
    relations: Iterable[Callable[[Env], bool | None]], env: Env, precision: int = 64
) -> bool | None:
    """Decide whether all compiled chains of comparisons hold.

    All are tried once at ``precision``. :func:`holds_compiled` decides the undecided ones with more bits.
    """
    undecided = []
    with working_precision(precision):
        for relation in relations:
            try:
                answer = relation(env)
            except UndecidedError:
                answer = None
            except EvaluationError:
                answer = False
            if answer is False:
                return False
            if answer is None:
                undecided.append(relation)
    return conjunction(
        holds_compiled(relation, env, 4 * precision) for relation in undecided
    )


_closures: dict[tuple[int, bool], tuple[Formula, Closure]] = {}


def cached_closure(node: Formula, extended: bool = False) -> Closure:
    """Return the compiled form of a tree, cached by identity: hashing a large tree costs more than running it."""
    key = (id(node), extended)
    entry = _closures.get(key)
    if entry is None or entry[0] is not node:
        if len(_closures) > 4096:
            _closures.clear()
        entry = _closures[key] = (node, compile_formula(node, extended))
    return entry[1]


T = TypeVar("T")


@dataclass(frozen=True)
class CompiledStatement:
    """Closures of a statement's parts."""

    let: tuple[tuple[str, Closure], ...]
    lhs: Closure | None
    rhs: Closure | None
    relation: str | None
    requires: tuple[Callable[[Env], bool | None], ...]

    def at(self, env: Env) -> Callable[[Callable[[Env], T]], Callable[[Env], T]]:
        """Return a wrapper that evaluates a closure at a point to which the definitions are added.

        The definitions are computed once for each precision.
        """
        cache: dict[int, Env] = {}

        def resolving(closure: Callable[[Env], T]) -> Callable[[Env], T]:
            def resolved(_env: Env) -> T:
                bits = int(ctx.prec)
                if bits not in cache:
                    cache[bits] = self.defined(env)
                return closure(cache[bits])

            return resolved if self.let else closure

        return resolving

    def defined(self, env: Env) -> Env:
        """Return a copy of the values that also has the values of the definitions."""
        full = dict(env)
        for name, definition in self.let:
            full[name] = definition(full)
        return full


_compiled: dict[int, tuple[Statement, CompiledStatement]] = {}


def compile_statement(statement: Statement) -> CompiledStatement:
    """Compile a statement. Divisions by zero are errors, since printed formulas do not mean infinities."""
    entry = _compiled.get(id(statement))
    if entry is None or entry[0] is not statement:
        if len(_compiled) > 1024:
            _compiled.clear()
        closures = CompiledStatement(
            let=tuple((name, compile_formula(value)) for name, value in statement.let),
            lhs=None if statement.lhs is None else compile_formula(statement.lhs),
            rhs=None if statement.rhs is None else compile_formula(statement.rhs),
            relation=statement.relation,
            requires=tuple(
                compile_relation(condition) for condition in statement.requires
            ),
        )
        entry = _compiled[id(statement)] = (statement, closures)
    return entry[1]


def evaluate_statement(
    statement: Statement, point: Point, *, precision: int = 256
) -> tuple[Exact | None, Exact]:
    """Evaluate both sides of a statement. The left side is None if it is a measured quantity.

    ``point`` has a value for every free symbol. Raises a ValueError for a statement in words, and an `EvaluationError`
    if a side is not defined.
    """
    compiled = compile_statement(statement)
    if compiled.rhs is None:
        raise ValueError("the statement is in words: it has no right side to evaluate.")
    env = values(point)
    resolving = compiled.at(env)
    lhs = (
        None
        if compiled.lhs is None
        else to_exact(run(resolving(compiled.lhs), env, precision))
    )
    return lhs, to_exact(run(resolving(compiled.rhs), env, precision))


def definitions(
    statement: Statement, point: Point, *, precision: int = 256
) -> dict[str, Exact]:
    """Return the values of all symbols at a point, including those that the statement defines."""
    with working_precision(precision):
        full = compile_statement(statement).defined(values(point))
    return {name: to_exact(value) for name, value in full.items()}


def requires_hold(statement: Statement, point: Point) -> bool | None:
    """Test whether a point satisfies every condition of a statement.

    Return False if a condition is not defined, and None if one is undecided.
    """
    compiled = compile_statement(statement)
    if not compiled.requires:
        return True
    env = values(point)
    return all_hold(map(compiled.at(env), compiled.requires), env)


def domains_hold(domains: Mapping[str, Any], point: Point) -> bool | None:
    """Test whether the symbols that a point sets are in their domains.

    Return None if a domain is undecided and none is violated.
    """
    env = values(point)
    answers: list[bool | None] = []
    for name, domain in domains.items():
        if name not in point:
            continue
        if domain.kind == "integer" and not is_integer(env[name]):
            return False
        constraints: Sequence[Compare] = domain.constraints
        answers.append(all_hold(map(compile_relation, constraints), env))
    return conjunction(answers)


def decide_statement(
    statement: Statement, point: Point, lhs: Callable[[int], Exact] | None = None
) -> bool | None:
    """Decide a statement at a point, without its conditions.

    ``lhs`` returns a measured left side for a number of bits. Return None if 2048 bits do not suffice.
    """
    compiled = compile_statement(statement)
    env = values(point)
    resolving = compiled.at(env)

    def side(closure: Closure) -> Callable[[int], Exact]:
        return lambda bits: to_exact(run(resolving(closure), env, bits, max_bits=bits))

    if lhs is None and compiled.lhs is not None:
        lhs = side(compiled.lhs)
    if lhs is None or compiled.rhs is None or compiled.relation is None:
        raise ValueError(
            "the statement needs a left side, a relation and a right side to be decided."
        )
    return decide(lhs, compiled.relation, side(compiled.rhs))
