"""Data classes of derivations: steps, case splits, premises, and the derivation itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import sympy

from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_sides
from dpverify.symbolic.rules.base import Condition, Holds, Instance, IsInteger, Relation

ALGEBRA = "algebra"
PREMISE = "premise"


class DerivationError(ValueError):
    """A derivation is malformed: an unknown symbol, a rule's missing variable, relations that do not chain."""


def names_of(*expressions: Any) -> set[str]:
    """Return the names of all symbols in some expressions."""
    return {
        symbol.name
        for expression in expressions
        for symbol in sympy.sympify(expression).free_symbols
    }


@dataclass(frozen=True)
class Step:
    """One link of the chain."""

    expr: Any  # the new expression
    # relation of the previous expression to it: ``=``, ``<=`` or ``>=``
    relation: Relation
    # ``"algebra"`` for an identity that sympy proves, ``"premise"`` for an inequality
    # that a claim provides, otherwise a name of the catalogue.
    rule: str = ALGEBRA
    # values of the rule's variables
    where: Mapping[str, Any] = field(default_factory=dict)
    premises: tuple[str, ...] = ()  # ids of the claims that the step rests on
    note: str = ""
    # the expression with ``HOLE`` where the rule is applied, if this is ambiguous
    context: Any = None

    @classmethod
    def within(
        cls,
        context: Any,
        new: Any,
        rule: str,
        where: Mapping[str, Any] | None = None,
        premises: tuple[str, ...] = (),
    ) -> Step:
        """Return a step with ``<=`` by a rule that replaces the content of ``HOLE`` by ``new``."""
        return cls(
            context.xreplace({HOLE: new}),
            "<=",
            rule,
            where or {},
            premises,
            context=context,
        )

    @classmethod
    def order(cls, context: Any, smaller: Any, larger: Any) -> Step:
        """Return a step with ``<=`` that replaces the content of ``HOLE`` by a larger expression."""
        return cls.within(context, larger, "order", {"a": smaller, "b": larger})


@dataclass(frozen=True)
class Case:
    """A chain of steps under an additional assumption."""

    assumption: Any  # what holds in this case
    # from the expression before the split to the expression after it
    steps: tuple[Step | Cases, ...]


@dataclass(frozen=True)
class Cases:
    """A split into cases that end at the same expression."""

    expr: Any  # where every case ends
    # relation of the expression before the split to it, in every case
    relation: Relation
    cases: tuple[Case, ...]  # together they must cover the domain, which is proven
    note: str = ""


Link: TypeAlias = Step | Cases


@dataclass(frozen=True)
class Premise(Instance):
    """A statement that a derivation may cite: two sides, their relation, and conditions to prove at every use."""

    @property
    def subderivations(self) -> tuple[tuple[Derivation, Premise | None], ...]:
        """The derivations that prove the premise, each with its induction hypothesis or None. Empty if none does."""
        return ()

    @property
    def fixed_names(self) -> frozenset[str]:
        """Functions, and letters that these depend on without showing them. They must not be replaced."""
        return frozenset[str]().union(
            *(
                p.fixed_names
                for chain, _ in self.subderivations
                for p in chain.premises.values()
            )
        )

    @property
    def fact_letters(self) -> frozenset[str]:
        """The letters in ``fixed_names`` that belong to facts of the literature, at any depth."""
        return frozenset[str]().union(
            *(
                p.fact_letters
                for chain, _ in self.subderivations
                for p in chain.premises.values()
            )
        )

    def instance(self, where: Mapping[str, Any]) -> Instance:
        """Return the premise with expressions substituted for some of its symbols.

        Assumptions on a symbol become conditions on its replacement.
        """
        check_fixed(where, self.fixed_names)
        symbols = self._letters()
        sign_conditions = (
            condition for symbol in symbols for condition in symbol_conditions(symbol)
        )
        conditions = tuple(dict.fromkeys((*self.conditions, *sign_conditions)))
        return replace(self, conditions=conditions).at(
            {s.name: s for s in symbols} | dict(where)
        )

    def _letters(self) -> list[Any]:
        """Return one symbol for each name.

        If only conditions contain it, this is the symbol with the most assumptions.
        """
        sides = self.lhs.free_symbols | self.rhs.free_symbols
        relations = (c.relation for c in self.conditions if isinstance(c, Holds))
        condition_symbols = {
            s for relation in relations for s in sympy.sympify(relation).free_symbols
        }
        ordered = sorted(sides, key=str) + sorted(
            condition_symbols - sides, key=lambda s: (s == unsigned_symbol(s), str(s))
        )
        return list({s.name: s for s in reversed(ordered)}.values())[::-1]


def check_fixed(where: Mapping[str, Any], fixed_names: frozenset[str]) -> None:
    """Raise a `DerivationError` if a name with a fixed meaning is replaced."""
    if changed := sorted(
        name for name in fixed_names & where.keys() if str(where[name]) != name
    ):
        raise DerivationError(
            f"{', '.join(changed)} has one meaning here: a function of the paper depends on it."
        )


