"""Check a derivation: sympy or a rule of the catalogue proves each step, and hundreds of points test it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.results import DerivationResult, StepResult, StepStatus
from dpverify.symbolic.derive.conclude import conclude, letters_of_citations
from dpverify.symbolic.derive.matching import Move, justified
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import Setting, check_shown, evaluate_step, shown_relations
from dpverify.symbolic.derive.steps import (
    ALGEBRA,
    PREMISE,
    Case,
    Cases,
    Derivation,
    DerivationError,
    Link,
    Premise,
    Step,
    premise_of,
)
from dpverify.symbolic.expressions.ranges import AnyFunction, AnyVector
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.equality import are_equal, equal_termwise
from dpverify.symbolic.prove.facts import Facts, FalseAssumptionError, Occurrence
from dpverify.symbolic.prove.signs import implied
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Instance


def check_derivation(derivation: Derivation, points: int = 300, seed: int = 0) -> DerivationResult:
    """Check every step of a derivation, and evaluate it at ``points`` points of the domain and of each case.

    A step is ``proved`` (by sympy or by a rule whose conditions are proven, and not violated at any point), ``checked``
    (not violated at any point, but not proven), ``undecided`` (nothing known, or a side without a value at a point) or
    ``fails`` (certainly violated at a point). A malformed derivation raises a `DerivationError`.
    """
    clean = prepared(derivation)
    _ = clean.relation, letters_of_citations(clean)
    checker = Checker(clean)
    relations = shown_relations(clean)
    setting = Setting(clean.variables, checker.symbols, clean.assumptions, points, seed, relations)
    if relations:
        check_shown(clean, Facts().given(clean.assumptions))
    start = checker.result(clean.start, "", "start", "proved", note="the expression to be bounded")
    results = [start, *checker.links(clean.start, clean.steps, setting)]
    complete = all(step.status == "proved" for step in results)
    point_count = len(setting.points.found)
    note = "" if setting.points.enough else f"only {point_count} of {points} points met the assumptions"
    return DerivationResult(
        name=clean.name, whose=clean.whose, steps=results, complete=complete and not note, note=note
    )


class Checker:
    """Checks the links of a prepared derivation."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        expressions = (derivation.start, *derivation.assumptions, *_all_expressions(derivation.steps))
        found = {s for expr in expressions for s in expr.free_symbols if s.name in derivation.variables}
        self.symbols = sorted(found, key=str)

    def result(self, expr: Any, relation: str, rule: str, status: StepStatus, **more: Any) -> StepResult:
        """Return the result of a step."""
        return StepResult(
            expression=str(expr), latex=sympy.latex(expr), relation=relation, rule=rule, status=status, **more
        )

    def links(self, old: Any, links: tuple[Link, ...], setting: Setting, prefix: str = "") -> list[StepResult]:
        """Check a chain of links that starts at an expression."""
        results: list[StepResult] = []
        for link in links:
            if isinstance(link, Step):
                results.append(self.step(old, link, setting, prefix))
            else:
                results += self.cases(old, link, setting, prefix)
            old = link.expr
        return results

    def step(self, old: Any, step: Step, setting: Setting, prefix: str) -> StepResult:
        """Check one step, at the points first, since a violation decides it."""
        instance = None if step.rule == ALGEBRA else self.instance(step)
        seen = evaluate_step(old, step.expr, step.relation, setting)
        if seen.violation and is_granted(self.derivation, step) and not self.reason(old, step, instance, setting):
            seen = replace(seen, violation="")
        status: StepStatus
        if seen.violation:
            status = "fails"
            reason = seen.violation
        else:
            reason = self.reason(old, step, instance, setting)
            if seen.undefined:
                status = "undecided"
                reason = f"without a value {seen.undefined}"
            elif frozen := setting.frozen(old, step.expr):
                status = "undecided"
                reason = f"every point has the same {', '.join(frozen)}"
            elif not setting.points.enough:
                status = "undecided"
                reason = f"only {len(setting.points.found)} points meet the assumptions"
            else:
                status = "checked" if reason else "proved"
        note = "; ".join(part for part in (prefix + step.note, reason) if part)
        return self.result(
            step.expr,
            step.relation,
            step.rule,
            status,
            premises=list(step.premises),
            points=seen.evaluated,
            slack=seen.slack,
            note=note,
        )

    def reason(self, old: Any, step: Step, instance: Instance | None, setting: Setting) -> str:
        """Return why a step is not proven, or an empty text."""
        if missing := _without_value((old, step.expr), setting):
            return missing
        if instance is None:
            if step.relation != "=":
                return "algebra proves equalities only: cite a rule."
            proven = are_equal(old, step.expr, setting.facts, setting.refuted)
            proven = proven or equal_termwise(old, step.expr, setting.facts)
            return "" if proven else "sympy does not prove the difference zero."
        known = setting.facts, setting.variables, setting.refuted
        return justified(Move(old, step.expr, step.relation, step.context, *known), instance)

    def instance(self, step: Step) -> Instance:
        """Return the instance of the rule or premise that a step cites."""
        try:
            if step.rule != PREMISE:
                return find_rule(step.rule).instance(step.where)
            (name,) = step.premises
            return self.derivation.premises[name].instance(step.where)
        except (ValueError, KeyError) as error:
            raise DerivationError(f"{self.derivation.name}: step to {step.expr}: {error}") from None

    def cases(self, old: Any, split: Cases, setting: Setting, prefix: str) -> list[StepResult]:
        """Check every case, that it ends at the expression of the split, and that the cases cover the domain."""
        results: list[StepResult] = []
        open_ends: list[str] = []
        for case in split.cases:
            inside = setting.narrowed(case.assumption)
            results += self.links(old, case.steps, inside, f"{prefix}case {case.assumption}: ")
            end = case.steps[-1].expr if case.steps else old
            if not are_equal(end, split.expr, inside.facts, inside.refuted):
                open_ends.append(f"the case {case.assumption} ends at {end}")
        compared = {
            r for case in split.cases for r in sympy.sympify(case.assumption).atoms(sympy.core.relational.Relational)
        }
        sides = (side for relation in sorted(compared, key=str) for side in relation.args)
        if missing := _without_value((old, split.expr, *sides), setting):
            open_ends.append(missing)
        if not _cover([case.assumption for case in split.cases], setting):
            open_ends.append("the cases are not proven to cover the domain")
        seen = evaluate_step(old, split.expr, split.relation, setting)
        if seen.violation and is_granted(self.derivation, split) and all(one.status == "proved" for one in results):
            seen = replace(seen, violation="")
        status: StepStatus = "fails" if seen.violation else "undecided" if open_ends or seen.undefined else "proved"
        reasons = [seen.violation, f"without a value {seen.undefined}" if seen.undefined else "", *open_ends]
        summary = self.result(
            split.expr,
            split.relation,
            "cases",
            status,
            points=seen.evaluated,
            slack=seen.slack,
            note="; ".join(part for part in (prefix + split.note, *reasons) if part),
        )
        return [*results, summary]


