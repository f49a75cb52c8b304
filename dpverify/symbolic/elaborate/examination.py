"""Examine proofs line by line with certificates and sample points, and print their lines.

A text proof is certified and sent to the stand-alone checker. If there is no accepted certificate, the report has the
lines that fail, with reasons. The steps of a chain get the verdict of its certificate and of sample points. Proofs and
rules are printed in the formula language of the records.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from dpverify.ledger.formula import to_text
from dpverify.ledger.proofs.chains import ChainLine, parse_chain
from dpverify.ledger.results import DerivationResult, StepResult, StepStatus
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import certified
from dpverify.symbolic.certify.certificates import Certificate
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.certify.writer import symbols_of
from dpverify.symbolic.derive.conclude import Conclusion, compare_with, letters_of_citations
from dpverify.symbolic.derive.define import reworded
from dpverify.symbolic.derive.derivation import Checker, is_granted
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import Setting, check_shown, evaluate_step, shown_relations
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Cases, Derivation, DerivationError, Link, Step
from dpverify.symbolic.elaborate.formulas import is_guard, text_of
from dpverify.symbolic.elaborate.proofs import derivation_of
from dpverify.symbolic.elaborate.steps import says
from dpverify.symbolic.expressions.translation import sympy_conditions
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE
from dpverify.symbolic.rules.base import Condition, ForAll, Holds, Instance, IsInteger, Rule

POINTS = 100  # number of points at which a line outside of the certificate is evaluated
NOT_CLAIMED: dict[str, str] = {
    "stronger": "the claim says more than the last line gives",
    "differs": "the last line is not what the claim says",
}
UNDECIDED = "not proven that the claim follows from the last line"


@dataclass(frozen=True)
class Examined:
    """The result of the examination of a proof."""

    statement: Statement
    derivation: Derivation
    certificate: dict[str, Any] | None  # accepted by the checker
    problems: tuple[str, ...]  # reasons why there is no certificate, one line each
    given: tuple[str, ...] = ()  # premises that are not part of the certificate
    conclusion: Conclusion | None = None  # comparison of the derived bound with the printed one


def examine(statement: Statement, points: int = POINTS) -> Examined:
    """Read, elaborate, certify and check the proof of a statement. Raise a `ProofError` if it cannot be read."""
    full = reworded(statement)
    derivation = derivation_of(full)
    try:
        certificate = certified(full, derivation)
    except DerivationError as error:
        return Examined(statement, derivation, None, (str(error),))
    refusal = certificate.reason
    if certificate.data is not None:
        try:
            k.run(certificate.data, rules())
            given = tuple(map(str, k.given_in(certificate.data)))
            return Examined(statement, derivation, certificate.data, (), given, compare_with(derivation, full))
        except k.Refused as error:
            refusal = f"the checker refuses the certificate: {error}"
    problems = tuple(problems_of(full, derivation, points)) or (f"no certificate: {refusal}",)
    return Examined(statement, derivation, None, problems)


def problems_of(statement: Statement, derivation: Derivation, points: int) -> Iterator[str]:
    """Yield the problems that sympy and sample points find in the lines of a chain and in its last expression."""
    try:
        clean = prepared(derivation)
        checker = Checker(clean)
        shown = shown_relations(clean)
        setting = Setting(clean.variables, checker.symbols, clean.assumptions, points, 0, shown)
        numbers = iter(_numbers(statement))
        wrong = list(_wrong_links(clean.start, clean.steps, numbers, checker, setting))
    except DerivationError as error:
        wrong = [str(error)]
    yield from wrong
    if not wrong:
        conclusion = compare_with(derivation, statement)
        if conclusion.relation not in {"equal", "weaker"}:
            why = f": {conclusion.reason}" if conclusion.reason else ""
            yield f"{NOT_CLAIMED.get(conclusion.relation, UNDECIDED)}{why}"


def _numbers(statement: Statement) -> Iterator[ChainLine]:
    """Yield the lines of the proof. The lines of cases come before the line at the end of their split."""
    assert statement.proofs is not None
    proof = statement.proofs.find(statement)
    assert proof is not None

    def walked(lines: tuple[ChainLine, ...]) -> Iterator[ChainLine]:
        for line in lines:
            for _, inside in line.cases:
                yield from walked(inside)
            yield line

    return walked(parse_chain(proof.chain).lines)


def _wrong_links(old: Any, links: Any, lines: Iterator[ChainLine], checker: Checker, setting: Setting) -> Iterator[str]:
    for link in links:
        if isinstance(link, Cases):
            for case in link.cases:
                yield from _wrong_links(old, case.steps, lines, checker, setting.narrowed(case.assumption))
            line = next(lines)
            results = checker.cases(old, link, setting, "")
            if results[-1].status != "proved":
                yield f"line {line.number}: {line.text}: {results[-1].note}"
        elif not is_guard(link):
            line = next(lines)
            if problem := step_problem(old, link, checker, setting):
                yield f"line {line.number}: {line.text}: {problem}"
        old = link.expr


def step_problem(old: Any, step: Step, checker: Checker, setting: Setting) -> str:
    """Return why a step is not proven, with a point where it is false if one is known, or an empty text."""
    instance = None if step.rule == ALGEBRA else checker.instance(step)
    seen = evaluate_step(old, step.expr, step.relation, setting)
    reason = checker.reason(old, step, instance, setting)
    parts = [reason]
    if reason and instance is not None and step.rule != PREMISE:
        parts = [f"{step.rule} says {says(instance)}", reason]
    if seen.violation:
        parts.append(f"false {seen.violation.removesuffix(' is false')}")
    elif seen.undefined:
        parts.append(f"without a value {seen.undefined}")
    return "; ".join(part.removesuffix(".") for part in parts if part)


Path = tuple[int, ...]


def judged(derivation: Derivation, certificate: Certificate, points: int, seed: int) -> DerivationResult:
    """Judge each step by a certificate, or by the reason why there is none, and by some points of the domain.

    A step is ``proved`` (written in a certificate, and not violated at any point), ``checked`` (not violated at any
    point, but not proved), ``undecided`` (nothing known, or a side without a value at a point) or ``fails`` (certainly
    violated at a point). A malformed derivation raises a `DerivationError`.
    """
    clean = prepared(derivation)
    _ = clean.relation, letters_of_citations(clean)
    if clean.shown:
        check_shown(clean, Facts().given(clean.assumptions))
    relations = shown_relations(clean)
    setting = Setting(clean.variables, symbols_of(clean), clean.assumptions, points, seed, relations)
    chain = _Chain(clean, certificate)
    start = StepResult(
        expression=str(clean.start),
        latex=sympy.latex(clean.start),
        relation="",
        rule="start",
        status="proved",
        note="the expression to be bounded",
    )
    results = [start, *chain.links(clean.start, clean.steps, setting, (), "")]
    found = len(setting.points.found)
    note = "" if setting.points.enough else f"only {found} of {points} points met the assumptions"
    if certificate.data is None and not certificate.path:
        note = note or certificate.reason
    complete = not note and all(step.status == "proved" for step in results)
    return DerivationResult(name=clean.name, whose=clean.whose, steps=results, complete=complete, note=note)


@dataclass(frozen=True)
class _Chain:
    """Judges the links of a prepared chain."""

    derivation: Derivation
    certificate: Certificate

    def links(self, old: Any, links: tuple[Link, ...], setting: Setting, around: Path, prefix: str) -> list[StepResult]:
        """Judge a chain of links that starts at an expression."""
        results: list[StepResult] = []
        for number, link in enumerate(links):
            path = (*around, number)
            for case_number, case in enumerate(link.cases if isinstance(link, Cases) else ()):
                inside = setting.narrowed(case.assumption)
                label = f"{prefix}case {case.assumption}: "
                results += self.links(old, case.steps, inside, (*path, case_number), label)
            results.append(self.link(old, link, setting, path, prefix))
            old = link.expr
        return results

    def link(self, old: Any, link: Link, setting: Setting, path: Path, prefix: str) -> StepResult:
        """Judge one step, or the end of a split."""
        reason = self.why_not_proved(path)
        seen = evaluate_step(old, link.expr, link.relation, setting)
        status: StepStatus = "checked" if reason else "proved"
        if seen.violation and (reason or not is_granted(self.derivation, link)):
            status = "fails"
            reason = seen.violation
        elif seen.undefined:
            status = "undecided"
            reason = f"without a value {seen.undefined}"
        elif isinstance(link, Step) and (frozen := setting.frozen(old, link.expr)):
            status = "undecided"
            reason = f"every point has the same {', '.join(frozen)}"
        elif isinstance(link, Step) and not setting.points.enough:
            status = "undecided"
            reason = f"only {len(setting.points.found)} points meet the assumptions"
        return StepResult(
            expression=str(link.expr),
            latex=sympy.latex(link.expr),
            relation=link.relation,
            rule=link.rule if isinstance(link, Step) else "cases",
            premises=list(link.premises) if isinstance(link, Step) else [],
            status=status,
            points=seen.evaluated,
            slack=seen.slack,
            note="; ".join(filter(None, (prefix + link.note, reason))),
        )

    def why_not_proved(self, path: Path) -> str:
        """Return why a link is not in the certificate, or an empty text."""
        failing = self.certificate.path
        if self.certificate.data is not None or not failing or (*path, math.inf) < (*failing, math.inf):
            return ""
        return self.certificate.reason if path == failing else "after a step that is not proved"


WIDTH = 100


def statement_lines(statement: Statement) -> list[str]:
    """Return the lines that show a statement and the conditions that it grants."""
    left = statement.quantity if statement.lhs is None else to_text(statement.lhs)
    right = "" if statement.rhs is None else to_text(statement.rhs)
    conditions = ", ".join(map(text_of, sympy_conditions(statement)))
    lines = [str(statement.reference), f"claim: {left} {statement.relation} {right}"]
    return [*lines, f"for: {conditions}"] if conditions else lines


def lines_of(statement: Statement, derivation: Derivation) -> list[str]:
    """Return the lines of a proof as written, each with the rule or premise that it uses below it."""
    assert statement.proofs is not None
    proof = statement.proofs.find(statement)
    assert proof is not None
    chain = parse_chain(proof.chain)
    lines = [f"     {to_text(chain.start)}"]
    links = [link for link in derivation.steps if not is_guard(link)]
    lines += _links(chain.lines, links, derivation, "  ")
    return lines


def _links(lines: tuple[ChainLine, ...], links: Any, derivation: Derivation, indent: str) -> Iterator[str]:
    for line, link in zip(lines, links, strict=True):
        yield f"{indent}{line.relation:>2} {' '.join(line.text.removeprefix(line.relation).split())}"
        if isinstance(link, Cases):
            for (_, inside), case in zip(line.cases, link.cases, strict=True):
                yield f"{indent}   case {text_of(case.assumption)}"
                yield from _links(inside, case.steps, derivation, f"{indent}   ")
        else:
            yield from (f"{indent}      {text}" for text in _below(link, derivation))


def _below(step: Step, derivation: Derivation) -> Iterator[str]:
    """Yield the instance of a step's rule or premise, and the conditions of the instance."""
    instance: Instance
    if step.rule == ALGEBRA:
        return
    if step.rule == PREMISE:
        instance = derivation.premises[step.premises[0]]
    else:
        instance = CATALOGUE[step.rule].instance(step.where)
    yield from textwrap.wrap(says(instance), WIDTH)
    if needs := dict.fromkeys(filter(None, map(condition_text, instance.conditions))):
        yield from textwrap.wrap(f"needs {', '.join(needs)}", WIDTH)


