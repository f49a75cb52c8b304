"""The evidence for each reading of a claim: its recorded verdict, or the results of a stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.ledger.check_results import AmendmentResult, CheckResult
from dpverify.ledger.claims import ClaimSpec, Line, display
from dpverify.ledger.formula import to_text
from dpverify.ledger.records import SEVERITIES, Amendment, Regime, Verdict
from dpverify.ledger.results import Result
from dpverify.ledger.statements import Variant
from dpverify.report.collect import derivations
from dpverify.report.counterexamples import (
    SENTENCES,
    example_words,
    informative,
    side_names,
)
from dpverify.report.numbers import show_count, show_float, show_slack
from dpverify.report.text.formulas import formula_text, prose_text, statement_text
from dpverify.report.words import (
    MARKS,
    METHODS,
    RELATIONS_TO_DERIVED,
    instead_words,
    pin_words,
    plural,
    reading_words,
    status_words,
)


def pinned_results(spec: ClaimSpec) -> list[Result]:
    """Return one result per choice of readings, filled from our recorded verdict and without evidence."""
    return [_result(spec, reading) for reading in spec.readings()]


def _result(spec: ClaimSpec, reading: dict[str, str]) -> Result:
    claim = spec.record
    verdict = spec.verdict(reading) or Verdict(
        claim=claim.id, status="untested", reason="No verdict is recorded."
    )
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
        reported=verdict.reported,
        amendment=_amendment_result(spec, reading, verdict.amendment, "amended")
        if verdict.amendment
        else None,
        holds=_amendment_result(spec, reading, verdict.holds, "held")
        if verdict.holds
        else None,
    )


def _amendment_result(
    spec: ClaimSpec,
    reading: dict[str, str],
    recorded: Amendment | Regime,
    variant: Variant,
) -> AmendmentResult:
    statement = spec.statement(reading, variant)
    own_conditions = len(spec.statement(reading).requires)
    lines = display(statement)
    if isinstance(recorded, Regime):
        conditions = [
            to_text(condition) for condition in statement.requires[own_conditions:]
        ]
        return AmendmentResult(
            status=recorded.status,
            display=lines,
            holds_for=conditions,
            why=recorded.why,
        )
    return AmendmentResult(
        formula=recorded.formula,
        statement=recorded.statement,
        display=lines,
        status=recorded.status,
        corrects=recorded.corrects,
        only_restates=recorded.only_restates,
        why=recorded.why,
    )


def evidence_lines(
    results: Sequence[Result], *, recorded: bool
) -> Iterator[tuple[str, list[str]]]:
    """Yield a title and the lines of each reading. Lines that an earlier reading has are only counted."""
    earlier_lines: set[str] = set()
    for result in results:
        reading = reading_words(result.reading)
        verdict = (
            f"{MARKS[result.status]} {status_words(result.status, result.severity)}"
        )
        title = "Evidence of a stored run" if recorded else "Pinned verdict"
        lines = [line for line in _lines(result) if line]
        new = [line for line in lines if line not in earlier_lines]
        common = len(lines) - len(new)
        earlier_lines.update(lines)
        repeated = (
            [f"{plural(common, 'more line')} as for the readings above."]
            if common
            else []
        )
        yield (
            f"{title}: {verdict}{f' ({reading})' if reading else ''}",
            [*new, *repeated],
        )


def _lines(result: Result) -> Iterator[str]:
    yield prose_text(result.reason)
    yield (
        f"Severity {result.severity}: {SEVERITIES[result.severity]}"
        if result.severity
        else ""
    )
    yield from (
        f"Premise that is not proved: {prose_text(premise)}" for premise in result.given
    )
    yield from (
        f"By definition: {prose_text(definition)}" for definition in result.definitions
    )
    pin = pin_words(result)
    yield (
        "The pinned verdict is confirmed."
        if pin == "as pinned"
        else f"{pin[:1].upper()}{pin[1:]}"
    )
    yield f"Reported before: {prose_text(result.reported)}" if result.reported else ""
    yield from (f"Finding: {prose_text(finding)}" for finding in result.findings)
    names = side_names(result, formula_text)
    yield from (
        f"{SENTENCES[example.kind]}: {example_words(example, names)}"
        for example in informative(result)
    )
    yield _slack(result)
    yield from _derived(result)
    yield from (_check(check, "", result.display) for check in result.checks)
    for statement, variant in (
        (result.holds, " of the statement where it holds"),
        (result.amendment, " of the corrected statement"),
    ):
        if statement is not None:
            yield from _amended(statement, variant)


def _slack(source: Result | AmendmentResult) -> str:
    slack = show_slack(source.slack)
    return (
        f"Slack (bound over exact value, smallest / typical): {slack}" if slack else ""
    )


def _derived(result: Result) -> Iterator[str]:
    for derivation in derivations(result):
        state = "complete" if derivation.complete else "not complete"
        steps = (
            f"{prose_text(step.relation)} {formula_text(step.expression)} ({prose_text(step.rule)}; {step.status})"
            for step in derivation.steps
        )
        yield f"Derivation {derivation.name} ({derivation.whose}): {plural(len(derivation.steps), 'step')}, {state}"
        yield from steps
    if result.relation_to_derived:
        yield RELATIONS_TO_DERIVED[result.relation_to_derived]


def _check(check: CheckResult, variant: str, display: Sequence[Line]) -> str:
    """Return a check as short labelled sentences."""
    counted = check.message.startswith(f"{check.n} points")
    facts = [
        f"n = {show_count(check.n)}" if check.n and not counted else "",
        f"alpha = {show_float(check.alpha, 2)}" if check.alpha else "",
        f"power {show_float(check.power)}" if check.power else "",
    ]
    detected = sum(control.refuted for control in check.controls)
    accepted = sum(not neighbour.refuted for neighbour in check.true_neighbours)
    sentences = {
        "Result": check.message,
        "Built to detect": check.detects,
        "Tried on": prose_text(_region(check.region, display)),
        "Sample": ", ".join(filter(None, facts)),
        "Planted faults detected": f"{detected} of {len(check.controls)}"
        if check.controls
        else "",
        "Similar true statements accepted": f"{accepted} of {len(check.true_neighbours)}"
        if accepted
        else "",
    }
    details = "".join(
        f" {label}: {text.rstrip('.')}." for label, text in sentences.items() if text
    )
    return f"Check {check.name}{variant} ({METHODS[check.method]}): {check.status}.{details}"


def _region(region: str, display: Sequence[Line]) -> str:
    """Return the region of a check without the domains and conditions of its statement, which are shown above."""
    domains = {
        line.text.replace(" ", ": ", 1) for line in display if line.word == "where"
    }
    conditions = {line.text for line in display if line.word == "if"}
    parts = region.split("; ") if region else []
    new = [part for part in parts if part not in domains and part not in conditions]
    return "; ".join(
        new if len(new) == len(parts) else ["the domain of the statement", *new]
    )


def _amended(amendment: AmendmentResult, variant: str) -> Iterator[str]:
    status = "" if amendment.only_restates else f" ({amendment.status})"
    words = prose_text(instead_words(amendment))
    yield f"{words[:1].upper()}{words[1:]}{status}: {prose_text(amendment.why)}"
    yield from statement_text(amendment.display)
    yield from (
        f"By definition: {prose_text(definition)}"
        for definition in amendment.definitions
    )
    yield _slack(amendment)
    yield from (_check(check, variant, amendment.display) for check in amendment.checks)
