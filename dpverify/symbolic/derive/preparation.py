"""Checks of the letters of a derivation before its steps are checked.

Every symbol must be declared, no sum index may be a variable, and every case must have
the direction of its split. A sum index may have assumptions that nothing proves. It is
replaced by an index that is only assumed to be an integer within the limits of its sum.

Letters that only premises bound are sampled below these bounds, after the letters on
which the bounds depend.

Local letters must not narrow a statement: at each point of its domain they must have values that satisfy the
assumptions. Such values are searched among expressions in the statement's letters: the bounds in the assumptions, these
letters themselves, 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import (
    Case,
    Cases,
    Derivation,
    DerivationError,
    Link,
    Premise,
    Step,
    chain_relation,
    symbol_conditions,
    unsigned_symbol,
)
from dpverify.symbolic.expressions.evaluation import AnyFunction, FunctionOf
from dpverify.symbolic.expressions.functions import HOLE, Norm
from dpverify.symbolic.expressions.ranges import (
    FromPremises,
    GaussianNorm,
    Range,
    SetBits,
    Variable,
)
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.facts import Facts, Occurrence, differences, symbols_of
from dpverify.symbolic.prove.signs import is_implied, is_nonnegative
from dpverify.symbolic.rules.base import Holds


def ordered_variables(derivation: Derivation) -> Mapping[str, Variable]:
    """Bound letters by their premises, and put each variable after those that its range depends on."""
    todo = {
        name: _bounded(name, variable, derivation)
        for name, variable in derivation.variables.items()
    }
    if todo == dict(derivation.variables):
        return derivation.variables
    done: dict[str, Variable] = {}
    while todo:
        name = next(
            (
                n
                for n, v in todo.items()
                if range_names(v).isdisjoint(todo.keys() - {n})
            ),
            None,
        )
        if name is None:
            raise DerivationError(
                f"{derivation.name}: the ranges of {', '.join(todo)} depend on each other."
            )
        done[name] = todo.pop(name)
    return done


def _bounded(name: str, variable: Variable, derivation: Derivation) -> Variable:
    """Return the range of a variable.

    A local letter that premises bound is drawn below the bounds, or has their value.
    """
    if not isinstance(variable, Range):
        return variable
    measured = isinstance(variable, FromPremises)
    if not measured and not (name in derivation.local and variable.kind == "real"):
        return variable
    premises = [p for p in derivation.premises.values() if _bounds(p, name)]
    if not measured:  # a premise may have letters that are not drawn
        premises = [
            p
            for p in premises
            if {s.name for s in p.rhs.free_symbols} <= derivation.variables.keys()
        ]
    if not premises:
        if measured:
            raise DerivationError(
                f"{derivation.name}: no premise bounds {name}: give it a range."
            )
        return variable
    if value := next(
        (premise.rhs for premise in premises if premise.relation == "="), None
    ):
        return Range("real", value, value)
    bounds = [(premise.rhs, _conditions_test(premise)) for premise in premises]
    if not measured:
        bounds.append((variable.hi, lambda _: True))
    return FromPremises(
        "real", variable.lo, open_lo=variable.open_lo, bounds=tuple(bounds)
    )


def _bounds(premise: Premise, name: str) -> bool:
    """Test whether a premise bounds a letter from above."""
    return bool(
        premise.lhs.is_Symbol and premise.lhs.name == name and premise.relation != ">="
    )


def _conditions_test(premise: Premise) -> Any:
    """Return a test of a premise's conditions at a point, without those that signs of symbols decide."""
    relations = tuple(
        c.relation
        for c in premise.conditions
        if isinstance(c, Holds) and c.relation not in (True, False)
    )
    tests = Setting.compiled_tests(relations)
    return lambda env: all(test(env) is True for test in tests)


def range_names(variable: Variable) -> set[str]:
    """Return the letters on which the range or the law of a letter depends."""
    match variable:
        case FromPremises():
            parts = [variable.lo, *(bound for bound, _ in variable.bounds)]
        case Range():
            parts = [variable.lo, variable.hi]
        case GaussianNorm():
            parts = [variable.dimension, variable.variance]
        case SetBits():
            parts = [variable.of]
        case _:
            parts = []
    return {s.name for part in parts for s in sympy.sympify(part).free_symbols}


_BINDERS = (sympy.Sum, sympy.Integral)

#: Assumptions that a symbol may have: sample points can be tested for them, and a statement's domain can grant them.
_ASSUMPTIONS = {"real", "integer", "positive", "nonnegative", "negative", "nonpositive"}


