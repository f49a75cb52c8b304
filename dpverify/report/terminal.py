"""Print a run: tables by status in a terminal, plain lines for other programs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpverify.ledger.check_results import CheckResult, Counterexample
from dpverify.ledger.records import HOLDS, Status
from dpverify.ledger.results import Result, Run, lost_proofs
from dpverify.report.collect import is_vacuous, run_false_alarm
from dpverify.report.counterexamples import (
    example_words,
    informative,
    meaning_words,
    side_names,
)
from dpverify.report.numbers import show_slack
from dpverify.report.text.console import STYLES, mark, name_cell, readable, table
from dpverify.report.text.formulas import prose_text
from dpverify.report.words import (
    by_severity,
    counts,
    counts_words,
    false_alarm_line,
    instead_words,
    item_id,
    pin_words,
    plural,
    severities_words,
    with_status,
)

STATUS_ORDER: tuple[Status, ...] = ("untested", *HOLDS, "inconclusive", "refuted")
"""Groups from top to bottom: the most important group is next to the prompt."""

# shown instead of the status of a claim that an interrupted run did not reach
NOT_REACHED = "not reached"

# in narrower terminals, reasons are printed below
# the claims instead of in a table's last column
NARROW = 72


def print_run(
    run: Run, console: Console, listed: Container[Status] = STATUS_ORDER
) -> None:
    """Print the verdicts of a run with the statuses `listed`, grouped by status, and then the closing lines.

    Our notes form separate groups before the groups of the claims.
    """
    groups = [
        (
            status,
            is_note,
            [
                r
                for r in run.results
                if r.status == status and r.is_note == is_note and not r.is_unreached
            ],
        )
        for is_note in (True, False)
        for status in STATUS_ORDER
        if status in listed
    ]
    unreached = (
        [r for r in run.results if r.is_unreached] if "inconclusive" in listed else []
    )
    if not console.is_terminal:
        judged = [result for _, _, results in groups for result in results]
        for line in [*_plain([*unreached, *judged]), *closing(run, listed)]:
            console.print(
                readable(line, console),
                markup=False,
                highlight=False,
                emoji=False,
                soft_wrap=True,
            )
        return
    if unreached:
        console.print(
            Text(
                f"{NOT_REACHED} ({len(unreached)}): {', '.join(map(item_id, unreached))}",
                style="dim",
            )
        )
        console.print()
    for status, is_note, results in groups:
        if results:
            whose = ", our notes" if is_note else ""
            console.print(
                Text(
                    f"{mark(status, console)} {status}{whose} ({len(results)})",
                    style=STYLES[status],
                )
            )
            console.print(
                _table(results, console)
                if console.width >= NARROW
                else _stack(results, console)
            )
            console.print()
    for line in closing(run, listed):
        console.print(Text(readable(line, console)))


def closing(run: Run, listed: Container[Status] = STATUS_ORDER) -> Iterator[str]:
    """Yield the last lines: totals, problems, the bound on false alarms, reused results, and further options."""
    results = run.results
    claims, notes = (
        [r for r in results if r.is_note == is_own] for is_own in (False, True)
    )
    if claims or not notes:
        yield f"{_counted(claims, 'claim')}.{_severities(claims)}"
    if notes:
        yield f"Our own notes, counted apart: {_counted(notes, 'note')}."
    for result in results:
        if result.sources_disagree:
            yield from _disagreements(result)
        if result.contradicts:
            verdict = f"{result.status}{_first_counterexample(result, listed)}"
            yield f"CONTRADICTS ITS PIN: {item_id(result)}: pinned {result.pinned}, found {verdict}."
        if result.unpinned:
            verdict = f"{result.status}{_first_counterexample(result, listed)}"
            yield f"WITHOUT A PIN: {item_id(result)}: {verdict}. A verdict in verdicts.toml pins it."
        for missed in result.missed_faults:
            yield f"MISSED ITS PLANTED FAULT: {item_id(result)}: {missed}."
        for form in result.loosened:
            variant, _, slack = form.partition(": ")
            yield f"NO LONGER TIGHT: {item_id(result)}: the {variant} statement has slack {slack}; its verdict says 1."
        for lost in lost_proofs(result):
            yield f"NO LONGER PROVED: {item_id(result)}: {lost}."
        if result.misjudged:
            yield f"WRONG SEVERITY: {item_id(result)}, pinned as {result.severity}: {result.misjudged}."
    yield f"{_confirmed(results)} {false_alarm_line(run_false_alarm(run))}"
    yield from _recorded(results)
    if reused := run.run.from_store:
        yield f"{plural(reused, 'check')} reused from an earlier run of the same code; --fresh runs all again."
    if standing := sum(result.earlier > 0 for result in results):
        yield f"{plural(standing, 'verdict')} of earlier runs stand: nothing that they rest on has changed."
    if stale := run.run.stale_in_store:
        changed = "record, code, versions or the recorded run have changed"
        yield f"Earlier results of {plural(stale, 'check')} are stale: {changed}."
    if any(result.status not in listed for result in results):
        yield "More: --refuted or --verbose lists verdicts, --report DIR writes pages, explain CLAIM explains one."
    if run.run.interrupted:
        yield "Interrupted: these are the results so far."


def _disagreements(result: Result) -> Iterator[str]:
    """Yield a line for each disagreement of our sources."""
    texts = [disagreement.text for disagreement in result.disagreements] or [
        result.reason
    ]
    for text in texts:
        yield f"SOURCES DISAGREE: {item_id(result)}: {text}"


def _recorded(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line on how the checks that were taken from the recorded run were confirmed."""
    recorded_checks = [
        check
        for result in results
        for check in result.all_checks
        if check.by_certificate
    ]
    derivations = sum(check.method == "derivation" for check in recorded_checks)
    refutations = sum(check.status == "refuted" for check in recorded_checks)
    words = (
        [f"only the certificates of {plural(derivations, 'derivation')} were checked"]
        if derivations
        else []
    )
    words += (
        [
            f"only the counterexamples of {plural(refutations, 'refutation')} were evaluated"
        ]
        if refutations
        else []
    )
    if words:
        text = ", ".join(words)
        yield f"{text[0].upper()}{text[1:]}, which are unchanged since the recorded run; --fresh repeats everything."


