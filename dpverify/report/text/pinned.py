"""What our verdicts say of a claim, in the form of results, where no run is recorded."""

from __future__ import annotations

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.display import display
from dpverify.ledger.formula import to_text
from dpverify.ledger.records import Amendment, Regime, Verdict
from dpverify.ledger.results import AmendmentResult, Result
from dpverify.ledger.statements import Variant


def pinned_results(spec: ClaimSpec) -> list[Result]:
    """Return one result per choice of readings, with what our verdict says of it and without evidence."""
    return [_result(spec, reading) for reading in spec.readings()]


def _result(spec: ClaimSpec, reading: dict[str, str]) -> Result:
    claim = spec.record
    verdict = spec.verdict(reading) or Verdict(claim=claim.id, status="untested", reason="No verdict is recorded.")
    statement = spec.statement(reading)
    return Result(
        claim=spec.key,
        reading=reading,
        status=verdict.status,
        reason=verdict.reason,
        pinned=verdict.status,
        severity=verdict.severity,
        contradicts=False,
        sources_disagree=False,
        record_hash=spec.record_hash,
        evidence_hash="",
        kind=claim.kind,
        where=claim.where,
        quote=claim.quote,
        printed=claim.printed or "",
        latex="",
        display=display(statement),
        findings=verdict.findings,
        amendment=_beside(spec, reading, verdict.amendment, "amended") if verdict.amendment else None,
        holds=_beside(spec, reading, verdict.holds, "held") if verdict.holds else None,
    )


def _beside(
    spec: ClaimSpec, reading: dict[str, str], recorded: Amendment | Regime, variant: Variant
) -> AmendmentResult:
    statement = spec.statement(reading, variant)
    own_conditions = len(spec.statement(reading).requires)
    lines = display(statement)
    if isinstance(recorded, Regime):
        conditions = [to_text(condition) for condition in statement.requires[own_conditions:]]
        return AmendmentResult(status=recorded.status, display=lines, holds_for=conditions, why=recorded.why)
    return AmendmentResult(
        formula=recorded.formula,
        statement=recorded.statement,
        display=lines,
        status=recorded.status,
        corrects=recorded.corrects,
        only_restates=recorded.only_restates,
        why=recorded.why,
    )
