"""Turn a line of a proof into a step: find the instance of the cited rule or premise, and its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.errors import suggest
from dpverify.ledger.formula import FormulaError, parse_relation, to_text
from dpverify.ledger.proof_book import GivenPremise
from dpverify.ledger.proof_chains import HERE, HYPOTHESIS, ChainLine, Reason
from dpverify.symbolic.derive.cited import DerivedPremise
from dpverify.symbolic.derive.integers import Hypothesis
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Premise, Step
from dpverify.symbolic.elaborate.candidates import (
    QUANTITY,
    InstanceSearch,
    context_if_needed,
    is_at,
    same_letters,
    vector_for_number,
)
from dpverify.symbolic.elaborate.formulas import ProofError, text_of
from dpverify.symbolic.elaborate.letters import Letters, read_conditions
from dpverify.symbolic.elaborate.unification import Where, differences
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises
from dpverify.symbolic.expressions.translation import to_relations
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import Holds, Instance, Relation, Rule

# number of points at which a line that cannot be read as a step is evaluated
POINTS = 60

Cite = Callable[[Reason, Mapping[str, Any]], Premise]
"""``cite(reason, where)``: the premise that a line cites, with its letters replaced as in ``where``."""


@dataclass
class Elaborator(InstanceSearch):
    """Turns the lines of one chain into steps, and collects the premises that they cite."""

    name: str  # name of the proof or lemma
    letters: Letters
    cite: Cite
    cited_names: tuple[str, ...]  # lemmas that lines may name
    # lines may use them without proof
    given_premises: Mapping[str, GivenPremise] = field(default_factory=dict)
    premises: dict[str, Premise] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None  # only in the step of an induction

    def step(self, old: Any, line: ChainLine) -> Step:
        """Return the step from an expression to the expression of a line.

        A `ProofError` says what was tried, and gives a point of the domain where the line is false if one is found.
        """
        new = self.expr(line, line.formula)
        try:
            return self._step(old, new, line)
        except ProofError as error:
            # the error is about a line of a lemma and names it
            if error.where != self.name:
                raise
            raise self.error(
                line, f"{error.problem}{self._false_at(old, new, line.relation)}"
            ) from None

    def _false_at(self, old: Any, new: Any, relation: Relation) -> str:
        symbols = [
            s for s in self.letters.symbols.values() if getattr(s, "is_Symbol", False)
        ]
        declared = {
            name: v
            for name, v in self.letters.variables.items()
            if not isinstance(v, FromPremises)
        }
        try:
            setting = Setting(declared, symbols, self.letters.conditions, POINTS, 0)
            violation = evaluate_step(old, new, relation, setting).violation
        except (ValueError, TypeError, KeyError):
            return ""
        return f"; false {violation.removesuffix(' is false')}" if violation else ""

    def _step(self, old: Any, new: Any, line: ChainLine) -> Step:
        reason = line.reason
        if reason is None:
            return self._unreasoned(old, new, line)
        context = None if reason.place is None else self._context(reason, line, old)
        if reason.kind == "given":
            return self._by_given_premise(reason, context, old, new, line)
        if reason.name == HYPOTHESIS and self.hypothesis is not None:
            return self.premise_step(
                HYPOTHESIS, self.hypothesis, context, old, new, line
            )
        given = self._stated_values(reason, line, old, new)
        if not reason.kind and reason.name == ALGEBRA:
            return Step(new, line.relation, note=line.note)
        if not reason.kind and reason.name in CATALOGUE:
            return self._by_rule(CATALOGUE[reason.name], given, context, old, new, line)
        if not reason.kind and reason.name not in self.cited_names:
            raise self.error(line, self._unknown(reason.name, old, new, line.relation))
        return self._by_premise(reason, given, context, old, new, line)

    def with_conditions(self, conditions: Iterable[Any]) -> Elaborator:
        """Return the elaborator for the lines of a case with more conditions. Both share the collected premises."""
        letters = replace(
            self.letters, conditions=(*self.letters.conditions, *conditions)
        )
        return replace(self, letters=letters)

    def error(self, line: ChainLine, problem: str) -> ProofError:
        """Return an error about a line."""
        return ProofError(self.name, line.number, line.text, problem)

    def expr(
        self, line: ChainLine, formula: Any, extra: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the expression of a formula in a line."""
        try:
            return self.letters.expr(formula, extra)
        except (FormulaError, KeyError, ValueError, TypeError) as error:
            raise self.error(
                line, error.rule if isinstance(error, FormulaError) else str(error)
            ) from None

    def _unreasoned(self, old: Any, new: Any, line: ChainLine) -> Step:
        """Return the step of a line without a reason: algebra, or a comparison that follows from the conditions."""
        if line.relation == "=":
            return Step(new, "=", note=line.note)
        small, large = (old, new) if line.relation == "<=" else (new, old)
        return Step(
            new,
            line.relation,
            "order",
            {"a": small, "b": large},
            note=line.note,
            context=HOLE,
        )

    def _context(self, reason: Reason, line: ChainLine, old: Any) -> Any:
        context = self.expr(line, reason.place, {HERE: HOLE, **_indices(old)})
        if not context.has(HOLE):
            raise self.error(
                line,
                f"the place has the letter {HERE} where the rule is applied: within 2*{HERE} + 1",
            )
        return context

    def _stated_values(
        self, reason: Reason, line: ChainLine, *sides: Any
    ) -> dict[str, Any]:
        """Return the expressions that the line substitutes for letters."""
        indices = _indices(*sides)
        given: dict[str, Any] = {}
        for argument in reason.arguments:
            if argument.index:
                index = sympy.Symbol(argument.index, integer=True)
                body = self.expr(
                    line, argument.value, {**indices, argument.index: index}
                )
                given[argument.name] = sympy.Lambda(index, body)
                continue
            text = to_text(argument.value)
            known = self.letters.symbols.get(text)
            is_function = isinstance(known, sympy.core.function.FunctionClass)
            given[argument.name] = (
                known if is_function else self.expr(line, argument.value, indices)
            )
        return given

    def _by_rule(
        self,
        rule: Rule,
        given: dict[str, Any],
        context: Any,
        old: Any,
        new: Any,
        line: ChainLine,
    ) -> Step:
        if wrong := sorted(given.keys() - rule.variables):
            known = ", ".join(sorted(rule.variables))
            raise self.error(
                line, f"the rule {rule.name} has no letter {wrong[0]}; it has {known}"
            )
        sides = Instance(rule.sides.lhs, rule.sides.relation, rule.sides.rhs)
        candidate = self.best_candidate(
            sides, rule.variables, given, context, old, new, line, rule
        )
        if candidate is None:
            # the place is searched for by the values of the sides
            if given.keys() == rule.variables:
                return Step(
                    new,
                    line.relation,
                    rule.name,
                    given,
                    note=line.note,
                    context=context,
                )
            raise self.error(line, self._no_instance(rule, given))
        if context is None:
            context = context_if_needed(
                rule.instance(candidate.where), candidate.context, old, new
            )
        return Step(
            new,
            line.relation,
            rule.name,
            dict(candidate.where),
            note=line.note,
            context=context,
        )

    def _by_premise(
        self,
        reason: Reason,
        given: dict[str, Any],
        context: Any,
        old: Any,
        new: Any,
        line: ChainLine,
    ) -> Step:
        try:
            plain = self.cite(
                reason,
                {name: value for name, value in given.items() if name == QUANTITY},
            )
            names = frozenset(
                s.name for side in (plain.lhs, plain.rhs) for s in side.free_symbols
            )
            applied = {
                str(f.func)
                for side in (plain.lhs, plain.rhs)
                for f in side.atoms(AppliedUndef)
            }
            names |= applied - self.letters.symbols.keys()
            in_start = (
                plain.start.free_symbols
                if isinstance(plain, DerivedPremise)
                else set[Any]()
            )
            if not reason.kind and (
                wrong := sorted(
                    given.keys() - names - {QUANTITY, *(s.name for s in in_start)}
                )
            ):
                letters = ", ".join(sorted(names)) or "none"
                raise self.error(
                    line,
                    f"the lemma {reason.name} has no letter {wrong[0]}; it has {letters}",
                )
            if vector := vector_for_number(self.letters, plain, given):
                raise self.error(
                    line,
                    f"{given[vector]} is a vector, and {vector} of {reason.name} is a number",
                )
            of_function = reason.kind == "definition" and QUANTITY not in given
            places = (
                {s.name for s in plain.lhs.free_symbols} if of_function else set[str]()
            )
            unknown = (names - self.letters.symbols.keys() | places) - given.keys()
            where = given
            if unknown:
                unchanged = {
                    n: self.letters.symbols[n] for n in names - unknown - given.keys()
                }
                candidate = self.best_candidate(
                    plain, names, {**unchanged, **given}, context, old, new, line, None
                )
                if candidate is None:
                    letters = ", ".join(sorted(unknown))
                    rule = f"say what {letters} of {reason.name} becomes: {sides_text(plain)} was not found in the line"
                    raise self.error(line, rule)
                where = {n: candidate.where[n] for n in sorted(unknown)} | given
            # an unchanged letter is the proof's, whatever the lemma assumes of it
            if not reason.kind:
                where = {**same_letters(self.letters, plain, where), **where}
            if of_function:  # the equation holds at all arguments
                return self.premise_step(
                    _name_of(reason, {}), plain, context, old, new, line, where
                )
            premise = self.cite(reason, where)
        except ProofError:
            raise
        except (ValueError, KeyError) as error:
            raise self.error(line, str(error)) from None
        return self.premise_step(
            _name_of(reason, where), premise, context, old, new, line
        )

    def _by_given_premise(
        self, reason: Reason, context: Any, old: Any, new: Any, line: ChainLine
    ) -> Step:
        """Return a step by a relation that the file states as given, in the letters of this chain."""
        if reason.name not in self.given_premises:
            raise self.error(
                line,
                f"nothing is given as {reason.name!r}{suggest(reason.name, self.given_premises)}",
            )
        record = self.given_premises[reason.name]
        relation = self.letters.abbreviations.expanded(parse_relation(record.says))
        left, right = (self.expr(line, side) for side in relation.operands)
        (sign,) = relation.ops
        texts = read_conditions(record.requires, self.letters.abbreviations)
        conditions = [
            Holds(c) for text in texts for c in to_relations(text, self.letters.symbols)
        ]
        relations: dict[str, Relation] = {
            "<=": "<=",
            ">=": ">=",
            "==": "=",
            "<": "<=",
            ">": ">=",
        }
        premise = Premise(left, relations[sign], right, tuple(conditions))
        return self.premise_step(record.words, premise, context, old, new, line)

    def premise_step(
        self,
        name: str,
        premise: Premise,
        context: Any,
        old: Any,
        new: Any,
        line: ChainLine,
        where: Where | None = None,
    ) -> Step:
        """Return a step by a premise with its letters replaced, at the place where the two expressions differ."""
        self.premises[name] = premise
        instance = premise.instance(where) if where else premise
        if context is None:
            context = next(
                (
                    context_if_needed(instance, d.context, old, new)
                    for d in differences(old, new)
                    if is_at(instance, d.old, d.new)
                ),
                None,
            )
        return Step(
            new, line.relation, PREMISE, dict(where or {}), (name,), line.note, context
        )

    def _no_instance(self, rule: Rule, given: Mapping[str, Any]) -> str:
        missing = ", ".join(sorted(rule.variables - given.keys()))
        return (
            f"the rule {rule.name} says {sides_text(rule.sides)}, of which no two sides were found where the lines "
            f"differ; say what {missing} becomes"
        )

    def _unknown(self, name: str, old: Any, new: Any, relation: Relation) -> str:
        """Return an error text for an unknown name, with similar names and with rules that fit."""
        near = get_close_matches(name, [*CATALOGUE, *self.cited_names], 3, 0.5)
        fitting = self.fitting(old, new, relation)
        parts = [f"there is no rule or lemma {name!r}"]
        parts += [f"similar names: {', '.join(near)}"] if near else []
        parts += [f"rules that fit: {', '.join(fitting)}"] if fitting else []
        return "; ".join(parts)


def _indices(*expressions: Any) -> dict[str, Any]:
    """Return the indices of the sums in some expressions, by name."""
    nodes = (
        node for expr in expressions for node in expr.atoms(sympy.Sum, sympy.Integral)
    )
    return {limit[0].name: limit[0] for node in nodes for limit in node.limits}


def _name_of(reason: Reason, where: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name} = {value}" for name, value in where.items())
    variant = reason.variant if reason.kind == "claim" else ""
    choices = [f"under {name} = {choice}" for name, choice in reason.reading]
    citation = " ".join(filter(None, [variant, reason.kind, reason.name, *choices]))
    return f"{citation} ({shown})" if shown else citation


def sides_text(sides: Instance) -> str:
    """Return two sides and their relation as text."""
    return f"{text_of(sides.lhs)} {sides.relation} {text_of(sides.rhs)}"
