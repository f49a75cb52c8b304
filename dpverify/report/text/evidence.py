"""All that is recorded as evidence for a claim, reading by reading; what readings have in common is shown once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.ledger.records import SEVERITIES
from dpverify.ledger.results import AmendmentResult, CheckResult, Result
from dpverify.report.collect import derivations
from dpverify.report.counterexamples import KINDS, example_words, side_names, telling
from dpverify.report.numbers import show_count, show_float, show_slack
from dpverify.report.text.formulas import formula_text, prose_text
from dpverify.report.text.statement import statement_text
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


def evidence_lines(results: Sequence[Result], *, recorded: bool) -> Iterator[tuple[str, list[str]]]:
    """Return a title and the lines of each reading; lines that an earlier reading has are counted only."""
    earlier_lines: set[str] = set()
    for result in results:
        reading = reading_words(result.reading)
        verdict = f"{MARKS[result.status]} {status_words(result.status, result.severity)}"
        title = "Evidence of a stored run" if recorded else "Pinned verdict"
        lines = [line for line in _lines(result) if line]
        new = [line for line in lines if line not in earlier_lines]
        common = len(lines) - len(new)
        earlier_lines.update(lines)
        repeated = [f"and {plural(common, 'line')} as of the readings above"] if common else []
        yield f"{title}: {verdict}{f' ({reading})' if reading else ''}", [*new, *repeated]


def _lines(result: Result) -> Iterator[str]:
    yield prose_text(result.reason)
    yield f"{result.severity}: {SEVERITIES[result.severity]}" if result.severity else ""
    yield from (f"given: {prose_text(premise)}" for premise in result.given)
    yield from (f"by definition: {prose_text(definition)}" for definition in result.definitions)
    yield pin_words(result)
    yield from (f"finding: {prose_text(finding)}" for finding in result.findings)
    names = side_names(result, formula_text)
    yield from (f"{KINDS[example.kind]}: {example_words(example, names)}" for example in telling(result))
    yield f"slack (smallest / typical): {slack}" if (slack := show_slack(result.slack)) else ""
    yield from _derived(result)
    yield from map(_check, result.checks)
    for statement, word in ((result.holds, "held"), (result.amendment, "corrected")):
        if statement is not None:
            yield from _amended(statement, word)


def _derived(result: Result) -> Iterator[str]:
    for derivation in derivations(result):
        state = "complete" if derivation.complete else "not complete"
        steps = (
            f"{prose_text(step.relation)} {formula_text(step.expression)} ({prose_text(step.rule)}; {step.status})"
            for step in derivation.steps
        )
        yield f"derivation {derivation.name} ({derivation.whose}): {plural(len(derivation.steps), 'step')}, {state}"
        yield from steps
    if result.relation_to_derived:
        yield RELATIONS_TO_DERIVED[result.relation_to_derived]


def _check(check: CheckResult) -> str:
    facts = [
        f"n = {show_count(check.n)}" if check.n else "",
        f"alpha = {show_float(check.alpha, 2)}" if check.alpha else "",
        f"power {show_float(check.power)}" if check.power else "",
        f"must see {check.detects}" if check.detects else "",
        check.message,
    ]
    detected = sum(control.refuted for control in check.controls)
    controls = f"{detected} of {len(check.controls)} planted faults seen" if check.controls else ""
    spared = sum(not neighbour.refuted for neighbour in check.true_neighbours)
    neighbours = f"{spared} of {len(check.true_neighbours)} true neighbours not refuted"
    region = f"where it looked: {check.region}" if check.region else ""
    parts = [*facts, prose_text(region), controls, neighbours if check.true_neighbours else ""]
    details = "; ".join(filter(None, parts))
    return f"check {check.name} ({METHODS[check.method]}): {check.status}{f'; {details}' if details else ''}"


def _amended(amendment: AmendmentResult, word: str) -> Iterator[str]:
    status = "" if amendment.only_restates else f" ({amendment.status})"
    yield f"{prose_text(instead_words(amendment))}{status}: {prose_text(amendment.why)}"
    yield from statement_text(amendment.display)
    yield from (f"by definition: {prose_text(definition)}" for definition in amendment.definitions)
    if slack := show_slack(amendment.slack):
        yield f"its slack (smallest / typical): {slack}"
    yield from (f"{word}, {_check(check)}" for check in amendment.checks)
