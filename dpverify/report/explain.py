"""All about one claim, in a terminal: the paper's words, how we read them, the verdict, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.display import Line, display
from dpverify.ledger.records import SEVERITIES, PaperInfo, Verdict
from dpverify.ledger.results import AmendmentResult, CheckResult, Result
from dpverify.report.collect import derivations
from dpverify.report.counterexamples import KINDS, example_words, telling
from dpverify.report.numbers import show_count, show_float, show_slack
from dpverify.report.statements import statement_of
from dpverify.report.terminal import STYLES, mark, readable
from dpverify.report.words import (
    METHODS,
    RELATIONS_TO_DERIVED,
    instead_words,
    kind_words,
    pin_words,
    reading_words,
    status_words,
)

WIDEST = 110  # lines of running text stop here, however wide the terminal is


@dataclass(frozen=True)
class Explained:
    """What is known of a claim."""

    paper: PaperInfo
    spec: ClaimSpec
    results: Sequence[Result] = ()  # evidence from a stored run, if any
    stale: Sequence[str] = ()  # which of it is not today's, and why


NO_RUN = "No run is recorded. Record one: dpverify verify {claim} --report FOLDER; --report FOLDER shows it here."


def print_explained(known: Explained, console: Console) -> None:
    """Print all about a claim."""
    spec, claim, symbols = known.spec, known.spec.record, known.spec.statement().symbols
    _line(console, f"{known.paper.key}:{claim.id}", "bold")
    _line(console, f"{claim.where} ({kind_words(claim.kind)}); {known.paper.title}", "dim")
    _section(console, "The paper's words", claim.quote.strip().splitlines())
    _section(console, "As a formula", _statement(display(spec.statement())))
    _section(console, "Symbols", [f"{name}: {symbol.meaning}" for name, symbol in sorted(symbols.items())])
    _section(console, "Readings", [f"{r.name} = {' | '.join(r.choices)}: {r.meaning}" for r in claim.reading])
    _section(console, "Rests on", claim.uses)
    _section(console, "Transcription", claim.transcription.strip().splitlines())
    _section(console, "Pinned verdict", [line for verdict in spec.verdicts for line in _verdict(spec, verdict)])
    _section(console, "STALE: what follows was judged before a change", known.stale)
    for result in known.results:
        _evidence(console, result)
    if not known.results:
        _section(console, "Evidence", [NO_RUN.format(claim=spec.key)])


def _statement(lines: Iterable[Line]) -> Iterator[str]:
    """A statement, but for the reading: that stands above, or beside the verdict."""
    return (f"{line}{f': {line.about}' if line.about else ''}" for line in lines if line.word != "reading")


def _verdict(spec: ClaimSpec, verdict: Verdict) -> Iterator[str]:
    reading = reading_words(verdict.reading)
    said = status_words(verdict.status, verdict.severity)
    yield f"{said}{f' ({reading})' if reading else ''}{f': {verdict.reason}' if verdict.reason else ''}"
    yield f"{verdict.severity}: {SEVERITIES[verdict.severity]}" if verdict.severity else ""
    yield from (f"finding: {finding}" for finding in verdict.findings)
    if verdict.holds is not None:
        yield f"holds for {', '.join(verdict.holds.requires)} ({verdict.holds.status}): {verdict.holds.why}"
    if verdict.amendment is not None:
        instead = "corrected" if verdict.amendment.corrects else "nothing better is known"
        instead = f"{instead} ({verdict.amendment.status})"
        if verdict.amendment.only_restates:
            instead = "no correction, a condition says what is claimed"
        yield f"{instead}: {verdict.amendment.why}"
        yield from (f"  {line}" for line in _statement(display(spec.statement(verdict.reading, "amended"))))


def _evidence(console: Console, result: Result) -> None:
    """What a stored run found for one reading."""
    reading = reading_words(result.reading)
    console.print()
    title = f"{mark(result.status, console)} {result.status}{f' ({reading})' if reading else ''}"
    _line(console, f"Evidence of a stored run: {title}", STYLES[result.status])
    pin = pin_words(result)
    lines = [f"given: {premise}" for premise in result.given]
    lines += [f"by definition: {definition}" for definition in result.definitions]
    lines += [result.reason, pin, *result.findings]
    lines += [f"{KINDS[example.kind]}: {example_words(example)}" for example in telling(result)]
    lines += [f"slack (smallest / typical): {slack}"] if (slack := show_slack(result.slack)) else []
    lines += [f"region: {result.region}"] if result.region else []
    for line in [*lines, *_derived(result), *map(_check, result.checks), *_beside(result)]:
        if line:
            _indented(console, line)


def _derived(result: Result) -> Iterator[str]:
    for derivation in derivations(result):
        state = "complete" if derivation.complete else "not complete"
        yield f"derivation {derivation.name} ({derivation.whose}): {len(derivation.steps)} steps, {state}"
        yield from (f"  {step.relation} {step.expression} ({step.rule}; {step.status})" for step in derivation.steps)
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
    seen = sum(control.refuted for control in check.controls)
    controls = f"{seen} of {len(check.controls)} planted faults seen" if check.controls else ""
    spared = sum(not neighbour.refuted for neighbour in check.true_neighbours)
    neighbours = f"{spared} of {len(check.true_neighbours)} true neighbours not refuted"
    region = f"where it looked: {check.region}" if check.region else ""
    told = "; ".join(filter(None, [*facts, region, controls, neighbours if check.true_neighbours else ""]))
    return f"check {check.name} ({METHODS[check.method]}): {check.status}{f'; {told}' if told else ''}"


def _beside(result: Result) -> Iterator[str]:
    for said, word in ((result.holds, "held"), (result.amendment, "corrected")):
        if said is not None:
            yield from _amended(said, word)


def _amended(amendment: AmendmentResult, word: str) -> Iterator[str]:
    status = "" if amendment.only_restates else f" ({amendment.status})"
    yield f"{instead_words(amendment)}{status}: {amendment.why}"
    yield from (f"  {line}" for line in map(str, statement_of(amendment)))
    yield from (f"by definition: {definition}" for definition in amendment.definitions)
    if slack := show_slack(amendment.slack):
        yield f"its slack (smallest / typical): {slack}"
    yield from (f"{word}, {_check(check)}" for check in amendment.checks)


def _section(console: Console, title: str, lines: Iterator[str] | Sequence[str]) -> None:
    body = [line for line in lines if line]
    if body:
        console.print()
        _line(console, title, "bold")
        for line in body:
            _indented(console, line)


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(readable(text, console), style=style), width=min(console.width, WIDEST))


def _indented(console: Console, text: str) -> None:
    console.print(Padding(Text(readable(text, console)), (0, 0, 0, 2)), width=min(console.width, WIDEST))
