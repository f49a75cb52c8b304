"""A derivation with what letters stand for in their place: names of what derivations start from that it cites."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from dpverify.symbolic.derive.cited import Cited
from dpverify.symbolic.derive.define import Referenced
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Link, Premise, names_of
from dpverify.symbolic.expressions.ranges import GaussianNorm, Variable
from dpverify.symbolic.rules.base import Holds, substitute


def is_named(premise: Premise) -> bool:
    """Whether a premise says something of a letter that stands for what a derivation starts from."""
    return isinstance(premise, Cited) and premise.lhs.is_Symbol and premise.start not in (None, premise.lhs)


def renamed_letter(premise: Premise) -> str | None:
    """The letter that a cited derivation starts from, and for which a premise puts something else; else nothing."""
    if not isinstance(premise, Cited) or premise.derivation is None or premise.start in (None, premise.lhs):
        return None
    start = premise.derivation.start
    return str(start.name) if start.is_Symbol and start == premise.start else None


def without_names(derivation: Derivation) -> Derivation:
    """Put what they stand for in the place of local names that the two ends do not show.

    A name stays where that would bring a letter of the cited derivation's own that means something here.
    """
    hidden = set(derivation.local) - names_of(derivation.start, derivation.last)
    for premise in derivation.premises.values():
        if is_named(premise) and premise.lhs.name in hidden and renamed_letter(premise) is None:
            assert isinstance(premise, Cited)
            assert premise.derivation is not None
            local_letters = names_of(premise.start) & set(premise.derivation.local)
            if not local_letters & derivation.variables.keys():
                return without_names(_opened(derivation, premise, premise.derivation, local_letters))
    return derivation


def _opened(derivation: Derivation, named: Cited, cited: Derivation, local_letters: set[str]) -> Derivation:
    """Open one name; letters of the cited derivation's own come with it, and what is assumed of them."""
    put = _Put(named.lhs.name, named.start)
    relations = [c.relation for c in named.hidden if isinstance(c, Holds)]
    assumed = [a for a in relations if not (a.lhs.is_Symbol and a.rhs == 0)]  # signs are the symbols'
    variables = {name: cited.variables[name] for name in cited.variables if name in local_letters}
    variables |= {name: put.variable(v) for name, v in derivation.variables.items() if name != named.lhs.name}
    return replace(
        derivation,
        variables=variables,
        assumptions=(*map(put.expr, derivation.assumptions), *assumed),
        steps=tuple(map(put.link, derivation.steps)),
        premises={name: put.premise(premise, named) for name, premise in derivation.premises.items()},
        local=(*derivation.local, *sorted(local_letters)),
    )


class _Put:
    """Puts an expression in the place of a letter."""

    def __init__(self, name: str, value: Any) -> None:
        self.where = {name: value}

    def expr(self, expr: Any) -> Any:
        """An expression, or the term of a function."""
        if isinstance(expr, sympy.Lambda):
            return sympy.Lambda(expr.signature, substitute(expr.expr, self.where))
        return expr if isinstance(expr, sympy.core.function.FunctionClass) else substitute(expr, self.where)

    def variable(self, variable: Variable) -> Variable:
        """Where a letter is drawn, and the law of a vector, which says what it is."""
        if isinstance(variable, GaussianNorm):
            return replace(variable, dimension=self.expr(variable.dimension), variance=self.expr(variable.variance))
        return variable

    def link(self, link: Link) -> Link:
        """A step, or a split with all its steps."""
        if isinstance(link, Cases):
            cases = (Case(self.expr(case.assumption), tuple(map(self.link, case.steps))) for case in link.cases)
            return replace(link, expr=self.expr(link.expr), cases=tuple(cases))
        context = None if link.context is None else self.expr(link.context)
        where = {name: self.expr(value) for name, value in link.where.items()}
        return replace(link, expr=self.expr(link.expr), where=where, context=context)

    def premise(self, premise: Premise, named: Cited) -> Premise:
        """A premise; one that is cited or referred to says it of the expression as well."""
        if premise == named:
            return replace(named, lhs=named.start)
        conditions = tuple(c.substituted(self.where) for c in premise.conditions)
        replacement = replace(premise, lhs=self.expr(premise.lhs), rhs=self.expr(premise.rhs), conditions=conditions)
        if isinstance(replacement, Cited | Referenced):
            replacement = replace(
                replacement, where={**self.where, **{n: self.expr(v) for n, v in replacement.where.items()}}
            )
        if isinstance(replacement, Cited) and replacement.start is not None:
            replacement = replace(replacement, start=self.expr(replacement.start))
        return replacement