def prepared(derivation: Derivation) -> Derivation:
    """Check the form of a derivation, and return it with clean indices."""
    clean = _Cleaner(derivation)
    return replace(
        derivation,
        variables=ordered_variables(derivation),
        start=clean.expr(derivation.start),
        assumptions=tuple(clean.expr(a) for a in derivation.assumptions),
        steps=tuple(clean.link(link) for link in derivation.steps),
    )


class _Cleaner:
    """Renames bound symbols and checks free ones."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self.names = set(derivation.variables)
        self.seen: dict[str, Any] = {}
        sums = [
            n
            for e in (derivation.start, *_in_links(derivation.steps))
            for n in sympy.sympify(e).atoms(*_BINDERS)
        ]
        bound = {limit[0] for node in sums for limit in node.limits}
        for s in sorted(bound, key=str):
            if s.name in self.names:
                raise DerivationError(
                    f"{derivation.name}: the index {s} of a sum is also a variable."
                )
        self.fresh = {s: unsigned_symbol(s) for s in bound}
        self.bound = {s.name for s in bound}

    def expr(self, expr: Any, bound: frozenset[str] = frozenset()) -> Any:
        """Clean one expression. Names in ``bound`` may occur besides the variables."""
        clean = sympy.sympify(expr).xreplace(self.fresh)
        _check_nesting(clean, frozenset(), self.derivation.name)
        for s in symbols_of(clean):
            if s.name not in self.names | bound:
                raise DerivationError(
                    f"{self.derivation.name}: the symbol {s} is not declared among the variables."
                )
            if s.name in self.names and self.seen.setdefault(s.name, s) != s:
                raise DerivationError(
                    f"{self.derivation.name}: two symbols are named {s}, with different assumptions."
                )
            if unknown := set(s._assumptions_orig) - _ASSUMPTIONS:
                raise DerivationError(
                    f"{self.derivation.name}: {s} is assumed {min(unknown)}, which no domain can grant."
                )
        if clean.has(sympy.Float):
            raise DerivationError(
                f"{self.derivation.name}: {expr} holds a float; write a Rational."
            )
        applied = sympy.core.function.AppliedUndef
        return clean.replace(
            lambda e: isinstance(e, applied), lambda e: self.function(e.func)(*e.args)
        )

    def function(self, function: Any) -> Any:
        """Replace a function by one of the same name with the assumptions that its declaration grants."""
        declared = self.derivation.variables.get(str(function))
        if isinstance(declared, AnyFunction | FunctionOf):
            return sympy.Function(str(function), real=True)
        if not isinstance(declared, SetBits):
            raise DerivationError(
                f"{self.derivation.name}: the function {function} is not declared."
            )
        return sympy.Function(str(function), integer=True, nonnegative=True)

    def link(self, link: Link) -> Link:
        """Clean a step or a case split."""
        if isinstance(link, Step):
            inner = frozenset(self.bound)
            context = (
                None
                if link.context is None
                else self.expr(link.context, inner | {HOLE.name})
            )
            where = {
                name: self.value(value, inner) for name, value in link.where.items()
            }
            return replace(
                link, expr=self.expr(link.expr), where=where, context=context
            )
        cases = tuple(self.case(case, link) for case in link.cases)
        return replace(link, expr=self.expr(link.expr), cases=cases)

    def case(self, case: Case, around: Cases) -> Case:
        """Clean a case, and check that its relations chain to that of the split."""
        reached = chain_relation(link.relation for link in case.steps)
        if reached not in {"=", around.relation}:
            raise DerivationError(
                f"{self.derivation.name}: the case {case.assumption} goes by {reached}, the split by {around.relation}."
            )
        return Case(
            self.expr(case.assumption), tuple(self.link(link) for link in case.steps)
        )

    def value(self, value: Any, bound: frozenset[str]) -> Any:
        """Clean an entry of ``where``: an expression, a Lambda, or a function."""
        if isinstance(value, sympy.Lambda):
            inner = frozenset(s.name for s in value.variables)
            return sympy.Lambda(value.signature, self.expr(value.expr, bound | inner))
        if isinstance(value, sympy.core.function.FunctionClass):
            return self.function(value)
        return self.expr(value, bound)


def _in_links(links: tuple[Link, ...]) -> Iterator[Any]:
    for link in links:
        yield sympy.sympify(link.expr)
        if isinstance(link, Cases):
            for case in link.cases:
                yield from _in_links(case.steps)
        else:
            yield from _in_where(link.where)
            if link.context is not None:
                yield link.context


def _in_where(where: Mapping[str, Any]) -> Iterator[Any]:
    for value in where.values():
        if isinstance(value, sympy.Lambda):
            yield value.expr
        elif not isinstance(value, sympy.core.function.FunctionClass):
            yield sympy.sympify(value)


def _check_nesting(expr: Any, outer: frozenset[Any], name: str) -> None:
    if isinstance(expr, sympy.Sum):
        indices = {limit[0] for limit in expr.limits}
        if len(indices) < len(expr.limits) or indices & outer:
            raise DerivationError(
                f"{name}: give nested sums different indices: {expr}."
            )
        outer |= indices
    for arg in expr.args:
        _check_nesting(arg, outer, name)


def without_local_values(
    derivation: Derivation, rename: dict[Any, Any], granted: Facts
) -> str:
    """Return why the local letters may have no values somewhere, or an empty text."""
    local_letters = set(derivation.local)
    assumed = [
        a.xreplace(rename)
        for a in derivation.assumptions
        if local_letters & {s.name for s in a.free_symbols}
    ]
    letters = sorted(
        {s for a in assumed for s in a.free_symbols if s.name in local_letters}, key=str
    )
    if satisfying_values(tuple(letters), assumed, granted) is not None:
        return ""
    return f"not proven that there are values of {', '.join(map(str, letters))} as assumed, on the whole domain."


def satisfying_values(
    letters: tuple[Any, ...], assumed: list[Any], granted: Facts
) -> dict[Any, Any] | None:
    """Return values of letters, as expressions in other letters, that provably satisfy the assumptions, or None.

    The value of a vector is its norm.
    """
    for letter in letters:
        other_letters = tuple(symbol for symbol in letters if symbol != letter)
        # of a vector, if assumptions contain only its norm
        sizes = () if letter.is_real else (0, 1)
        for size in map(sympy.Integer, sizes):
            values = satisfying_values(
                other_letters,
                [a.xreplace({Norm(letter): size}) for a in assumed],
                granted,
            )
            if values is not None:
                return {letter: size, **values}
        for value in dict.fromkeys(_candidates(letter, assumed)):
            if not value.free_symbols.isdisjoint(letters) or not _is_possible_value(
                letter, value, granted
            ):
                continue
            substituted = [a.xreplace({letter: value}) for a in assumed]
            remaining = [
                a
                for a in substituted
                if a is not sympy.true and not a.free_symbols.isdisjoint(other_letters)
            ]
            if not all(_implied(a, granted) for a in substituted if a not in remaining):
                continue
            values = satisfying_values(other_letters, remaining, granted)
            if values is not None:
                return {letter: value, **values}
    return None if letters else {}


def _implied(relation: Any, granted: Facts) -> bool:
    """Test whether a relation is proven, with ``b**e <= exp(e*(b - 1))`` for the powers in it."""
    powers = [
        p for p in relation.atoms(sympy.Pow) if p.base.is_Add and not p.exp.is_number
    ]
    usable = (
        p
        for p in powers
        if is_nonnegative(p.base, granted) and is_nonnegative(p.exp, granted)
    )
    return is_implied(
        relation,
        granted.assume(
            [p <= sympy.exp(sympy.expand(p.exp * (p.base - 1))) for p in usable]
        ),
    )


def _candidates(letter: Any, assumed: list[Any]) -> Iterator[Any]:
    """Yield candidates for the value of a letter.

    These are the values at which linear assumptions become equalities, other letters, 0 and 1.
    """
    for relation in assumed:
        for difference, _ in differences(relation):
            slope = (
                sympy.diff(difference, letter)
                if letter in difference.free_symbols
                else sympy.Integer(0)
            )
            if slope != 0 and letter not in slope.free_symbols:
                yield letter - difference / slope
                yield letter - difference / slope + 1
                yield sympy.expand((letter * slope - difference) / slope)
        for symbol in sorted(relation.free_symbols - {letter}, key=str):
            yield from (symbol, symbol + 1)
    yield sympy.Integer(0)
    yield sympy.Integer(1)


def _is_possible_value(letter: Any, value: Any, granted: Facts) -> bool:
    if undefined_part(value, Occurrence(granted), {}) is not None:
        return False
    return all(
        condition.substituted({letter.name: value}).is_met(granted, {})
        for condition in symbol_conditions(letter)
    )