def is_granted(derivation: Derivation, link: Link) -> bool:
    """Test whether a premise of a link is about functions or vectors that are drawn: a point may violate it."""
    if isinstance(link, Cases):
        return any(is_granted(derivation, inside) for case in link.cases for inside in case.steps)
    arbitrary = (AnyFunction, AnyVector)
    drawn = {name for name, variable in derivation.variables.items() if isinstance(variable, arbitrary)}
    return any(_is_given(derivation.premises[name], drawn) for name in link.premises)


def _is_given(premise: Premise, drawn: set[str]) -> bool:
    """Test whether a premise is about drawn variables, is a fact of the literature, or uses such a premise."""
    if not premise.under:
        sides = (premise.lhs, premise.rhs)
        names = {str(part.func) for side in sides for part in side.atoms(AppliedUndef)}
        names |= {symbol.name for side in sides for symbol in side.free_symbols}
        return bool(names & drawn) or bool(getattr(premise, "is_given", False))
    return any(_is_given(inner, drawn) for chain, _ in premise.under for inner in chain.premises.values())


def _without_value(expressions: tuple[Any, ...], setting: Setting) -> str:
    """Return which part of some expressions is not proven to have a value on the domain, or an empty text."""
    parts = (undefined_part(expr, Occurrence(setting.facts), setting.variables) for expr in expressions)
    return next((f"not proven that {part} has a value." for part in parts if part is not None), "")


def _cover(assumptions: list[Any], setting: Setting) -> bool:
    """Test whether the assumptions cover the domain: the last one must hold where all others fail."""
    *earlier_assumptions, last = assumptions
    try:
        return implied(last, setting.facts.given(sympy.Not(assumption) for assumption in earlier_assumptions))
    except FalseAssumptionError:
        return True  # one of the others holds everywhere
    except ValueError:
        return False  # an assumption whose negation is not a conjunction of inequalities


def _all_expressions(links: tuple[Link, ...]) -> list[Any]:
    expressions: list[Any] = []
    for link in links:
        expressions.append(link.expr)
        if isinstance(link, Cases):
            for case in link.cases:
                expressions += [case.assumption, *_all_expressions(case.steps)]
    return expressions


__all__ = [
    "Case",
    "Cases",
    "Derivation",
    "DerivationError",
    "Premise",
    "Step",
    "check_derivation",
    "conclude",
    "premise_of",
]
