"""The steps of a chain, each with what the certificate and sample points say of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sympy

from dpverify.ledger.results import DerivationResult, StepResult, StepStatus
from dpverify.symbolic.certify.certificates import Certificate
from dpverify.symbolic.certify.writer import symbols_of
from dpverify.symbolic.derive.conclude import letters_of_citations
from dpverify.symbolic.derive.derivation import is_granted
from dpverify.symbolic.derive.prepare import prepared
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.shown import check_shown, shown_relations
from dpverify.symbolic.derive.steps import Cases, Derivation, Link, Step
from dpverify.symbolic.prove.facts import Facts

Path = tuple[int, ...]


def judged(derivation: Derivation, certificate: Certificate, points: int, seed: int) -> DerivationResult:
    """What a certificate, or the reason why there is none, and some points of the domain say of each step.

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
    """Judges the links of a chain, which is prepared."""

    derivation: Derivation
    certificate: Certificate

    def links(self, old: Any, links: tuple[Link, ...], setting: Setting, around: Path, prefix: str) -> list[StepResult]:
        """Judge a chain from an expression on."""
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
        """Why a link is not written in the certificate; empty if it is."""
        failing = self.certificate.path
        if self.certificate.data is not None or not failing or (*path, math.inf) < (*failing, math.inf):
            return ""
        return self.certificate.reason if path == failing else "after a step that is not proved"