def premise_of(statement: Any, lhs: Any = None) -> Premise:
    """Return a statement as a premise, with its domains and conditions. Raise a `DerivationError` if a side is missing.

    ``lhs`` is the sympy expression for the left side if the claim has a quantity there.
    """
    left, right = sympy_sides(statement)
    left = lhs if left is None else left
    if (
        left is None
        or right is None
        or statement.relation not in {"<=", ">=", "=", "<", ">"}
    ):
        raise DerivationError(
            f"the claim {statement.key} has no two sides with a relation between them."
        )
    relations = sympy_conditions(statement)
    conditions: list[Condition] = [Holds(r) for r in relations]
    mentioned = left.free_symbols.union(
        right.free_symbols, *(r.free_symbols for r in relations)
    )
    for symbol in sorted(mentioned, key=str):
        conditions += symbol_conditions(symbol)
    return Premise(
        left,
        statement.relation[0] + "=" if statement.relation != "=" else "=",
        right,
        tuple(conditions),
    )


def unsigned_symbol(symbol: Any) -> Any:
    """Return a symbol of the same name that is only assumed to be integer or real."""
    return sympy.Symbol(
        symbol.name, **({"integer": True} if symbol.is_integer else {"real": True})
    )


def symbol_conditions(symbol: Any) -> list[Condition]:
    """Return the conditions that a symbol's assumptions impose on a replacement of it."""
    conditions: list[Condition] = [IsInteger(symbol)] if symbol.is_integer else []
    plain = unsigned_symbol(symbol)
    if symbol.is_positive:
        conditions.append(Holds(plain > 0))
    elif symbol.is_nonnegative:
        conditions.append(Holds(plain >= 0))
    if symbol.is_negative:
        conditions.append(Holds(plain < 0))
    elif symbol.is_nonpositive:
        conditions.append(Holds(plain <= 0))
    return conditions


@dataclass(frozen=True)
class Division:
    """Division of an integer letter of a statement: ``letter = quotient*divisor + remainder``.

    The remainder satisfies ``first <= remainder < first + divisor``.

    A result for all quotients >= ``least_quotient`` and all such remainders holds for all values of the letter.
    """

    letter: str
    divisor: str  # another integer letter of the statement
    quotient: str
    remainder: str
    first: int = 0
    # ``letter >= least_quotient*divisor + first`` is proven from the statement
    least_quotient: int = 0

    @property
    def equation(self) -> str:
        """The division as an equation, which names the lemma about quotient and remainder."""
        return f"{self.letter} = {self.quotient}*{self.divisor} + {self.remainder}"


@dataclass(frozen=True)
class Derivation:
    """A chain of steps from a starting expression to a bound."""

    name: str  # such as ``"two cases"``
    # ``"ours"``, or ``"paper"`` if it records the paper's own chain
    whose: Literal["ours", "paper"]
    # The range in which each symbol is sampled, in order. Laws, vectors and set bits
    # are declared here.
    variables: Mapping[str, Variable]
    # what holds on the domain, besides the assumptions of the symbols themselves
    assumptions: tuple[Any, ...]
    start: Any  # the first expression
    steps: tuple[Link, ...]
    # Statements of other claims. Steps with the rule ``"premise"`` cite them.
    premises: Mapping[str, Premise] = field(default_factory=dict)
    # Variables of the bounded quantity that the statement
    # does not have (such as t in E||noise_t||).
    local: tuple[str, ...] = ()
    # replaces a letter of the statement by its quotient and remainder
    division: Division | None = None
    # Premises that are cited derivations. Every step may use the relation between their
    # two ends as a fact.
    cited_facts: tuple[str, ...] = ()
    # letters of the statement on which no step uses a condition
    unused: tuple[str, ...] = ()

    @property
    def fixed_local_letters(self) -> frozenset[str]:
        """Local letters that a function in a premise depends on, at any depth. There must be none."""
        return frozenset(self.local) & frozenset[str]().union(
            *(p.fixed_names - p.fact_letters for p in self.premises.values())
        )

    @property
    def last(self) -> Any:
        """The last expression."""
        return sympy.sympify(self.steps[-1].expr if self.steps else self.start)

    @property
    def relation(self) -> Relation:
        """Relation of the start to the last expression. A DerivationError is raised if the chain goes up and down."""
        return chain_relation(link.relation for link in self.steps)


def chain_relation(relations: Any) -> Relation:
    """Return the relation of the ends of a chain: ``=`` if every link is an equality, else the only direction."""
    directions: set[Relation] = set(relations) - {"="}
    if len(directions) > 1:
        raise DerivationError(
            "a chain of steps has both <= and >=: its ends are not comparable."
        )
    return directions.pop() if directions else "="


def expressions_of(links: tuple[Link, ...]) -> list[Any]:
    """Return all expressions of a chain, and the assumptions of its cases."""
    expressions: list[Any] = []
    for link in links:
        expressions.append(link.expr)
        if isinstance(link, Cases):
            for case in link.cases:
                expressions += [case.assumption, *expressions_of(case.steps)]
    return expressions
