"""The records of a derivation: steps, case splits, premises, and the derivation itself."""

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
    """Return the names of all letters of some expressions."""
    return {symbol.name for expression in expressions for symbol in sympy.sympify(expression).free_symbols}


@dataclass(frozen=True)
class Step:
    """One link of the chain."""

    expr: Any  # the new expression
    relation: Relation  # how the one before it stands to it: ``=``, ``<=`` or ``>=``
    # ``"algebra"`` for an identity that sympy proves, ``"premise"`` for an inequality that a claim provides, otherwise
    # a name of the catalogue.
    rule: str = ALGEBRA
    where: Mapping[str, Any] = field(default_factory=dict)  # the rule's instance
    premises: tuple[str, ...] = ()  # ids of the claims that the step rests on
    note: str = ""
    context: Any = None  # the expression with ``HOLE`` where the rule is applied, if it does not show

    @classmethod
    def within(
        cls, context: Any, new: Any, rule: str, where: Mapping[str, Any] | None = None, premises: tuple[str, ...] = ()
    ) -> Step:
        """A step up by a rule that puts something new in the place of ``HOLE``."""
        return cls(context.xreplace({HOLE: new}), "<=", rule, where or {}, premises, context=context)

    @classmethod
    def order(cls, context: Any, smaller: Any, larger: Any) -> Step:
        """A step up that puts something larger in the place of ``HOLE``."""
        return cls.within(context, larger, "order", {"a": smaller, "b": larger})


@dataclass(frozen=True)
class Case:
    """A chain of steps under one assumption more."""

    assumption: Any  # what holds in this case
    steps: tuple[Step | Cases, ...]  # from the expression before the split to the expression after it


@dataclass(frozen=True)
class Cases:
    """A split into cases that end at one expression."""

    expr: Any  # where every case ends
    relation: Relation  # how the expression before the split stands to it, in every case
    cases: tuple[Case, ...]  # together they must cover the domain, which is proven
    note: str = ""


Link: TypeAlias = Step | Cases


@dataclass(frozen=True)
class Premise(Instance):
    """What another claim provides: two sides, their relation, and the conditions that are proven of every use."""

    @property
    def under(self) -> tuple[tuple[Derivation, Premise | None], ...]:
        """The derivations that provide it, each with what only that one is granted; none where it is typed."""
        return ()

    @property
    def fixed(self) -> frozenset[str]:
        """Functions, and letters on which these depend without showing it: nothing else may take their place."""
        return frozenset[str]().union(*(p.fixed for chain, _ in self.under for p in chain.premises.values()))

    @property
    def told(self) -> frozenset[str]:
        """Of what is fixed, the letters that facts of the literature are about, at any depth."""
        return frozenset[str]().union(*(p.told for chain, _ in self.under for p in chain.premises.values()))

    def instance(self, where: Mapping[str, Any]) -> Instance:
        """The premise with expressions in the place of some of its symbols (none: as it stands).

        What its symbols are assumed to be is asked of what takes their place, besides the conditions.
        """
        check_fixed(where, self.fixed)
        symbols = self._letters()
        sign_conditions = (condition for symbol in symbols for condition in symbol_conditions(symbol))
        conditions = tuple(dict.fromkeys((*self.conditions, *sign_conditions)))
        return replace(self, conditions=conditions).at({s.name: s for s in symbols} | dict(where))

    def _letters(self) -> list[Any]:
        """One symbol for each name: of a letter that only conditions hold, the one that says most."""
        sides = self.lhs.free_symbols | self.rhs.free_symbols
        relations = (c.relation for c in self.conditions if isinstance(c, Holds))
        condition_symbols = {s for relation in relations for s in sympy.sympify(relation).free_symbols}
        ordered = sorted(sides, key=str) + sorted(condition_symbols - sides, key=lambda s: (s == bare(s), str(s)))
        return list({s.name: s for s in reversed(ordered)}.values())[::-1]


