"""The setting in which a step is checked: the facts, the declared variables, and the sample points.

The facts include conclusions of cited derivations on the domain of the derivation that cites them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import sympy

from dpverify.ledger.check_results import Number
from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise
from dpverify.symbolic.exact.evaluate import to_number
from dpverify.symbolic.exact.numbers import (
    EvaluationError,
    UnsupportedError,
    Value,
    compare,
    to_exact,
)
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.ranges import Points, Range, Variable, shown
from dpverify.symbolic.prove.facts import Facts, differences, symbol_signs, symbols_of
from dpverify.symbolic.prove.signs import is_implied

_BITS = (170, 680)
_WITNESSES = 6


class Setting:
    """Facts, variables and points. A case has its own setting."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        symbols: Any,
        assumptions: tuple[Any, ...],
        points: int,
        seed: int,
        implied_relations: tuple[Any, ...] = (),
    ) -> None:
        """Build the setting. ``implied_relations`` follow from the assumptions, so they exclude no point."""
        self.variables = variables
        self.symbols = tuple(symbols)
        self.assumptions = assumptions
        self.seed = seed
        self.implied_relations = implied_relations
        try:
            self.facts = Facts().assume((*assumptions, *implied_relations))
        except ValueError as error:
            raise DerivationError(str(error)) from None
        tests = self.compiled_tests(assumptions)
        tests += [
            _test(*sign)
            for s in self.symbols
            if s.name in variables
            for sign in symbol_signs(s)
        ]
        tests += [
            _is_integer(s.name)
            for s in self.symbols
            if s.is_integer and s.name in variables
        ]
        self.points = Points(variables, tests, points, f"{seed} {assumptions}")
        self.facts = replace(
            self.facts, witnesses=tuple(self.points.samples[:_WITNESSES])
        )

    @staticmethod
    def compiled_tests(assumptions: tuple[Any, ...]) -> list[Any]:
        """Compile assumptions to functions of a point's values that return True, False or None."""
        return [
            _test(difference, strict)
            for r in assumptions
            for difference, strict in differences(r)
        ]

    def constant_letters(self, *expressions: Any) -> list[str]:
        """Return the letters that have one value at all points, although the facts allow other values."""
        letters = sorted({s for expr in expressions for s in symbols_of(expr)}, key=str)
        names = []
        for letter in letters if self.points.samples else ():
            values = (
                {p[letter.name] for p in self.points.samples}
                if _is_number(self.variables, letter.name)
                else ()
            )
            if len(values) == 1 and not is_implied(
                sympy.Eq(letter, _rational(*values)), self.facts
            ):
                names.append(letter.name)
        return names

    def with_assumption(self, assumption: Any) -> Setting:
        """Return the setting of a case."""
        assumptions = (*self.assumptions, assumption)
        variables = dict(self.variables)
        with suppress(ValueError):  # the new setting reports the error
            for difference, _ in differences(assumption):
                _clip(variables, difference)
        return Setting(
            variables,
            self.symbols,
            assumptions,
            self.points.count,
            self.seed,
            self.implied_relations,
        )


def _clip(variables: dict[str, Variable], difference: Any) -> None:
    """Restrict the ranges of integers by the condition ``difference >= 0`` of a case."""
    for letter in difference.free_symbols:
        variable = variables.get(letter.name)
        bound = letter - difference
        if (
            type(variable) is Range
            and isinstance(variable.lo, int)
            and isinstance(variable.hi, int)
            and variable.kind == "integer"
        ):
            if bound.is_Integer:
                variables[letter.name] = replace(
                    variable, lo=min(max(variable.lo, int(bound)), variable.hi)
                )
            elif (above := letter + difference).is_Integer:
                variables[letter.name] = replace(
                    variable, hi=max(min(variable.hi, int(above)), variable.lo)
                )


_ZERO = compile_expr(sympy.Integer(0))({}, 64)


def _test(difference: Any, strict: bool) -> Any:
    value = compile_expr(difference)
    relation = ">" if strict else ">="
    return lambda env: compare(value(env, 128), relation, _ZERO)


def _is_number(variables: Mapping[str, Variable], name: str) -> bool:
    return type(variables.get(name)) is Range


def _rational(value: Any) -> Any:
    return sympy.Rational(int(value.p), int(value.q))


def _is_integer(name: str) -> Any:
    return lambda env: getattr(env[name], "q", None) == 1