def _counted(results: Sequence[Result], noun: str) -> str:
    judged = [result for result in results if not result.is_unreached]
    missing = len(results) - len(judged)
    counts_text = counts_words(counts(result.status for result in judged))
    totals = f"{plural(len(judged), 'verdict')} on {plural(len({r.claim for r in judged}), noun)}: {counts_text}"
    return f"{totals}; {missing} {NOT_REACHED}" if missing else totals


def _severities(results: Sequence[Result]) -> str:
    """Return the number of refuted claims by severity, and the ids of those with severity privacy."""
    worst = ", ".join(by_severity(results).get("privacy", ()))
    names = f" Severity privacy: {worst}." if worst else ""
    severity_text = severities_words(results)
    return (
        f" Refuted claims by severity: {severity_text}.{names}" if severity_text else ""
    )


def _confirmed(results: Sequence[Result]) -> str:
    """Compare the verdicts with the recorded ones in one sentence."""
    against = sum(result.contradicts for result in results)
    weak = sum("unconfirmed" in pin_words(result) for result in results)
    differing = sum(result.sources_disagree for result in results)
    sentence = (
        f"{plural(against, 'pinned verdict')} contradicted"
        if against
        else "No pinned verdict is contradicted"
    )
    if differing:  # the correct source may contradict the recorded verdict
        undecided = (
            f"Our sources disagree in {plural(differing, 'verdict')}, so nothing is "
            "decided about the pins there"
        )
        remainder = (
            f"{plural(against, 'pinned verdict')} contradicted"
            if against
            else "no other pin is contradicted"
        )
        sentence = f"{undecided}; {remainder}"
    if weak:
        sentence += f", {weak} unconfirmed at this budget"
    unpinned = sum(result.unpinned for result in results)
    if unpinned:
        sentence += f"; {plural(unpinned, 'verdict')} to be recorded"
    return f"{sentence}."


