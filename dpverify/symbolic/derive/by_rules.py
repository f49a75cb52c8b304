"""Search for a derivation of a formula that nobody wrote: by the signs of a difference, or after a rule or two.

What is found is checked like any derivation; what is not found says nothing. The number of tries is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import sympy

from dpverify.ledger.formula import Formula, Name, Num
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.conclude import compare_with
from dpverify.symbolic.derive.derivation import check_derivation
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.derive.suggestions import rewritten, suggested
from dpverify.symbolic.exact.numbers import EvaluationError, compare
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, Variable
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols
from dpverify.symbolic.prove.equality import within
from dpverify.symbolic.prove.signs import at_most
from dpverify.symbolic.rules.base import Relation

MOST_OPERATIONS = 150  # of both sides together
MOST_POWER = 6  # exponent of a sum of terms: it is expanded
MOST_CHAINS = 24  # derivations that are tried in full, of so many that are looked at
MOST_LOOKED_AT = 200
DECISIONS = 2000  # about signs, of each of them; a proof takes a hundred or two
SECONDS = 20.0  # of computing, for one that sympy works on too long
POINTS = 40
WIDTH = 1000  # of a range without an end


def derived_by_rules(
    statement: Statement, accepted: Callable[[Derivation], bool], seconds: float = SECONDS
) -> Derivation | None:
    """Find a derivation that proves a statement of two formulas, and is accepted; None where none is found.

    Both sides must have a value on the whole domain: where one divides by 0 there, nothing is found.
    """
    relation = statement.relation
    if relation not in {"<=", ">=", "="}:
        raise ValueError(f"relation must be one of <=, >= and =, got {relation!r}.")
    try:
        plain, (_, printed) = from_left_side(statement), sympy_sides(statement)
        points = Setting(plain.variables, sympy_symbols(statement).values(), plain.assumptions, POINTS, 0).points
    except ValueError:  # conditions that contradict each other, or that no proof can use
        return None
    if _too_large(plain.start, printed):
        return None
    if not points.enough or not _may_hold(plain.start, relation, printed, points.found):
        return None
    looked_at = islice(_chains(plain, relation, printed), MOST_LOOKED_AT)
    promising = (chain for chain in looked_at if _may_hold(chain.last, relation, printed, points.found))

    def search() -> Derivation | None:
        try:
            return next(
                (candidate for candidate in islice(promising, MOST_CHAINS) if _proves(candidate, statement, accepted)),
                None,
            )
        except (ArithmeticError, NotImplementedError, RecursionError, TypeError, ValueError):
            return None  # sympy cannot write the next one

    return within(seconds, search, of_process=True)


def _proves(chain: Derivation, statement: Statement, accepted: Callable[[Derivation], bool]) -> bool:
    try:
        with at_most(DECISIONS):
            conclusion = compare_with(chain, statement)
            proven = conclusion.relation in {"equal", "weaker"} and not conclusion.reason
            return proven and check_derivation(chain, POINTS).complete and accepted(chain)
    except Exception:  # noqa: BLE001  too long, or sympy failed on what nobody tried before: then there is no proof
        return False


def from_left_side(statement: Statement) -> Derivation:
    """Begin a derivation at the left side of a statement, on all its conditions, with no step."""
    symbols = sympy_symbols(statement)
    return Derivation(
        name="by rules",
        whose="ours",
        variables=_ranges(statement, symbols),
        assumptions=sympy_conditions(statement),
        start=sympy_sides(statement)[0],
        steps=(),
    )


def _chains(plain: Derivation, relation: Relation, printed: Any) -> Iterator[Derivation]:
    """Derivations to try: without a step, by algebra, and with a rule or two from the left or one from the right."""

    def after(*steps: Step) -> Derivation:
        return replace(plain, steps=steps)

    yield plain
    forms: list[tuple[Step, ...]] = [(), *((Step(form, "="),) for form in rewritten(plain.start))]
    yield from (after(*form) for form in forms[1:])
    relations = tuple(dict.fromkeys(("=", relation)))
    firsts: list[tuple[Step, ...]] = []
    for form in forms:
        end = form[-1].expr if form else plain.start
        firsts += [(*form, suggestion.step(suggestion.expr, r)) for r in relations for suggestion in suggested(end, r)]
    yield from (after(*steps) for steps in firsts)
    for before in suggested(printed, relation):
        if relation == "=":
            first = Step(before.expr, "=")
        else:
            small, large = (plain.start, before.expr) if relation == "<=" else (before.expr, plain.start)
            first = Step(before.expr, relation, "order", {"a": small, "b": large}, context=HOLE)
        yield after(first, before.step(printed, relation))
    for steps in firsts:
        yield from (
            after(*steps, suggestion.step(suggestion.expr, r))
            for r in relations
            for suggestion in suggested(steps[-1].expr, r)
        )


def _may_hold(left: Any, relation: Relation, right: Any, points: list[dict[str, Any]]) -> bool:
    """Whether no point shows that a relation is false; a side without a value shows nothing."""
    try:
        evaluate_left, evaluate_right = compile_expr(left), compile_expr(right)
    except TypeError:
        return False
    for point in points:
        try:
            if compare(evaluate_left(dict(point), 170), relation, evaluate_right(dict(point), 170)) is False:
                return False
        except EvaluationError:
            continue
    return True


def _too_large(*sides: Any) -> bool:
    powers = (p for side in sides for p in side.atoms(sympy.Pow) if p.base.is_Add and p.exp.is_Integer)
    numbers = (p for side in sides for p in side.atoms(sympy.Rational))
    return (
        sum(side.count_ops() for side in sides) > MOST_OPERATIONS
        or any(abs(p.exp) > MOST_POWER for p in powers)
        or any(abs(n.p) > 10**40 or n.q > 10**40 for n in numbers)
    )


def _ranges(statement: Statement, symbols: dict[str, Any]) -> dict[str, Variable]:
    """Where sample points are drawn: between ends that are numbers, or a little way from one; proofs use none of it."""
    ranges: dict[str, Variable] = {}
    for name, symbol in symbols.items():
        domain = statement.domains[name]
        ends: dict[str, list[Any]] = {"<": [], ">": []}
        for constraint in (*domain.constraints, *statement.requires):
            pairs = zip(constraint.operands, constraint.ops, constraint.operands[1:], strict=False)
            for left, op, right in pairs:
                for side, sign, bound in ((left, op, right), (right, op.translate(_TURNED), left)):
                    if side == Name(name) and (value := _number(bound)) is not None:
                        for way in "<>" if op == "==" else sign[0]:
                            ends[way].append(value)
        lo = max(ends[">"], default=None)
        hi = min(ends["<"], default=None)
        if lo is None:
            lo = -WIDTH if hi is None else hi - WIDTH
        integer = bool(symbol.is_integer)
        ranges[name] = Range("integer" if integer else "real", lo, lo + WIDTH if hi is None else hi)
    return ranges


_TURNED = str.maketrans("<>", "><")


def _number(formula: Formula) -> Any:
    return formula.value if isinstance(formula, Num) else None
