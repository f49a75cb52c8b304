"""One proof from text to the stand-alone checker: what each line rests on, and which line fails and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpverify.ledger.proofs.chains import ChainLine, parse_chain
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import certified
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.derive.conclude import Conclusion, compare_with
from dpverify.symbolic.derive.define import reworded
from dpverify.symbolic.derive.derivation import Checker
from dpverify.symbolic.derive.prepare import prepared
from dpverify.symbolic.derive.setting import Setting, evaluate_step
from dpverify.symbolic.derive.shown import shown_relations
from dpverify.symbolic.derive.steps import ALGEBRA, PREMISE, Cases, Derivation, DerivationError, Step
from dpverify.symbolic.elaborate.guards import is_guard
from dpverify.symbolic.elaborate.proofs import derivation_of
from dpverify.symbolic.elaborate.steps import says

POINTS = 100  # at which a line is evaluated that the certificate does not reach
NOT_CLAIMED: dict[str, str] = {
    "stronger": "the claim says more than the last line gives",
    "differs": "the last line is not what the claim says",
}
UNDECIDED = "not proven that the claim follows from the last line"


@dataclass(frozen=True)
class Examined:
    """A proof, as far as it has come."""

    statement: Statement
    derivation: Derivation
    certificate: dict[str, Any] | None  # that the checker accepts
    problems: tuple[str, ...]  # one line each, why there is none
    given: tuple[str, ...] = ()  # premises that are not part of the certificate
    conclusion: Conclusion | None = None  # the derived bound against the printed one


def examine(statement: Statement, points: int = POINTS) -> Examined:
    """Read, elaborate, certify and check the proof of a statement; raises a `ProofError` where it cannot be read."""
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
    """Yield what is wrong with the lines of a chain, and with its last expression: sympy and sample points say so."""
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
    """The lines of the proof, those of cases before the line of their split's end."""
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
    """Why a step is not proven, and a point of the domain where it is false if one is known; empty if it holds."""
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