def _first_counterexample(result: Result, listed: Container[str]) -> str:
    """Return the first counterexample of a refuted claim; empty if the verdict is listed above."""
    examples = (
        informative(result)
        if result.status == "refuted" and result.status not in listed
        else []
    )
    return f" {_example(result, examples[0])}" if examples else ""


def _example(result: Result, example: Counterexample) -> str:
    return example_words(
        example, side_names(result), meaning=meaning_words(example, result.kind)
    )


def reason_line(result: Result) -> str:
    """Return the reason of a verdict in one line; for a refutation its first counterexample."""
    if result.status == "refuted" and (examples := informative(result)):
        return _example(result, examples[0])
    premises = (
        f"given {', '.join(result.given)}: "
        if result.given and "given" not in result.reason
        else ""
    )
    defined = (
        f" (by definition: {'; '.join(result.definitions)})"
        if result.definitions
        else ""
    )
    return premises + " ".join(result.reason.split()) + defined


def refutation_line(name: str, check_result: CheckResult, console: Console) -> Text:
    """Return a line about a refutation during the run: its counterexample, or the message of its check."""
    words = (
        example_words(check_result.counterexamples[0])
        if check_result.counterexamples
        else check_result.message
    )
    return Text(
        readable(
            f"{mark('refuted', console)} refuted so far: {name}: {words}", console
        ),
        style="bold red",
    )


def amendment_words(result: Result) -> str:
    """Return the regime and the amendment in words, each with its status; "" if there are none."""
    statements = [
        statement for statement in (result.holds, result.amendment) if statement
    ]
    return "; ".join(
        with_status(statement, instead_words(statement)) for statement in statements
    )


def _table(results: Sequence[Result], console: Console) -> Table:
    rows = [
        (
            "\n".join(name_cell(name, console.width) for name in names),
            show_slack(result.slack),
            _why(result, console),
        )
        for names, result in _same_reason(results)
    ]
    return table(("claim", "slack", "why"), rows, console, right=("slack",))


def _stack(results: Sequence[Result], console: Console) -> Group:
    """Return claims with their reasons below them, for narrow terminals."""
    lines: list[Text | Padding] = []
    for names, result in _same_reason(results):
        slack = f"  slack {room}" if (room := show_slack(result.slack)) else ""
        lines.extend(
            [
                Text("\n".join(names) + readable(slack, console)),
                Padding(_why(result, console), (0, 0, 0, 4)),
            ]
        )
    return Group(*lines)


def _same_reason(results: Sequence[Result]) -> list[tuple[list[str], Result]]:
    """Group the untested claims that have the same reason; every other result forms its own group."""
    groups: dict[str, tuple[list[str], Result]] = {}
    for result in results:
        key = result.reason if result.status == "untested" else item_id(result)
        groups.setdefault(key, ([], result))[0].append(item_id(result))
    return list(groups.values())


def _why(result: Result, console: Console) -> Text:
    notes = _notes(reason_line(result), _vacuous(result), amendment_words(result))
    text = Text(readable(prose_text(notes), console))
    if result.contradicts or result.sources_disagree:
        text.append(f"\n{_source_warning(result)}", style="bold red")
    return text


def _plain(results: Sequence[Result]) -> Iterator[str]:
    wide = max((len(item_id(result)) for result in results), default=0)
    for result in results:
        slack = f"slack {room}" if (room := show_slack(result.slack)) else ""
        notes = _notes(
            slack,
            reason_line(result),
            _vacuous(result),
            amendment_words(result),
            _source_warning(result),
        )
        status = NOT_REACHED if result.is_unreached else result.status
        yield f"{status:<12}  {item_id(result):<{wide}}  {notes}".rstrip()


def _vacuous(result: Result) -> str:
    return "vacuous" if is_vacuous(result) else ""


def _source_warning(result: Result) -> str:
    """Return a warning about a disagreement of our sources or a contradicted verdict; empty without one."""
    return (
        "sources disagree"
        if result.sources_disagree
        else pin_words(result)
        if result.contradicts
        else ""
    )


def _notes(*parts: str) -> str:
    nonempty = [part for part in parts if part]
    return "; ".join([*(part.rstrip(".") for part in nonempty[:-1]), *nonempty[-1:]])
