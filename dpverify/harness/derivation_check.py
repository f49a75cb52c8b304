"""Check a derivation. It proves a statement if all steps hold and the last expression implies the statement."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpverify.harness.checks import Check, Context, missed_controls
from dpverify.harness.sides import Planted, moved_side
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    DerivationResult,
    Method,
)
from dpverify.ledger.formula import free_names, parse, to_text
from dpverify.ledger.records import ORDERS, RelationToDerived, Status
from dpverify.ledger.statements import Statement

if TYPE_CHECKING:
    from dpverify.symbolic.certify.certificates import Certificate
    from dpverify.symbolic.derive.perturb import Perturbation
    from dpverify.symbolic.derive.steps import Derivation


Build = Callable[[Statement], "Derivation"]

FACTORS = tuple(
    Fraction(text) for text in ("1.01", "1.1", "2", "10", "1000", "1e6", "1e12")
)
"""Factors that move the printed side, tried in turn until the certificate no longer proves it."""


@dataclass(frozen=True)
class DerivationCheck(Check):
    """Write a certificate of a derivation for the checker, and compare the last expression with the claim.

    The certificate contains everything that the derivation cites. The steps are also evaluated at points of the domain.
    """

    build: Build = field(kw_only=True)  # makes the derivation for a statement

    method: ClassVar[Method] = "derivation"

    def can_judge(self, statement: Statement) -> bool:
        """Return whether the right side is a formula."""
        return statement.rhs is not None

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return 0.18 + 0.0067 * context.budget.points

    def certificate(self, statement: Statement) -> Certificate:
        """Return the certificate of the derivation of a statement, or the reason why it has no certificate."""
        from dpverify.symbolic.automatic.proofs import certified

        return certified(statement, self.build(statement))

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Certify the derivation, evaluate its steps, compare its last expression with the statement and run controls.

        A step that fails at a point is an error in our proof, not in the paper.
        """
        if (
            context.proof is not None
            and (recorded := context.proof.checked()) is not None
        ):
            return recorded
        from dpverify.symbolic.certify.checker import k
        from dpverify.symbolic.certify.conclusion import relation_to_derived
        from dpverify.symbolic.certify.judge import judge_derivation, step_certificate
        from dpverify.symbolic.derive.cited import (
            all_subderivations,
            cited_definitions,
            cited_statements,
        )
        from dpverify.symbolic.derive.define import expand_definition, quantity_formula
        from dpverify.symbolic.derive.perturb import spaced_perturbations

        del block
        statement = expand_definition(context.statement)
        derivation = self.build(statement)
        certificate, checker = _accepted(context, statement, derivation)
        relation = relation_to_derived(statement, derivation, checker)
        for_steps = step_certificate(derivation, certificate)
        checked = judge_derivation(
            derivation, for_steps, context.budget.points, context.seed
        )
        failing = _failing(checked)
        errors = (
            [f"our derivation {checked.name!r} fails: {failing}"] if failing else []
        )
        if certificate.data is None and relation == "undecided" and not failing:
            errors.append(
                f"our derivation {checked.name!r} has no certificate: {certificate.reason}"
            )
        premises = (
            [] if certificate.data is None else list(k.given_in(certificate.data))
        )
        claims = {claim.key for claim in statement.siblings.values()}
        if borne := sorted(claims.intersection(premises)):
            errors.append(
                f"what is typed by hand bears the id of a claim, to which it must refer: {', '.join(borne)}"
            )
        meant = quantity_formula(statement, derivation.variables)
        uncovered = "" if meant is None else meant.obstacle
        proven = certificate.data is not None and not errors and not uncovered
        controls = list[ControlResult]()
        slack = list[str]()
        missed = ""
        if certificate.data is not None and proven:
            perturbations = spaced_perturbations(derivation, context.budget.perturbed)
            controls, slack = judge_perturbations(
                perturbations, partial(_refusal, statement), context.seed, first=1
            )
            controls = [
                changed_printed_side(statement, certificate.data, derivation.start),
                *controls,
            ]
            missed = missed_controls(controls)
            proven = not missed
        meaning = (
            statement.definition(statement.quantity) if statement.quantity else None
        )
        measured = [] if meaning is None else [str(meaning)]
        cited = [chain.name for _, chain in all_subderivations(derivation)]
        rests = f"it cites the derivations {'; '.join(cited)}" if cited else ""
        message = _message(checked, relation, certificate)
        status: Status = "proved given" if premises else "proved"
        return self.result(
            status=status if proven else "inconclusive",
            message="; ".join(
                filter(None, [message, uncovered, missed, *slack, rests])
            ),
            error="; ".join(errors),
            n=sum(step.points for step in checked.steps),
            detects="a step that is false at a point of its domain; a printed side that does not follow",
            given=premises if proven else [],
            definitions=[*measured, *cited_definitions(derivation)] if proven else [],
            references=cited_statements(derivation) if proven else [],
            derivation=checked,
            relation_to_derived=relation,
            controls=controls,
        )


def _accepted(
    context: Context, statement: Statement, derivation: Derivation
) -> tuple[Certificate, Any]:
    """Return the certificate of a derivation and the checker that accepted it, or the reason why there is none."""
    from dpverify.symbolic.automatic.argument import checked as checked_by_program
    from dpverify.symbolic.automatic.proofs import certified
    from dpverify.symbolic.certify.certificates import Certificate
    from dpverify.symbolic.certify.place import Trace

    stored = context.certificate
    accepted = None if stored is None else stored.checked()
    if stored is not None and accepted is not None:
        return Certificate(
            json.loads(stored.path.read_text(encoding="utf-8"))
        ), accepted[0]
    certificate = certified(statement, derivation)
    if certificate.data is None:
        return certificate, None
    checker = checked_by_program(certificate.data)
    if checker is not None:
        return certificate, checker
    refusal = "the checker refuses it"
    return Certificate(None, refusal, Trace(problems={(): refusal})), None


