"""Replace letters in a derivation that name the first expressions of cited derivations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from dpverify.symbolic.derive.cited import ClaimPremise, DerivedPremise
from dpverify.symbolic.derive.steps import (
    Case,
    Cases,
    Derivation,
    Link,
    Premise,
    names_of,
)
from dpverify.symbolic.expressions.ranges import GaussianNorm, Variable
from dpverify.symbolic.rules.base import Holds, substitute


def is_named(premise: Premise) -> bool:
    """Test whether a premise is about a letter that names the first expression of a cited derivation."""
    return (
        isinstance(premise, DerivedPremise)
        and premise.lhs.is_Symbol
        and premise.start not in (None, premise.lhs)
    )


def renamed_letter(premise: Premise) -> str | None:
    """Return the letter that is the first expression of a cited derivation and that a premise replaces, or None."""
    if (
        not isinstance(premise, DerivedPremise)
        or premise.derivation is None
        or premise.start in (None, premise.lhs)
    ):
        return None
    start = premise.derivation.start
    return str(start.name) if start.is_Symbol and start == premise.start else None


def without_local_names(derivation: Derivation) -> Derivation:
    """Replace local names that the two ends do not contain by the expressions that they name.

    A name is kept if its expression has a local letter of the cited derivation that already has a meaning here.
    """
    hidden = set(derivation.local) - names_of(derivation.start, derivation.last)
    for premise in derivation.premises.values():
        if (
            is_named(premise)
            and premise.lhs.name in hidden
            and renamed_letter(premise) is None
        ):
            assert isinstance(premise, DerivedPremise)
            assert premise.derivation is not None
            local_letters = names_of(premise.start) & set(premise.derivation.local)
            if not local_letters & derivation.variables.keys():
                return without_local_names(
                    _expand_name(derivation, premise, premise.derivation, local_letters)
                )
    return derivation


def _expand_name(
    derivation: Derivation,
    named: DerivedPremise,
    cited: Derivation,
    local_letters: set[str],
) -> Derivation:
    """Replace one name. Local letters of the cited derivation come with it, and so do their assumptions."""
    substitution = _Substitution(named.lhs.name, named.start)
    relations = [c.relation for c in named.hidden if isinstance(c, Holds)]
    # signs belong to the symbols
    assumed = [a for a in relations if not (a.lhs.is_Symbol and a.rhs == 0)]
    variables = {
        name: cited.variables[name] for name in cited.variables if name in local_letters
    }
    variables |= {
        name: substitution.variable(v)
        for name, v in derivation.variables.items()
        if name != named.lhs.name
    }
    return replace(
        derivation,
        variables=variables,
        assumptions=(*map(substitution.expr, derivation.assumptions), *assumed),
        steps=tuple(map(substitution.link, derivation.steps)),
        premises={
            name: substitution.premise(premise, named)
            for name, premise in derivation.premises.items()
        },
        local=(*derivation.local, *sorted(local_letters)),
    )


class _Substitution:
    """Substitutes an expression for a letter."""

    def __init__(self, name: str, value: Any) -> None:
        self.where = {name: value}

    def expr(self, expr: Any) -> Any:
        """Return an expression or a Lambda with the letter replaced."""
        if isinstance(expr, sympy.Lambda):
            return sympy.Lambda(expr.signature, substitute(expr.expr, self.where))
        return (
            expr
            if isinstance(expr, sympy.core.function.FunctionClass)
            else substitute(expr, self.where)
        )

    def variable(self, variable: Variable) -> Variable:
        """Return the declaration of a variable with the letter replaced in the law of a Gaussian norm."""
        if isinstance(variable, GaussianNorm):
            return replace(
                variable,
                dimension=self.expr(variable.dimension),
                variance=self.expr(variable.variance),
            )
        return variable

    def link(self, link: Link) -> Link:
        """Return a step, or a split with all its steps, with the letter replaced."""
        if isinstance(link, Cases):
            cases = (
                Case(self.expr(case.assumption), tuple(map(self.link, case.steps)))
                for case in link.cases
            )
            return replace(link, expr=self.expr(link.expr), cases=tuple(cases))
        context = None if link.context is None else self.expr(link.context)
        where = {name: self.expr(value) for name, value in link.where.items()}
        return replace(link, expr=self.expr(link.expr), where=where, context=context)

    def premise(self, premise: Premise, named: DerivedPremise) -> Premise:
        """Return a premise with the letter replaced. A cited or referenced premise also records the replacement."""
        if premise == named:
            return replace(named, lhs=named.start)
        conditions = tuple(c.substituted(self.where) for c in premise.conditions)
        replacement = replace(
            premise,
            lhs=self.expr(premise.lhs),
            rhs=self.expr(premise.rhs),
            conditions=conditions,
        )
        if isinstance(replacement, DerivedPremise | ClaimPremise):
            replacement = replace(
                replacement,
                where={
                    **self.where,
                    **{n: self.expr(v) for n, v in replacement.where.items()},
                },
            )
        if isinstance(replacement, DerivedPremise) and replacement.start is not None:
            replacement = replace(replacement, start=self.expr(replacement.start))
        return replacement