def condition_text(condition: Condition) -> str:
    """Return a side condition in the formula language, or an empty text if it is trivially true."""
    match condition:
        case Holds(relation):
            return "" if relation is sympy.true else text_of(relation)
        case IsInteger(expr):
            return "" if expr.is_integer and expr.is_Atom else f"{text_of(expr)} is an integer"
        case ForAll(index, lo, hi, relation):
            return f"{text_of(relation)} for {text_of(lo)} <= {index.name} <= {text_of(hi)}"
        case _:
            return str(condition)


def rule_lines(rule: Rule, basis: Mapping[str, str] | None) -> list[str]:
    """Return a rule as the list of rules shows it. ``basis`` has the file and theorem of its proof in Coq."""
    needs = ", ".join(_need(condition) for condition in rule.conditions)
    lines = [rule.name, f"    {says(rule.says)}"]
    lines += [f"    needs {needs}"] if needs else []
    lines += textwrap.wrap(rule.proof, WIDTH, initial_indent="    ", subsequent_indent="    ")
    if basis is not None:
        lines.append(f"    Coq: {basis['theorem']} in specs/proofs/{basis['coq']}")
    return lines


def _need(condition: Condition) -> str:
    return f"{text_of(condition.expr)} is an integer" if isinstance(condition, IsInteger) else condition_text(condition)