def _refusal(statement: Statement, derivation: Derivation) -> str:
    """Return why a derivation of a statement has no certificate, or "" if it has one."""
    from dpverify.symbolic.certify.certificates import certify

    return certify(statement, derivation).reason


def judge_perturbations(
    perturbations: Iterable[Perturbation],
    refusal: Callable[[Derivation], str],
    seed: int,
    *,
    first: int = 0,
    limit: int | None = None,
) -> tuple[list[ControlResult], list[str]]:
    """Judge derivations with one changed constant. A refused derivation is a control. An accepted one shows slack.

    ``refusal``: returns why a derivation has no certificate, or "".
    """
    controls: list[ControlResult] = []
    slack: list[str] = []
    for perturbation in perturbations:
        refused, why = perturbation.judge(refusal, seed)
        if refused:
            name = f"constant moved {first + len(controls)}"
            controls.append(
                ControlResult(
                    name=name,
                    fault=perturbation.fault,
                    at_declared_size=True,
                    refuted=True,
                    statistic=why,
                )
            )
        else:
            slack.append(f"with {perturbation.fault} it {why}")
        if len(controls) == limit:
            break
    return controls, slack


def moves(statement: Statement, factor: Fraction) -> Iterator[tuple[str, Statement]]:
    """Yield statements whose right side is multiplied by a number or, for orders of growth, by a power of a letter."""
    # One of the two directions makes the statement stronger, whatever the sign and the
    # relation. The other makes it weaker, so that it still follows.
    if statement.relation in ORDERS and statement.rhs is not None:
        for letter in sorted(free_names(statement.rhs)):
            for power in (1 - factor, factor - 1):
                rhs = parse(f"({to_text(statement.rhs)})*{letter}**({power})")
                yield f"printed*{letter}**({power})", replace(statement, rhs=rhs)
    else:
        for multiple in (1 / factor, factor):
            yield f"printed*{multiple}", moved_side(statement, "*", multiple)


def _failing(checked: DerivationResult) -> str:
    steps = [
        f"step {i} ({step.rule}) {step.note}".strip()
        for i, step in enumerate(checked.steps)
        if step.status == "fails"
    ]
    return "; ".join(steps)


_RELATIONS: Mapping[RelationToDerived, str] = {
    "equal": "equals the derived one",
    "weaker": "is weaker than the derived one",
    "stronger": "is stronger than the derived one",
    "differs": "differs from the derived one",
    "undecided": "could not be compared with the derived one",
}


def _message(
    checked: DerivationResult, relation: RelationToDerived, certificate: Certificate
) -> str:
    if failing := _failing(checked):
        return f"fails: {failing}"
    if certificate.data is None and not checked.complete:
        return f"not complete: {certificate.reason}"
    return f"the derivation is complete; the printed side {_RELATIONS[relation]}"


def changed_printed_side(
    statement: Statement, certificate: dict[str, Any], start: Any = None
) -> ControlResult:
    """Change the printed side until the facts of a certificate do not prove it, and return the change that was needed.

    ``start``: the first expression of the derivation, used for a quantity that no record defines.
    """
    from dpverify.symbolic.automatic.proofs import also_proves

    for number, (fault, changed) in enumerate(_faults(statement)):
        if not also_proves(certificate, changed, start):
            return ControlResult(
                name="printed moved",
                fault=fault,
                at_declared_size=number < 2,
                refuted=True,
            )
    return ControlResult(
        name="printed moved", fault="every fault", at_declared_size=True, refuted=False
    )


def _faults(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """Yield statements with wrong printed sides.

    A factor does not change a printed side that is 0. Therefore the last statement has a shifted printed side, or one
    that is reflected at the left side.
    """
    for factor in FACTORS:
        yield from moves(statement, factor)
    if statement.relation == "=":
        yield "printed + 1/100", moved_side(statement, "+", Fraction(1, 100))
    elif statement.lhs is not None:
        left = to_text(statement.lhs)
        yield (
            "2*left - printed",
            Planted("turned", rhs=f"2*({left}) - printed").statement(statement),
        )


NAME = "derivation"
"""Name of the check, also used for derivations written in Python. A statement has only one of the two."""


def from_text(statement: Statement) -> Derivation:
    """Build the derivation of a statement's proof in ``proofs.toml``. A `ProofError` names the faulty line."""
    from dpverify.symbolic.elaborate.proofs import derivation_of

    return derivation_of(statement)


def from_lemma(name: str) -> Build:
    """Return a function that builds the derivation of a lemma of ``proofs.toml`` for a statement of its paper."""

    def build(statement: Statement) -> Derivation:
        from dpverify.symbolic.elaborate.proofs import lemma_of

        return lemma_of(statement, name)

    return build


def has_text(statement: Statement) -> bool:
    """Return whether ``proofs.toml`` has a proof of a statement."""
    return statement.proofs is not None and statement.proofs.find(statement) is not None


@dataclass(frozen=True)
class TextProof(DerivationCheck):
    """Check the proof of a statement in ``proofs.toml``."""

    build: Build = field(default=from_text, kw_only=True)

    def can_judge(self, statement: Statement) -> bool:
        """Return whether the statement has a proof in ``proofs.toml`` and a formula as its right side."""
        return has_text(statement) and super().can_judge(statement)
