"""Search for the instance of a rule or premise that a line of a proof uses, and for its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sympy

from dpverify.ledger.proof_chains import ChainLine
from dpverify.symbolic.certify.certificates import certify_chain
from dpverify.symbolic.derive.cited import DerivedPremise
from dpverify.symbolic.derive.steps import (
    Derivation,
    DerivationError,
    Link,
    Premise,
    Step,
)
from dpverify.symbolic.elaborate.declarations import without_unused_letters
from dpverify.symbolic.elaborate.letters import Letters
from dpverify.symbolic.elaborate.unification import Where, differences, unify
from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import AnyVector, Range
from dpverify.symbolic.prove.comparisons import are_equal
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import Instance, Relation, Rule, substitute

# the argument of a citation that names what a record measures, or a lemma's start
QUANTITY = "quantity"
# largest number of instances of a rule that are compared by their conditions
MOST_CANDIDATES = 12


@dataclass(frozen=True)
class Candidate:
    """An instance of a rule or of a premise that fits a line, and its place."""

    where: Where
    context: Any


class InstanceSearch:
    """Searches for instances of rules and premises in the letters of one chain."""

    name: str
    letters: Letters
    premises: dict[str, Premise]

    def derivation(
        self,
        start: Any,
        steps: tuple[Link, ...],
        local: tuple[str, ...],
        *,
        drop_unused: bool = False,
    ) -> Derivation:
        """Return the chain of these steps.

        With ``drop_unused`` it has no conditions on letters that it does not contain.
        """
        made = Derivation(
            self.name,
            "ours",
            self.letters.variables,
            self.letters.conditions,
            start,
            steps,
            self.premises,
            local,
        )
        return without_unused_letters(made) if drop_unused else made

    def best_candidate(
        self,
        sides: Instance,
        names: frozenset[str],
        given: dict[str, Any],
        context: Any,
        old: Any,
        new: Any,
        line: ChainLine,
        rule: Rule | None,
    ) -> Candidate | None:
        """Return the instance that fits.

        Of several, return one that justifies the step or whose conditions are proven.
        """
        candidates = list(
            islice(
                candidates_for(sides, names, given, context, old, new), MOST_CANDIDATES
            )
        )
        if not candidates and rule is not None:
            candidates = list(
                islice(
                    self._one_sided_candidates(sides, names, given, context, old, new),
                    1,
                )
            )
        if len(candidates) < 2 or rule is None:
            return candidates[0] if candidates else None
        for candidate in candidates:
            if self.is_certified(old, new, line.relation, rule.name, candidate):
                return candidate
        facts = Facts().assume(self.letters.conditions)
        # The step may follow from a lemma that the proof lists as known, so the rule's
        # conditions decide.
        for candidate in candidates:
            conditions = rule.instance(candidate.where).conditions
            if all(
                condition.is_met(facts, self.letters.variables)
                for condition in conditions
            ):
                return candidate
        return candidates[0]

    def is_certified(
        self, old: Any, new: Any, relation: Relation, rule: str, candidate: Candidate
    ) -> bool:
        """Test whether a step by an instance of a rule has a certificate by itself."""
        step = Step(
            new, relation, rule, dict(candidate.where), context=candidate.context
        )
        try:
            return certify_chain(self.derivation(old, (step,), ())).data is not None
        except (
            DerivationError,
            EvaluationError,
        ):  # letters that only later lines explain
            return False

    def _one_sided_candidates(
        self,
        sides: Instance,
        names: frozenset[str],
        given: dict[str, Any],
        context: Any,
        old: Any,
        new: Any,
    ) -> Iterator[Candidate]:
        """Yield instances with one side in one expression, whose other side there gives the other expression.

        This finds a rule whose other side is not visible because it was multiplied out.
        """
        facts = Facts().assume(self.letters.conditions)
        for whole, other in ((old, new), (new, old)):
            for part in dict.fromkeys(sympy.preorder_traversal(whole)):
                if part.is_Atom or isinstance(part, sympy.Tuple):
                    continue
                around = whole.xreplace({part: HOLE}) if context is None else context
                for held, put in ((sides.lhs, sides.rhs), (sides.rhs, sides.lhs)):
                    for where in unify(held, part, given, names):
                        if where.keys() < names:
                            continue
                        if are_equal(
                            around.xreplace({HOLE: substitute(put, where)}),
                            other,
                            facts,
                        ):
                            yield Candidate(where, around)

    def fitting(self, old: Any, new: Any, relation: Relation) -> list[str]:
        """Return the rules, except a plain comparison, with an instance that leads from one expression to the other."""
        names = []
        for rule in CATALOGUE.values():
            if rule.name == "order" or (relation == "=" and rule.sides.relation != "="):
                continue
            try:
                candidates = islice(
                    candidates_for(rule.sides, rule.variables, {}, None, old, new), 3
                )
                if any(
                    self.is_certified(old, new, relation, rule.name, candidate)
                    for candidate in candidates
                ):
                    names.append(rule.name)
            except (
                ArithmeticError,
                AttributeError,
                RecursionError,
                TypeError,
                ValueError,
            ):
                continue  # a wrong instance may have no value
        return names


def candidates_for(
    sides: Instance,
    names: frozenset[str],
    given: Mapping[str, Any],
    context: Any,
    old: Any,
    new: Any,
) -> Iterator[Candidate]:
    """Yield the instances whose two sides are the parts of two expressions at one place."""
    seen: list[Candidate] = []
    for difference in differences(old, new):
        if context is not None and difference.context != context:
            continue
        for first, second in ((sides.lhs, sides.rhs), (sides.rhs, sides.lhs)):
            for half in unify(first, difference.old, given, names):
                for where in unify(second, difference.new, half, names):
                    one = Candidate(where, difference.context)
                    if where.keys() >= names and one not in seen:
                        seen.append(one)
                        yield one


def context_if_needed(instance: Instance, context: Any, old: Any, new: Any) -> Any:
    """Return the place of a step, or None if the step replaces one side by the other everywhere."""
    for held, put in ((instance.lhs, instance.rhs), (instance.rhs, instance.lhs)):
        if not held.is_Rational and old.has(held) and old.xreplace({held: put}) == new:
            return None
    return context


def is_at(instance: Instance, old: Any, new: Any) -> bool:
    """Test whether two expressions are the sides of an instance."""
    return (instance.lhs, instance.rhs) in {(old, new), (new, old)}


def vector_for_number(
    letters: Letters, plain: Premise, given: Mapping[str, Any]
) -> str:
    """Return the first letter of a lemma that is a number and is replaced by a vector, or an empty text."""
    numbers = set[str]()
    if isinstance(plain, DerivedPremise) and plain.derivation is not None:
        numbers = {
            name
            for name, kind in plain.derivation.variables.items()
            if isinstance(kind, Range)
        }
    vectors = {
        name for name, kind in letters.variables.items() if isinstance(kind, AnyVector)
    }
    names = {
        name: value.name
        for name, value in given.items()
        if isinstance(value, sympy.Symbol)
    }
    return next(
        (
            name
            for name in names
            if name in numbers | {QUANTITY} and names[name] in vectors
        ),
        "",
    )


def same_letters(
    letters: Letters, plain: Premise, where: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the proof's letters for letters of a lemma with the same names but other assumptions."""
    symbols = {
        symbol for side in (plain.lhs, plain.rhs) for symbol in side.free_symbols
    }
    proof_symbols = letters.symbols
    return {
        s.name: proof_symbols[s.name]
        for s in symbols
        if s.name not in where and proof_symbols.get(s.name, s) != s
    }
