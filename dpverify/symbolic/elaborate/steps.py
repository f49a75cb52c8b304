"""Turn a line of a proof into a step: find the instance of the cited rule or premise, and its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.errors import suggest
from dpverify.ledger.formula import FormulaError, parse_relation, to_text
from dpverify.ledger.proofs.book import GivenPremise
from dpverify.ledger.proofs.chains import HERE, HYPOTHESIS, ChainLine, Reason
from dpverify.symbolic.certify.certificates import certify_chain
from dpverify.symbolic.derive.cited import DerivedPremise
from dpverify.symbolic.derive.integers import Hypothesis
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.steps import (
    ALGEBRA,
    PREMISE,
    Derivation,
    DerivationError,
    Link,
    Premise,
    Step,
)
from dpverify.symbolic.elaborate.formulas import ProofError, text_of
from dpverify.symbolic.elaborate.letters import (
    Letters,
    read_conditions,
    without_unused_letters,
)
from dpverify.symbolic.elaborate.unification import Where, differences, unify
from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import AnyVector, FromPremises, Range
from dpverify.symbolic.expressions.translation import to_relations
from dpverify.symbolic.prove.equality import are_equal
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import Holds, Instance, Relation, Rule, substitute

# the argument of a citation that names what a record measures, or a lemma's start
QUANTITY = "quantity"
# number of points at which a line that cannot be read as a step is evaluated
POINTS = 60
# largest number of instances of a rule that are compared by their conditions
MOST_CANDIDATES = 12

Cite = Callable[[Reason, Mapping[str, Any]], Premise]
"""``cite(reason, where)``: the premise that a line cites, with its letters replaced as in ``where``."""


@dataclass(frozen=True)
class Candidate:
    """An instance of a rule or of a premise that fits a line, and its place."""

    where: Where
    context: Any


@dataclass
class Elaborator:
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
        candidate = self._best_candidate(
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
            context = _context_if_needed(
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
            if vector := self._vector_for_number(plain, given):
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
                candidate = self._best_candidate(
                    plain, names, {**unchanged, **given}, context, old, new, line, None
                )
                if candidate is None:
                    letters = ", ".join(sorted(unknown))
                    rule = f"say what {letters} of {reason.name} becomes: {sides_text(plain)} was not found in the line"
                    raise self.error(line, rule)
                where = {n: candidate.where[n] for n in sorted(unknown)} | given
            # an unchanged letter is the proof's, whatever the lemma assumes of it
            if not reason.kind:
                where = {**self._same_letters(plain, where), **where}
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
                    _context_if_needed(instance, d.context, old, new)
                    for d in differences(old, new)
                    if _is_at(instance, d.old, d.new)
                ),
                None,
            )
        return Step(
            new, line.relation, PREMISE, dict(where or {}), (name,), line.note, context
        )

    def _vector_for_number(self, plain: Premise, given: Mapping[str, Any]) -> str:
        """Return the first letter of a lemma that is a number and is replaced by a vector, or an empty text."""
        numbers = set[str]()
        if isinstance(plain, DerivedPremise) and plain.derivation is not None:
            numbers = {
                name
                for name, kind in plain.derivation.variables.items()
                if isinstance(kind, Range)
            }
        vectors = {
            name
            for name, kind in self.letters.variables.items()
            if isinstance(kind, AnyVector)
        }
        letters = {
            name: value.name
            for name, value in given.items()
            if isinstance(value, sympy.Symbol)
        }
        return next(
            (
                name
                for name in letters
                if name in numbers | {QUANTITY} and letters[name] in vectors
            ),
            "",
        )

    def _same_letters(self, plain: Premise, where: Mapping[str, Any]) -> dict[str, Any]:
        """Return the proof's letters for letters of a lemma with the same names but other assumptions."""
        symbols = {
            symbol for side in (plain.lhs, plain.rhs) for symbol in side.free_symbols
        }
        letters = self.letters.symbols
        return {
            s.name: letters[s.name]
            for s in symbols
            if s.name not in where and letters.get(s.name, s) != s
        }

    def _best_candidate(
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
            islice(_candidates(sides, names, given, context, old, new), MOST_CANDIDATES)
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
            if self._is_certified(old, new, line.relation, rule.name, candidate):
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

    def _is_certified(
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

    def fitting(self, old: Any, new: Any, relation: Relation) -> list[str]:
        """Return the rules, except a plain comparison, with an instance that leads from one expression to the other."""
        names = []
        for rule in CATALOGUE.values():
            if rule.name == "order" or (relation == "=" and rule.sides.relation != "="):
                continue
            try:
                candidates = islice(
                    _candidates(rule.sides, rule.variables, {}, None, old, new), 3
                )
                if any(
                    self._is_certified(old, new, relation, rule.name, candidate)
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


def _candidates(
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


def _context_if_needed(instance: Instance, context: Any, old: Any, new: Any) -> Any:
    """Return the place of a step, or None if the step replaces one side by the other everywhere."""
    for held, put in ((instance.lhs, instance.rhs), (instance.rhs, instance.lhs)):
        if not held.is_Rational and old.has(held) and old.xreplace({held: put}) == new:
            return None
    return context


def _is_at(instance: Instance, old: Any, new: Any) -> bool:
    return (instance.lhs, instance.rhs) in {(old, new), (new, old)}


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