def check_fixed(where: Mapping[str, Any], fixed: frozenset[str]) -> None:
    """Refuse to put anything else in the place of names that have one meaning."""
    if changed := sorted(name for name in fixed & where.keys() if str(where[name]) != name):
        raise DerivationError(f"{', '.join(changed)} has one meaning here: a function of the paper depends on it.")


def premise_of(statement: Any, lhs: Any = None) -> Premise:
    """Read a premise off a statement, its domains and conditions included, or raise a `DerivationError` without sides.

    ``lhs``: the sympy expression for the left side, where the claim has a quantity there.
    """
    left, right = sympy_sides(statement)
    left = lhs if left is None else left
    if left is None or right is None or statement.relation not in {"<=", ">=", "=", "<", ">"}:
        raise DerivationError(f"the claim {statement.key} has no two sides with a relation between them.")
    relations = sympy_conditions(statement)
    conditions: list[Condition] = [Holds(r) for r in relations]
    mentioned = left.free_symbols.union(right.free_symbols, *(r.free_symbols for r in relations))
    for symbol in sorted(mentioned, key=str):
        conditions += symbol_conditions(symbol)
    return Premise(left, statement.relation[0] + "=" if statement.relation != "=" else "=", right, tuple(conditions))


def bare(symbol: Any) -> Any:
    """Symbol of the same name of which only is known whether it is an integer."""
    return sympy.Symbol(symbol.name, **({"integer": True} if symbol.is_integer else {"real": True}))


def symbol_conditions(symbol: Any) -> list[Condition]:
    """What a symbol's own assumptions ask of anything that is put in its place."""
    conditions: list[Condition] = [IsInteger(symbol)] if symbol.is_integer else []
    plain = bare(symbol)
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
    """``letter = quotient*by + rest`` with ``first <= rest < first + by``: a whole letter of the statement, divided.

    What is derived for all such quotients, at least ``least``, and rests holds for all values of the letter.
    """

    letter: str
    by: str  # another whole letter of the statement
    quotient: str
    rest: str
    first: int = 0
    least: int = 0  # ``letter >= least*by + first`` is proven of the statement


@dataclass(frozen=True)
class Derivation:
    """A chain of steps from a starting expression to a bound."""

    name: str  # such as ``"two cases"``
    whose: Literal["ours", "paper"]  # ``"ours"``, or ``"paper"`` where it records the paper's own chain
    # Where each symbol is sampled, in order; laws, vectors and set bits are declared here.
    variables: Mapping[str, Variable]
    assumptions: tuple[Any, ...]  # what holds on the domain, besides the assumptions of the symbols themselves
    start: Any  # the first expression
    steps: tuple[Link, ...]
    # What claims of other ids provide; steps with the rule ``"premise"`` cite them.
    premises: Mapping[str, Premise] = field(default_factory=dict)
    # Variables that the bounded quantity ranges over, and not the statement (such as t in E||noise_t||).
    local: tuple[str, ...] = ()
    division: Division | None = None  # of a letter that the steps do not have, by its quotient and rest
    # Premises, derivations that are cited, of whose two ends every step may use how they stand on the whole domain.
    shown: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()  # letters of the statement: no step uses a condition on one of them

    @property
    def own_fixed(self) -> frozenset[str]:
        """Local letters on which a function of the paper depends, in a premise at any depth: none may be."""
        return frozenset(self.local) & frozenset[str]().union(*(p.fixed - p.told for p in self.premises.values()))

    @property
    def last(self) -> Any:
        """The last expression."""
        return sympy.sympify(self.steps[-1].expr if self.steps else self.start)

    @property
    def relation(self) -> Relation:
        """How the start stands to the last expression; a DerivationError if the chain goes up and down."""
        return chained(link.relation for link in self.steps)


def chained(relations: Any) -> Relation:
    """Relation of the ends of a chain: ``=`` if every link is an equality, else the one direction that occurs."""
    directions: set[Relation] = set(relations) - {"="}
    if len(directions) > 1:
        raise DerivationError("a chain of steps has both <= and >=: its ends are not comparable.")
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
