"""Evaluate a loaded statement at a point: its definitions (``let``), its conditions, its two sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from flint import ctx

from dpverify.ledger.formula import Compare
from dpverify.symbolic.exact.compile import compile_formula, compile_relation
from dpverify.symbolic.exact.evaluate import Point, all_hold, decide, run, values
from dpverify.symbolic.exact.numbers import Exact, conjunction, is_integer, to_exact, working_precision
from dpverify.symbolic.exact.sums import Closure, Env

if TYPE_CHECKING:
    from dpverify.ledger.statements import Statement

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
        """What makes a closure one that reads the definitions at a point too; they are computed once per precision."""
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
        """Copy of the values with those of the definitions added."""
        full = dict(env)
        for name, definition in self.let:
            full[name] = definition(full)
        return full


_compiled: dict[int, tuple[Statement, CompiledStatement]] = {}


def compile_statement(statement: Statement) -> CompiledStatement:
    """Compile a statement; divisions by zero are errors, as printed formulas promise no infinities."""
    entry = _compiled.get(id(statement))
    if entry is None or entry[0] is not statement:
        if len(_compiled) > 1024:
            _compiled.clear()
        closures = CompiledStatement(
            let=tuple((name, compile_formula(value)) for name, value in statement.let),
            lhs=None if statement.lhs is None else compile_formula(statement.lhs),
            rhs=None if statement.rhs is None else compile_formula(statement.rhs),
            relation=statement.relation,
            requires=tuple(compile_relation(condition) for condition in statement.requires),
        )
        entry = _compiled[id(statement)] = (statement, closures)
    return entry[1]


def evaluate_statement(statement: Statement, point: Point, *, precision: int = 256) -> tuple[Exact | None, Exact]:
    """Evaluate both sides of a statement; the left one is None where it is a measured quantity.

    ``point``: a value for every free symbol. Raises a ValueError for a statement in words, and an `EvaluationError`
    where a side is not defined.
    """
    compiled = compile_statement(statement)
    if compiled.rhs is None:
        raise ValueError("the statement is in words: it has no right side to evaluate.")
    env = values(point)
    resolving = compiled.at(env)
    lhs = None if compiled.lhs is None else to_exact(run(resolving(compiled.lhs), env, precision))
    return lhs, to_exact(run(resolving(compiled.rhs), env, precision))


def definitions(statement: Statement, point: Point, *, precision: int = 256) -> dict[str, Exact]:
    """Values of all symbols at a point, those that the statement defines among them."""
    with working_precision(precision):
        full = compile_statement(statement).defined(values(point))
    return {name: to_exact(value) for name, value in full.items()}


def requires_hold(statement: Statement, point: Point) -> bool | None:
    """Whether a point meets every condition of a statement: False if one is not defined, None if one is undecided."""
    compiled = compile_statement(statement)
    if not compiled.requires:
        return True
    env = values(point)
    return all_hold(map(compiled.at(env), compiled.requires), env)


def domains_hold(domains: Mapping[str, Any], point: Point) -> bool | None:
    """Whether the symbols that a point sets lie in their domains; None where one is undecided and none is violated."""
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


def decide_statement(statement: Statement, point: Point, lhs: Callable[[int], Exact] | None = None) -> bool | None:
    """Decide a statement at a point, its conditions aside; ``lhs``: a measured side. None if 2048 bits do not."""
    compiled = compile_statement(statement)
    env = values(point)
    resolving = compiled.at(env)

    def side(closure: Closure) -> Callable[[int], Exact]:
        return lambda bits: to_exact(run(resolving(closure), env, bits, most=bits))

    if lhs is None and compiled.lhs is not None:
        lhs = side(compiled.lhs)
    if lhs is None or compiled.rhs is None or compiled.relation is None:
        raise ValueError("the statement needs a left side, a relation and a right side to be decided.")
    return decide(lhs, compiled.relation, side(compiled.rhs))
