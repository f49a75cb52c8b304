"""A derivation as a check: proved where its steps hold and its last expression implies the statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpverify.harness.checks import Check, missed_controls
from dpverify.harness.context import Context
from dpverify.harness.planted import Planted, moved_side
from dpverify.ledger.formula import free_names, parse, to_text
from dpverify.ledger.records import ORDERS, RelationToDerived, Status
from dpverify.ledger.results import IMPLIED, CheckResult, ControlResult, DerivationResult, Method
from dpverify.ledger.statements import Statement

if TYPE_CHECKING:  # sympy is slow to import, and the worker of a simulation does not need it
    from dpverify.symbolic.certify.certificates import Certificate
    from dpverify.symbolic.derive.derivation import Derivation
    from dpverify.symbolic.derive.perturb import Perturbation

Build = Callable[[Statement], "Derivation"]

LONGEST = 80  # characters of a formula among the premises
FACTORS = tuple(Fraction(text) for text in ("1.01", "1.1", "2", "10", "1000", "1e6", "1e12"))
"""How far the control moves the printed side against the derivation: 1%, or as far as its slack asks for."""


_checked: dict[tuple[str, int, int], list[tuple[Derivation, DerivationResult]]] = {}


def checked_once(chain: Derivation, points: int, seed: int) -> DerivationResult:
    """Check a cited derivation; several statements may rest on the same one."""
    from dpverify.symbolic.derive.derivation import check_derivation

    checked_chains = _checked.setdefault((chain.name, points, seed), [])
    result = next((result for checked_chain, result in checked_chains if checked_chain == chain), None)
    if result is None:
        result = check_derivation(chain, points=points, seed=seed)
        checked_chains.append((chain, result))
    return result


@dataclass(frozen=True)
class DerivationCheck(Check):
    """Check a derivation's steps and all that it cites, and compare its last expression with the statement."""

    build: Build = field(kw_only=True)  # makes the derivation for a statement
    faults: Mapping[str, Build] = field(default_factory=dict, kw_only=True)  # none of them may prove the statement

    method: ClassVar[Method] = "derivation"
    needs_engine: ClassVar[bool] = True  # whether the chains that it cites are complete by the engine alone

    def can_judge(self, statement: Statement) -> bool:
        """Whether there is a formula on the right."""
        return statement.rhs is not None

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return (0.18 + 0.0067 * context.budget.points) * (1 + len(self.faults))

    def certificate(self, statement: Statement) -> Certificate:
        """The certificate of the derivation of a statement, or why there is none."""
        from dpverify.symbolic.certify.certificates import certify

        return certify(statement, self.build(statement))

    def why_not_certified(self, context: Context, statement: Statement) -> str:
        """Why the derivation of a statement has no certificate that the checker accepts; empty where it has one."""
        from dpverify.symbolic.automatic.proofs import accepts

        if context.certificate is not None and context.certificate.checked() is not None:
            return ""
        certificate = self.certificate(statement)
        if certificate.data is None:
            return certificate.reason
        return "" if accepts(certificate.data) else "the checker refuses it"

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Check, compare and control; a step that fails is our error, or, in the paper's chain, a finding."""
        if context.proof is not None and (recorded := context.proof.checked()) is not None:
            return recorded
        from dpverify.symbolic.derive.cited import (
            definitions_used,
            derivations_under,
            referred_to,
            taken_for_granted,
            typed_by_hand,
        )
        from dpverify.symbolic.derive.conclude import compare_with
        from dpverify.symbolic.derive.define import meant_by, reworded, without_letters
        from dpverify.symbolic.derive.derivation import check_derivation

        del block
        statement = reworded(context.statement)
        points = context.budget.points
        seed = context.seed
        derivation = self.build(statement)
        checked = check_derivation(derivation, points=points, seed=seed)
        conclusion = compare_with(derivation, statement)
        relation = conclusion.relation
        cited = [chain for _, chain in derivations_under(derivation)]
        under = [checked_once(chain, points, seed) for chain in cited]
        broken = [checked_part.name for checked_part in under if not checked_part.complete]
        proves = checked.complete and relation in IMPLIED and not broken
        controls = list[ControlResult]()
        slack = list[str]()
        if proves:
            controls, slack = self._controls(context, derivation)
        missed = missed_controls(controls) if proves else ""
        premises = taken_for_granted(without_letters(derivation, meant_by(statement)))
        meaning = statement.definition(statement.quantity) if statement.quantity else None
        if statement.quantity and meaning is None:
            start = str(derivation.start)  # no record says in a formula what is measured
            start = start if len(start) < LONGEST else "what the derivation starts from"
            premises.append(f"{statement.quantity} is {start}")
        measured = [] if meaning is None else [str(meaning)]
        proof_status: Status = "proved given" if premises else "proved"
        rests = f"it cites the derivations {'; '.join(chain.name for chain in cited)}" if cited else ""
        failing = _failing(checked)
        errors = [f"our derivation {checked.name!r} fails: {failing}"] if failing and checked.whose == "ours" else []
        wrong = broken if self.needs_engine else [chain.name for chain in under if _failing(chain)]
        errors += [f"cited derivations of ours are not complete: {'; '.join(wrong)}"] if wrong else []
        claims = {claim.key for claim in statement.siblings.values()}
        if borne := sorted(claims.intersection(typed_by_hand(derivation))):
            errors.append(f"what is typed by hand bears the id of a claim, to which it must refer: {', '.join(borne)}")
        proven = proves and not missed and not errors
        if proven and (reason := self.why_not_certified(context, statement)):
            errors.append(f"our derivation {checked.name!r} has no certificate: {reason}")
            proven = False
        return self.result(
            status=proof_status if proven else "inconclusive",
            message="; ".join(filter(None, [_message(checked, relation), conclusion.reason, missed, *slack, rests])),
            error="; ".join(errors),
            n=sum(step.points for step in checked.steps),
            detects="a step that is false at a point of its domain; a printed side that does not follow",
            given=premises if proven else [],
            definitions=[*measured, *definitions_used(derivation)] if proven else [],
            references=referred_to(derivation) if proven else [],
            derivation=checked,
            relation_to_derived=relation,
            controls=controls,
        )

    def _controls(self, context: Context, derivation: Derivation) -> tuple[list[ControlResult], list[str]]:
        """Plant faults; say where a constant can be moved by 1% because a step has slack."""
        from dpverify.symbolic.derive.derivation import check_derivation, conclude
        from dpverify.symbolic.derive.perturb import spread

        controls, slack = judge_moved(spread(derivation, context.budget.perturbed), context.seed, first=1)
        results = [_moved_against(derivation, context.statement), *controls]
        for name, build in self.faults.items():
            faulty = build(context.statement)
            checked = check_derivation(faulty, points=context.budget.points, seed=context.seed)
            relation = conclude(faulty, context.statement)
            results.append(
                ControlResult(
                    name=name,
                    fault="a derivation with a planted fault",
                    at_declared_size=False,
                    refuted=not (checked.complete and relation in IMPLIED),
                    statistic=_message(checked, relation),
                )
            )
        return results, slack