@dataclass
class Evaluation:
    """The evaluation of one step at the points."""

    # points at which both sides have a value; points
    # that differ only in other letters count once
    count: int = 0
    # the first point at which the relation is certainly false, with both sides
    violation: str = ""
    undefined: str = ""  # the first point at which a side has no value
    # smallest ratio of the larger side to the smaller one, if both are positive
    slack: Number | None = None


def evaluate_step(old: Any, new: Any, relation: str, setting: Setting) -> Evaluation:
    """Evaluate a step at every point of a setting with balls. A violation is certain; no violation proves nothing."""
    result = Evaluation()
    try:
        left, right = compile_expr(old), compile_expr(new)
    except TypeError as error:
        result.undefined = str(error)
        return result
    smallest: Value | None = None
    names = {s.name for expr in (old, new) for s in symbols_of(expr) | _functions(expr)}
    distinct = {
        tuple(p[name] for name in sorted(names & p.keys())): p
        for p in reversed(setting.points.samples)
    }
    for point in reversed(distinct.values()):
        try:
            a, b, is_true = _compare_at(left, right, relation, point)
        except EvaluationError as error:
            result.undefined = result.undefined or f"at {_point_text(point)}: {error}"
            if isinstance(error, UnsupportedError):
                break
            continue
        result.count += 1
        if is_true is False:
            result.violation = f"at {_point_text(point)}: {_short_text(a)} {relation} {_short_text(b)} is false"
            break
        ratio = _ratio(a, b, relation)
        if ratio is not None and (smallest is None or ratio < smallest):
            smallest = ratio
    result.slack = None if smallest is None else to_number(to_exact(smallest))
    return result


def _functions(expr: Any) -> set[Any]:
    return {applied.func for applied in expr.atoms(sympy.core.function.AppliedUndef)}


def _compare_at(
    left: Any, right: Any, relation: str, point: Mapping[str, Any]
) -> tuple[Value, Value, bool | None]:
    a = b = _ZERO
    is_true: bool | None = None
    for bits in _BITS if relation != "=" else _BITS[:1]:
        a = left(dict(point), bits)
        b = right(dict(point), bits)
        is_true = compare(a, relation, b)
        if is_true is not None:
            break
    return a, b, is_true


def _ratio(a: Value, b: Value, relation: str) -> Value | None:
    if relation == "=":
        return None
    small, large = (a, b) if relation == "<=" else (b, a)
    return large / small if small > 0 and large > 0 else None


def _point_text(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in point.items())


def _short_text(value: Value) -> str:
    number = to_number(to_exact(value))
    return (
        number.exact
        if number.exact is not None and len(number.exact) < 30
        else str(number.float)
    )


_RELATIONS: dict[str, Any] = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}


def cited_relations(derivation: Derivation) -> tuple[Any, ...]:
    """Return the relation between the two ends of each derivation that is cited as a fact.

    A `DerivationError` is raised if an end contains a local letter.
    """
    relations = []
    for name in derivation.cited_facts:
        premise = _cited_derivation(derivation, name)
        sides = premise.lhs, premise.rhs
        if local_names := sorted(
            set(derivation.local)
            & {s.name for side in sides for s in side.free_symbols}
        ):
            raise DerivationError(
                f"{derivation.name}: {name} says something of {local_names[0]}, which is local."
            )
        relations.append(_RELATIONS[premise.relation](*sides, evaluate=False))
    return tuple(relations)


def check_cited_facts(derivation: Derivation, facts: Facts) -> None:
    """Raise a `DerivationError` if the conditions of a cited fact do not follow from the chain's assumptions."""
    for name in derivation.cited_facts:
        for condition in _cited_derivation(derivation, name).instance({}).conditions:
            if not condition.is_met(facts, derivation.variables):
                raise DerivationError(
                    f"{derivation.name}: {name} is used as a fact, and not proven: {condition}."
                )


def _cited_derivation(derivation: Derivation, name: str) -> Premise:
    """Return the premise of this name. It must be a cited derivation whose ends are the two sides."""
    premise = derivation.premises.get(name)
    start = getattr(premise, "start", None)
    if (
        premise is None
        or start is None
        or premise.lhs != start
        or len(premise.subderivations) != 1
    ):
        raise DerivationError(
            f"{derivation.name}: {name} is used as a fact, and is no derivation that is cited."
        )
    return premise
