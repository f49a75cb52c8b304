"""Combine the results of checks into the verdict on a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from msgspec.structs import replace as replace_fields

from dpverify.harness.exact_results import with_edge
from dpverify.harness.finished import contradicts
from dpverify.harness.run.status import decide_status, unproved_premises
from dpverify.ledger.check_results import (
    AmendmentResult,
    CheckResult,
    Counterexample,
    Slack,
)
from dpverify.ledger.claims import ClaimSpec, display
from dpverify.ledger.formula import to_text
from dpverify.ledger.records import HOLDS, SHOWN, Verdict
from dpverify.ledger.results import INTERRUPTED, Disagreement, Result
from dpverify.ledger.statements import Statement
from dpverify.ledger.trivial import restated_conditions

Form: TypeAlias = Literal["printed", "amended", "held"]


def disagreements(checks: Sequence[CheckResult], form: Form) -> Iterator[Disagreement]:
    """Describe how the sources disagree about one form of a claim: where, and by how much."""
    for check in checks:
        if check.kernel_disagrees:
            examples = (_example(example) for example in check.counterexamples[:1])
            details = "; ".join(
                filter(None, [check.statistic, check.message, *examples])
            )
            yield Disagreement(
                form=form,
                checks=[check.name],
                what=details,
                where=check.region,
                n=check.n,
                alpha=check.alpha,
            )
    proved = [check for check in checks if check.status in SHOWN]
    refuted = [check for check in checks if check.status == "refuted"]
    if proved and refuted:
        refutations = "; ".join(
            f"{check.name} refutes it: {_refutation(check)}" for check in refuted
        )
        for_it = ", ".join(f"{check.name} ({check.status})" for check in proved)
        names = [check.name for check in (*proved, *refuted)]
        yield Disagreement(
            form=form, checks=names, what=f"{for_it} shows it, and {refutations}"
        )


def _refutation(check: CheckResult) -> str:
    return (
        _example(check.counterexamples[0])
        if check.counterexamples
        else check.statistic or check.message
    )


def _example(example: Counterexample) -> str:
    point = ", ".join(
        f"{name}={number.exact or number.float}"
        for name, number in example.parameters.items()
    )
    left, right = (
        side.exact or f"{float(side.float):.6g}" for side in (example.lhs, example.rhs)
    )
    return f"at {point}: left {left}, right {right}{f' ({example.note})' if example.note else ''}"


def definitions(checks: Sequence[CheckResult]) -> list[str]:
    """Return the definitions that the proofs among the checks start from or cite."""
    return list(dict.fromkeys(text for check in checks for text in check.definitions))


def judge(
    claim: ClaimSpec,
    reading: dict[str, str],
    printed: Sequence[CheckResult],
    amended: Sequence[CheckResult],
    evidence_hash: str,
    held: Sequence[CheckResult] = (),
) -> Result:
    """Combine the results on one claim under one reading, and add the pinned status."""
    verdict = claim.verdict(reading)
    status, reason = decide_status(printed)
    if (
        verdict is not None
        and verdict.reason
        and (verdict.status == status or not printed)
    ):
        reason = verdict.reason
    amendment = _amendment(claim, reading, verdict, amended)
    regime = _regime_result(claim, reading, verdict, held)
    pinned = claim.pinned(reading)
    judgements = [
        judgement for judgement in (amendment, regime) if judgement is not None
    ]
    is_contradicted = contradicts(pinned, status) or any(
        contradicts(judgement.pinned, judgement.status) for judgement in judgements
    )
    slacks = [check.slack for check in printed if check.slack is not None]
    related = [
        check.relation_to_derived
        for check in printed
        if check.relation_to_derived is not None
    ]
    forms: list[tuple[Form, Sequence[CheckResult]]] = [
        ("printed", printed),
        ("amended", amended),
        ("held", held),
    ]
    differing = [
        difference
        for form, checks in forms
        for difference in disagreements(checks, form)
    ]
    record = claim.record
    statement = claim.statement(reading)
    return Result(
        claim=claim.key,
        reading=reading,
        status=status,
        witnesses=record.witnesses,
        given=unproved_premises(printed),
        definitions=definitions(printed),
        reason=reason,
        pinned=pinned,
        unpinned=pinned == "untested"
        and not (printed and all(check.message == INTERRUPTED for check in printed))
        and (
            status in {"refuted", "inconclusive"} or (status, verdict) == (pinned, None)
        ),
        severity=None if verdict is None else verdict.severity,
        tight=verdict is not None and verdict.tight,
        contradicts=is_contradicted,
        sources_disagree=bool(differing),
        disagreements=differing,
        record_hash=claim.record_hash,
        evidence_hash=evidence_hash,
        kind=record.kind,
        where=record.where,
        quote=record.quote,
        printed=record.printed
        if record.printed is not None
        else record.statement or "",
        latex=statement.latex(),
        display=display(statement),
        findings=list(verdict.findings) if verdict is not None else [],
        reported=verdict.reported if verdict is not None else "",
        derivation=[
            check.derivation for check in printed if check.derivation is not None
        ],
        relation_to_derived=related[0] if related else None,
        region="; ".join(
            f"{check.name}: {check.region}" for check in printed if check.region
        ),
        slack=sharpest(slacks),
        vacuous=next(
            (check.vacuous for check in printed if check.vacuous is not None), None
        ),
        counterexamples=[
            with_edge(example, claim.edges)
            for check in printed
            for example in check.counterexamples
        ],
        amendment=amendment,
        holds=regime,
        checks=list(printed),
    )


def sharpest(slacks: Sequence[Slack]) -> Slack | None:
    """Return the slack with the smallest minimum, or None if there is no slack."""
    return min(slacks, key=lambda slack: float(slack.min.float), default=None)


def without_proof(check: CheckResult, sides: str) -> CheckResult:
    """Weaken the result for a statement with identical sides, which holds trivially."""
    if check.status not in HOLDS:
        return check
    message = f"both sides are {sides}: identical sides prove nothing"
    return replace_fields(
        check, status="untested", message=message, given=[], references=[]
    )


def on_witnesses(check: CheckResult, witnesses: Sequence[str]) -> CheckResult:
    """Weaken the result of a check of some mechanisms for a statement about all of them."""
    if check.status not in HOLDS:
        return check
    window = f"for {' and '.join(witnesses)} only{f'; {check.window}' if check.window else ''}"
    message = f"{check.status} for {' and '.join(witnesses)} only; {check.message}"
    return replace_fields(
        check,
        status="not refuted on witnesses",
        message=message,
        window=window,
        given=[],
        references=[],
    )


def _narrowed(printed: Statement, amended: Statement) -> list[str]:
    """Return the conditions by which an amendment differs, if it changes only conditions; otherwise an empty list.

    These are the conditions that it adds, or all its conditions if it drops any.
    """
    same = replace(
        printed,
        domains=amended.domains,
        symbols=amended.symbols,
        requires=amended.requires,
    )
    if amended != replace(same, variant="amended"):
        return []
    dropped = any(condition not in amended.requires for condition in printed.requires)
    return [
        to_text(condition)
        for condition in amended.requires
        if dropped or condition not in printed.requires
    ]


def _amendment(
    claim: ClaimSpec,
    reading: dict[str, str],
    verdict: Verdict | None,
    checks: Sequence[CheckResult],
) -> AmendmentResult | None:
    if verdict is None or verdict.amendment is None:
        return None
    text = verdict.amendment
    statement = claim.statement(reading, "amended")
    printed = claim.statement(reading)
    restated = restated_conditions(statement, printed)
    narrowed = _narrowed(printed, statement)
    return AmendmentResult(
        formula=text.formula,
        statement=text.statement,
        latex=statement.latex(),
        requires=[*map(to_text, statement.requires), *(text.assumes or [])],
        display=display(statement),
        status=decide_status(checks)[0],
        given=unproved_premises(checks),
        definitions=definitions(checks),
        pinned=text.status,
        tight=text.tight,
        holds_for=[*map(to_text, restated)] or narrowed,
        corrects=text.corrects,
        only_restates=text.only_restates or bool(restated),
        why=text.why,
        slack=sharpest([check.slack for check in checks if check.slack is not None]),
        checks=list(checks),
    )


def _regime_result(
    claim: ClaimSpec,
    reading: dict[str, str],
    verdict: Verdict | None,
    checks: Sequence[CheckResult],
) -> AmendmentResult | None:
    if verdict is None or verdict.holds is None:
        return None
    statement = claim.statement(reading, "held")
    own_conditions = len(claim.statement(reading).requires)
    return AmendmentResult(
        latex=statement.latex(),
        requires=[*map(to_text, statement.requires)],
        display=display(statement),
        status=decide_status(checks)[0],
        given=unproved_premises(checks),
        definitions=definitions(checks),
        pinned=verdict.holds.status,
        holds_for=[*map(to_text, statement.requires[own_conditions:])],
        why=verdict.holds.why,
        slack=sharpest([check.slack for check in checks if check.slack is not None]),
        checks=list(checks),
    )