def judge_moved(
    moved: Iterable[Perturbation], seed: int, *, first: int = 0, limit: int | None = None
) -> tuple[list[ControlResult], list[str]]:
    """Judge derivations with one constant moved: one that is refused is a control, one that passes has slack."""
    controls: list[ControlResult] = []
    slack: list[str] = []
    for perturbation in moved:
        refused, why = perturbation.judged(seed=seed)
        if refused:
            name = f"constant moved {first + len(controls)}"
            controls.append(
                ControlResult(name=name, fault=perturbation.fault, at_declared_size=True, refuted=True, statistic=why)
            )
        else:
            slack.append(f"with {perturbation.fault} it {why}")
        if len(controls) == limit:
            break
    return controls, slack


def _moved_against(derivation: Derivation, statement: Statement) -> ControlResult:
    """Move the printed side against the derivation until it no longer follows; say how far that was."""
    from dpverify.symbolic.derive.derivation import conclude

    relation: RelationToDerived = "undecided"
    for factor in FACTORS:
        for fault, moved in moves(statement, factor):
            relation = conclude(derivation, moved)
            if relation not in IMPLIED:
                return _moved(fault, relation, refuted=True, smallest=factor == FACTORS[0])
    return _moved(f"printed by a factor of {FACTORS[-1]}", relation, refuted=False, smallest=True)


def moves(statement: Statement, factor: Fraction) -> Iterator[tuple[str, Statement]]:
    """A right side times a number, or, of an order, times a power of one of its letters."""
    # One of the two directions is sharper, whatever the sign and the relation; the other one follows all the more.
    if statement.relation in ORDERS and statement.rhs is not None:
        for letter in sorted(free_names(statement.rhs)):
            for power in (1 - factor, factor - 1):
                rhs = parse(f"({to_text(statement.rhs)})*{letter}**({power})")
                yield f"printed*{letter}**({power})", replace(statement, rhs=rhs)
    else:
        for moved in (1 / factor, factor):
            yield f"printed*{moved}", moved_side(statement, "*", moved)


def _moved(fault: str, relation: str, *, refuted: bool, smallest: bool) -> ControlResult:
    return ControlResult(
        name="printed moved", fault=fault, at_declared_size=smallest, refuted=refuted, statistic=relation
    )


def _failing(checked: DerivationResult) -> str:
    steps = [
        f"step {i} ({step.rule}) {step.note}".strip() for i, step in enumerate(checked.steps) if step.status == "fails"
    ]
    return "; ".join(steps)


_RELATIONS: Mapping[RelationToDerived, str] = {
    "equal": "equals the derived one",
    "weaker": "is weaker than the derived one",
    "stronger": "is stronger than the derived one",
    "differs": "differs from the derived one",
    "undecided": "could not be compared with the derived one",
}


def _message(checked: DerivationResult, relation: RelationToDerived) -> str:
    if failing := _failing(checked):
        return f"fails: {failing}"
    if not checked.complete:
        open_steps = [str(i) for i, step in enumerate(checked.steps) if step.status != "proved"]
        return f"not complete: steps {', '.join(open_steps)} are not proved" if open_steps else "not complete"
    return f"the derivation is complete; the printed side {_RELATIONS[relation]}"


def printed_moved(statement: Statement, certificate: dict[str, Any], start: Any = None) -> ControlResult:
    """Move the printed side until the facts of a certificate do not prove it; say how far that was.

    ``start``: what stands for a quantity that no record defines.
    """
    from dpverify.symbolic.automatic.proofs import also_proves

    for number, (fault, moved) in enumerate(_faults(statement)):
        if not also_proves(certificate, moved, start):
            return ControlResult(name="printed moved", fault=fault, at_declared_size=number < 2, refuted=True)
    return ControlResult(name="printed moved", fault="every fault", at_declared_size=True, refuted=False)


def _faults(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """Printed sides that are wrong; where no factor changes one, it is set on the other side of the left."""
    for factor in FACTORS:
        yield from moves(statement, factor)
    if statement.relation == "=":
        yield "printed + 1/100", moved_side(statement, "+", Fraction(1, 100))
    elif statement.lhs is not None:
        left = to_text(statement.lhs)
        yield "2*left - printed", Planted("turned", rhs=f"2*({left}) - printed").statement(statement)
