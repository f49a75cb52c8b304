"""Look a derivation over before it is checked: every symbol declared, every sum index clean, every relation in line.

A sum index may carry assumptions that nothing proves: it becomes an integer and no more, within the limits of its sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from dpverify.symbolic.derive.premise_ranges import in_order
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, DerivationError, Link, Step, bare, chained
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import SetBits
from dpverify.symbolic.expressions.whole_functions import AnyFunction, FunctionOf
from dpverify.symbolic.prove.facts import symbols_of

_BINDERS = (sympy.Sum, sympy.Integral)

#: What a symbol may be assumed to be: what sample points can be tested for and a statement's domain can grant.
_ASSUMPTIONS = {"real", "integer", "positive", "nonnegative", "negative", "nonpositive"}


def prepared(derivation: Derivation) -> Derivation:
    """Check the form of a derivation and clean its indices."""
    clean = _Cleaner(derivation)
    return replace(
        derivation,
        variables=in_order(derivation),
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
        sums = [n for e in (derivation.start, *_in_links(derivation.steps)) for n in sympy.sympify(e).atoms(*_BINDERS)]
        bound = {limit[0] for node in sums for limit in node.limits}
        for s in sorted(bound, key=str):
            if s.name in self.names:
                raise DerivationError(f"{derivation.name}: the index {s} of a sum is also a variable.")
        self.fresh = {s: bare(s) for s in bound}
        self.bound = {s.name for s in bound}

    def expr(self, expr: Any, bound: frozenset[str] = frozenset()) -> Any:
        """Clean one expression; ``bound`` are the names that may occur besides the variables."""
        clean = sympy.sympify(expr).xreplace(self.fresh)
        _check_nesting(clean, frozenset(), self.derivation.name)
        for s in symbols_of(clean):
            if s.name not in self.names | bound:
                raise DerivationError(f"{self.derivation.name}: the symbol {s} is not declared among the variables.")
            if s.name in self.names and self.seen.setdefault(s.name, s) != s:
                raise DerivationError(f"{self.derivation.name}: two symbols are named {s}, with different assumptions.")
            if unknown := set(s._assumptions_orig) - _ASSUMPTIONS:
                raise DerivationError(
                    f"{self.derivation.name}: {s} is assumed {min(unknown)}, which no domain can grant."
                )
        if clean.has(sympy.Float):
            raise DerivationError(f"{self.derivation.name}: {expr} holds a float; write a Rational.")
        applied = sympy.core.function.AppliedUndef
        return clean.replace(lambda e: isinstance(e, applied), lambda e: self.function(e.func)(*e.args))

    def function(self, function: Any) -> Any:
        """Replace a function by one of the same name with the assumptions that its declaration grants."""
        declared = self.derivation.variables.get(str(function))
        if isinstance(declared, AnyFunction | FunctionOf):
            return sympy.Function(str(function), real=True)
        if not isinstance(declared, SetBits):
            raise DerivationError(f"{self.derivation.name}: the function {function} is not declared.")
        return sympy.Function(str(function), integer=True, nonnegative=True)

    def link(self, link: Link) -> Link:
        """Clean a step or a case split."""
        if isinstance(link, Step):
            inner = frozenset(self.bound)
            context = None if link.context is None else self.expr(link.context, inner | {HOLE.name})
            where = {name: self.value(value, inner) for name, value in link.where.items()}
            return replace(link, expr=self.expr(link.expr), where=where, context=context)
        cases = tuple(self.case(case, link) for case in link.cases)
        return replace(link, expr=self.expr(link.expr), cases=cases)

    def case(self, case: Case, around: Cases) -> Case:
        """Clean a case, and check that its relations chain to that of the split."""
        reached = chained(link.relation for link in case.steps)
        if reached not in {"=", around.relation}:
            raise DerivationError(
                f"{self.derivation.name}: the case {case.assumption} goes by {reached}, the split by {around.relation}."
            )
        return Case(self.expr(case.assumption), tuple(self.link(link) for link in case.steps))

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
            raise DerivationError(f"{name}: give nested sums different indices: {expr}.")
        outer |= indices
    for arg in expr.args:
        _check_nesting(arg, outer, name)
