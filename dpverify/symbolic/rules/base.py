"""Rules: inequalities or identities between named scalars, with conditions to check and a proof note."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, Self

import sympy

from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    SetBits,
    Variable,
)
from dpverify.symbolic.prove.facts import Facts, FalseAssumptionError
from dpverify.symbolic.prove.signs import is_implied

Relation = Literal["<=", ">=", "="]
Substitution = Mapping[str, Any]


def substitute(expr: Any, where: Substitution) -> Any:
    """Replace a rule's symbols and functions by name.

    Bound indices are renamed so that none captures a substituted symbol.
    """
    put = set[Any]().union(
        *(sympy.sympify(value).free_symbols for value in where.values())
    )
    expr = sympy.sympify(expr).replace(
        lambda e: isinstance(e, sympy.Sum | sympy.Integral),
        partial(_apart, names={s.name for s in put}),
    )
    dummies = {s: sympy.Dummy(s.name) for s in expr.free_symbols if s.name in where}
    applied = expr.xreplace(dummies).replace(
        lambda e: (
            isinstance(e, sympy.core.function.AppliedUndef) and str(e.func) in where
        ),
        lambda e: where[str(e.func)](*e.args),
    )
    return applied.xreplace(
        {dummy: sympy.sympify(where[s.name]) for s, dummy in dummies.items()}
    )


def _apart(node: Any, names: set[str]) -> Any:
    """Rename the indices of a sum or an integral that have one of these names."""
    body = node.function
    limits = list(node.limits)
    for k, (index, *ends) in enumerate(limits):
        if index.name in names and not isinstance(index, sympy.Dummy):
            fresh = sympy.Dummy(
                index.name,
                **({"integer": True} if index.is_integer else {"real": True}),
            )
            body = body.xreplace({index: fresh})
            limits[:k] = [
                (bound_index, *(end.xreplace({index: fresh}) for end in inner))
                for bound_index, *inner in limits[:k]
            ]
            limits[k] = (fresh, *ends)
    return node.func(body, *limits)


@dataclass(frozen=True)
class Condition(ABC):
    """A side condition of a rule. Its fields are expressions."""

    def substituted(self, where: Substitution) -> Self:
        """Return the condition with expressions substituted for symbols."""
        return replace(
            self,
            **{
                part.name: substitute(getattr(self, part.name), where)
                for part in fields(self)
            },
        )

    def expressions(self) -> tuple[Any, ...]:
        """Return the expressions that must be defined for the condition to be meaningful."""
        return ()

    @abstractmethod
    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the facts imply the condition."""


@dataclass(frozen=True)
class Holds(Condition):
    """A relation between scalars."""

    relation: Any  # such as ``x <= 1``

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the facts imply the relation."""
        return is_implied(self.relation, facts)

    def expressions(self) -> tuple[Any, ...]:
        """Return both sides."""
        return tuple(self.relation.args)

    def __str__(self) -> str:
        return str(self.relation)


@dataclass(frozen=True)
class ForAll(Condition):
    """A relation for every integer of a range."""

    index: Any  # the integer
    lo: Any  # first and last integer; hi may be oo
    hi: Any
    relation: Any  # the relation for one integer

    def substituted(self, where: Substitution) -> ForAll:
        """Return the condition with expressions substituted for symbols."""
        parts = (substitute(part, where) for part in (self.lo, self.hi, self.relation))
        return ForAll(self.index, *parts)

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the facts and the range of the index imply the relation."""
        inside = [self.index >= self.lo] + (
            [] if self.hi == sympy.oo else [self.index <= self.hi]
        )
        try:
            range_facts = facts.assume(inside)
        except FalseAssumptionError:
            return True  # the range is empty
        return is_implied(self.relation, range_facts)

    def __str__(self) -> str:
        return f"{self.relation} for {self.lo} <= {self.index.name} <= {self.hi}"


@dataclass(frozen=True)
class IsInteger(Condition):
    """The expression has integer values by the assumptions on its symbols."""

    expr: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether sympy knows that the expression is an integer."""
        return bool(self.expr.is_integer)

    def __str__(self) -> str:
        return f"{self.expr} is an integer"


@dataclass(frozen=True)
class IsRandom(Condition):
    """The expression is a declared random variable of any law, or a linear combination of declared vectors."""

    variable: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the declarations make the expression a random variable."""
        law = variables.get(str(self.variable))
        return isinstance(law, AnyVector | GaussianNorm) or IsVector(
            self.variable
        ).is_met(facts, variables)

    def __str__(self) -> str:
        return f"{self.variable} is declared as a random variable or vector"


