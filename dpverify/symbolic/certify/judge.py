"""Judge each step of a derivation by its certificate and at sample points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.check_results import DerivationResult, StepResult, StepStatus
from dpverify.symbolic.certify.certificates import Certificate, certify_chain
from dpverify.symbolic.certify.header import symbols_of
from dpverify.symbolic.certify.place import Path
from dpverify.symbolic.derive.cited import letters_of_citations
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import (
    Setting,
    check_cited_facts,
    cited_relations,
    evaluate_step,
)
from dpverify.symbolic.derive.steps import (
    ALGEBRA,
    PREMISE,
    Cases,
    Derivation,
    DerivationError,
    Link,
    Premise,
    Step,
)
from dpverify.symbolic.expressions.evaluation import AnyFunction
from dpverify.symbolic.expressions.ranges import AnyVector
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import find_rule
from dpverify.symbolic.rules.base import Instance


def check_derivation(
    derivation: Derivation, points: int = 300, seed: int = 0
) -> DerivationResult:
    """Return the verdict on each step of a derivation, from its own certificate and from points of its domain."""
    check_form(prepared(derivation))
    return judge_derivation(derivation, certify_chain(derivation), points, seed)


def judge_derivation(
    derivation: Derivation, certificate: Certificate, points: int, seed: int
) -> DerivationResult:
    """Return the verdict on each step of a derivation, from a certificate of it and from points of its domain.

    A step is ``proved`` (the certificate contains it, and no point violates it), ``checked`` (no point violates it, but
    the certificate does not contain it), ``undecided`` (a side has no value at a point, or there are too few points) or
    ``fails`` (a point certainly violates it). A malformed derivation raises a `DerivationError`.
    """
    clean = prepared(derivation)
    setting = setting_of(clean, points, seed)
    start = StepResult(
        expression=str(clean.start),
        latex=sympy.latex(clean.start),
        relation="",
        rule="start",
        status="proved",
        note="the expression to be bounded",
    )
    reports = list(link_reports(clean, certificate, setting))
    results = [_result(clean, report) for report in reports]
    count = len(setting.points.samples)
    note = (
        ""
        if setting.points.is_complete
        else f"only {count} of {points} points met the assumptions"
    )
    if certificate.data is None and not certificate.problems:
        note = note or certificate.reason
    is_right = (
        result.status == "proved"
        or (result.status == "checked" and report.unproved == NOT_NEEDED)
        for result, report in zip(results, reports, strict=True)
    )
    complete = all(is_right) and not note
    return DerivationResult(
        name=clean.name,
        whose=clean.whose,
        steps=[start, *results],
        complete=complete,
        note=note,
    )


def setting_of(clean: Derivation, points: int, seed: int) -> Setting:
    """Return the sample points of a prepared derivation; raise a `DerivationError` if it is malformed."""
    check_form(clean)
    return Setting(
        clean.variables,
        symbols_of(clean),
        clean.assumptions,
        points,
        seed,
        cited_relations(clean),
    )


def step_certificate(derivation: Derivation, certificate: Certificate) -> Certificate:
    """Return the certificate that decides about the steps.

    Steps that do not reach the claim may still be proved. They then get a certificate of their own.
    """
    if certificate.data is None and not certificate.problems:
        return certify_chain(derivation)
    return certificate


def check_form(clean: Derivation) -> None:
    """Raise a `DerivationError` if a prepared derivation is malformed, or uses a fact that is not proved."""
    _ = clean.relation, letters_of_citations(clean)
    _ = cited_relations(clean)
    if clean.cited_facts:
        check_cited_facts(clean, Facts().assume(clean.assumptions))
    for step in steps_of(clean.steps):
        instance_of(clean, step)


def link_reports(
    clean: Derivation, certificate: Certificate, setting: Setting
) -> Iterator[LinkReport]:
    """Yield a report on each link of a prepared derivation. The links of cases precede the end of their split."""
    return _reports(certificate, clean.start, clean.steps, setting, (), "")


AFTER_FAILURE = "not examined, since another step is not proved"
NOT_NEEDED = "not examined, since the certificate does not need it"
NO_CERTIFICATE = "not examined, since the derivation has no certificate"
NOT_EXAMINED = (AFTER_FAILURE, NOT_NEEDED, NO_CERTIFICATE)


class LinkReport(NamedTuple):
    """Evidence on one step, or on the end of a split into cases: the certificate and values at sample points."""

    old: Any  # the expression before it
    link: Link
    prefix: str  # the cases around it
    # reason why the certificate does not contain the link; empty if it does
    unproved: str
    values: Any  # of both sides, at sample points
    setting: Setting


def _reports(
    certificate: Certificate,
    old: Any,
    links: tuple[Link, ...],
    setting: Setting,
    around: Path,
    prefix: str,
) -> Iterator[LinkReport]:
    for number, link in enumerate(links):
        path = (*around, number)
        for case_number, case in enumerate(
            link.cases if isinstance(link, Cases) else ()
        ):
            inside = setting.with_assumption(case.assumption)
            label = f"{prefix}case {case.assumption}: "
            yield from _reports(
                certificate, old, case.steps, inside, (*path, case_number), label
            )
        values = evaluate_step(old, link.expr, link.relation, setting)
        yield LinkReport(
            old, link, prefix, _why_not_proved(certificate, path), values, setting
        )
        old = link.expr


def _why_not_proved(certificate: Certificate, path: Path) -> str:
    """Return why the certificate does not contain a link; empty if it does, or if there is no record of links."""
    trace = certificate.trace
    if certificate.data is None and not certificate.problems:
        return NO_CERTIFICATE if certificate.reason else ""
    if path in certificate.problems:
        return certificate.problems[path]
    if trace is None or trace.is_proved(path):
        return ""
    return AFTER_FAILURE if certificate.data is None else NOT_NEEDED


def _result(derivation: Derivation, report: LinkReport) -> StepResult:
    """Return the verdict on a link."""
    link = report.link
    setting = report.setting
    values = report.values
    reason = report.unproved
    status: StepStatus = "checked" if reason else "proved"
    if values.violation and (reason or not is_granted(derivation, link)):
        status = "fails"
        reason = values.violation
    elif values.undefined:
        status = "undecided"
        reason = f"without a value {values.undefined}"
    elif isinstance(link, Step) and (
        constant_letters := setting.constant_letters(report.old, link.expr)
    ):
        status = "undecided"
        reason = f"every point has the same {', '.join(constant_letters)}"
    elif isinstance(link, Step) and not setting.points.is_complete:
        status = "undecided"
        reason = f"only {len(setting.points.samples)} points meet the assumptions"
    return StepResult(
        expression=str(link.expr),
        latex=sympy.latex(link.expr),
        relation=link.relation,
        rule=link.rule if isinstance(link, Step) else "cases",
        premises=list(link.premises) if isinstance(link, Step) else [],
        status=status,
        points=values.count,
        slack=values.slack,
        note="; ".join(filter(None, (report.prefix + link.note, reason))),
    )


def steps_of(links: tuple[Link, ...]) -> Iterator[Step]:
    """Yield the steps of a chain, including the steps of its cases."""
    for link in links:
        if isinstance(link, Step):
            yield link
        else:
            for case in link.cases:
                yield from steps_of(case.steps)


def instance_of(derivation: Derivation, step: Step) -> Instance | None:
    """Return the instance of the rule or premise that a step cites; None for algebra.

    Raises a `DerivationError` if there is none.
    """
    if step.rule == ALGEBRA:
        return None
    try:
        if step.rule != PREMISE:
            return find_rule(step.rule).instance(step.where)
        (name,) = step.premises
        return derivation.premises[name].instance(step.where)
    except (ValueError, KeyError) as error:
        raise DerivationError(
            f"{derivation.name}: step to {step.expr}: {error}"
        ) from None


def is_granted(derivation: Derivation, link: Link) -> bool:
    """Test whether a premise of a link is about functions or vectors that are drawn and may violate it at a point."""
    if isinstance(link, Cases):
        return any(
            is_granted(derivation, inside)
            for case in link.cases
            for inside in case.steps
        )
    arbitrary = (AnyFunction, AnyVector)
    drawn = {
        name
        for name, variable in derivation.variables.items()
        if isinstance(variable, arbitrary)
    }
    return any(_is_unproved(derivation.premises[name], drawn) for name in link.premises)


def _is_unproved(premise: Premise, drawn: set[str]) -> bool:
    """Test whether a premise is about drawn values, is a fact of the literature, or depends on such a premise."""
    if not premise.subderivations:
        sides = (premise.lhs, premise.rhs)
        names = {str(part.func) for side in sides for part in side.atoms(AppliedUndef)}
        names |= {symbol.name for side in sides for symbol in side.free_symbols}
        return bool(names & drawn) or bool(getattr(premise, "is_unproved", False))
    return any(
        _is_unproved(inner, drawn)
        for chain, _ in premise.subderivations
        for inner in chain.premises.values()
    )