@dataclass(frozen=True)
class IsVector(Condition):
    """The expression is a linear combination of declared vectors, at least one, with nonrandom coefficients."""

    variable: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the expression is linear in declared vectors."""
        vectors = [
            s
            for s in self.variable.free_symbols
            if isinstance(variables.get(s.name), AnyVector)
        ]
        if not vectors:
            return False
        slopes = [sympy.diff(self.variable, v) for v in vectors]
        linear_part = sum(slope * v for slope, v in zip(slopes, vectors, strict=True))
        random = {
            s
            for s in self.variable.free_symbols
            if isinstance(variables.get(s.name), AnyVector | GaussianNorm)
        }
        constant = all(slope.free_symbols.isdisjoint(random) for slope in slopes)
        return constant and bool(sympy.expand(self.variable - linear_part) == 0)

    def __str__(self) -> str:
        return f"{self.variable} is a linear combination of declared vectors"


@dataclass(frozen=True)
class IsGaussianNorm(Condition):
    """The symbol is declared as the norm of a Gaussian vector of this dimension and variance."""

    variable: Any
    dimension: Any
    variance: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the symbol is declared as such a norm with equal parameters."""
        declared = variables.get(str(self.variable))
        return (
            isinstance(declared, GaussianNorm)
            and sympy.expand(declared.dimension - self.dimension) == 0
            and sympy.expand(declared.variance - self.variance) == 0
        )

    def __str__(self) -> str:
        return f"{self.variable} is declared as GaussianNorm({self.dimension}, {self.variance})"


@dataclass(frozen=True)
class AreSetBits(Condition):
    """The function is declared to list the set bits of this integer."""

    position: Any
    of: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether the function is declared to list the set bits of an equal integer."""
        declared = variables.get(str(self.position.func))
        return (
            isinstance(declared, SetBits) and sympy.expand(declared.of - self.of) == 0
        )

    def __str__(self) -> str:
        return f"{self.position.func} is declared as SetBits({self.of})"


@dataclass(frozen=True)
class Instance:
    """An inequality or equality between two expressions, with the conditions that must be proven."""

    lhs: Any
    relation: Relation
    rhs: Any
    conditions: tuple[Condition, ...] = ()

    def at(self, where: Substitution) -> Instance:
        """Return the instance with expressions substituted for variables. The conditions are not checked yet."""
        lhs = substitute(self.lhs, where)
        rhs = substitute(self.rhs, where)
        return Instance(
            lhs,
            self.relation,
            rhs,
            tuple(c.substituted(where) for c in self.conditions),
        )


def at_most(lhs: Any, rhs: Any) -> Instance:
    """Return the instance ``lhs <= rhs``."""
    return Instance(lhs, "<=", rhs)


def equal(lhs: Any, rhs: Any) -> Instance:
    """Return the instance ``lhs = rhs``."""
    return Instance(lhs, "=", rhs)


@dataclass(frozen=True)
class Rule:
    """An inequality or identity that steps of a derivation may cite."""

    name: str  # the name that steps cite
    sides: Instance  # the two sides, in symbols and (for summands) undefined functions
    proof: str  # why the rule is true, in a sentence or two
    conditions: tuple[Condition, ...] = ()  # conditions that an instance must satisfy
    # ranges of its variables in the rule's test
    ranges: Mapping[str, Variable] = field(default_factory=dict)
    # values of its functions in the rule's test
    functions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variables(self) -> frozenset[str]:
        """Names that an instance must assign."""
        return frozenset(self.ranges) | frozenset(self.functions)

    def instance(self, where: Substitution) -> Instance:
        """Return the instance with expressions substituted for the variables. The conditions are not checked yet."""
        if frozenset(where) != self.variables:
            raise ValueError(
                f"the rule {self.name} has the variables {', '.join(sorted(self.variables))}, "
                f"got {', '.join(sorted(where)) or 'none'}."
            )
        return replace(self.sides, conditions=self.conditions).at(where)
