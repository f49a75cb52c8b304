"""A run in a terminal: tables by status where somebody looks, plain lines where a program reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.ledger.records import Status
from dpverify.ledger.results import Result, Run
from dpverify.report.collect import counterexamples, run_false_alarm
from dpverify.report.manifest import false_alarm_line
from dpverify.report.numbers import show_both, show_point, show_slack
from dpverify.report.words import ASCII_MARKS, MARKS, counts, counts_words, item_id, pin_words

ORDER: tuple[Status, ...] = ("untested", "proved", "not refuted", "inconclusive", "refuted")
"""The groups from top to bottom: what matters most ends up next to the prompt."""

STYLES: dict[Status, str] = {
    "proved": "blue",
    "not refuted": "cyan",
    "inconclusive": "yellow",
    "refuted": "bold red",
    "untested": "dim",
}


def print_run(run: Run, console: Console) -> None:
    """Print the verdicts of a run, grouped by status, then the totals.

    Parameters
    ----------
    run : Run
        The run; it may be an interrupted one.
    console : rich.console.Console
        Where to. On a terminal it gets tables as wide as the terminal; elsewhere one line per verdict, unwrapped and
        without colour, its columns two spaces apart.
    """
    groups = {status: [r for r in run.results if r.status == status] for status in ORDER}
    if console.is_terminal:
        for status, results in groups.items():
            if results:
                console.print(_table(status, results, console))
                console.print()
    else:
        for line in _plain([result for results in groups.values() for result in results]):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
    for line in closing(run):
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=not console.is_terminal)


def closing(run: Run) -> Iterator[str]:
    """The lines below the table: totals, what needs somebody's attention, the chance of a false red."""
    results = run.results
    yield f"{len(results)} verdicts: {counts_words(counts(r.status for r in results))}."
    for result in results:
        if result.sources_disagree:
            yield f"SOURCES DISAGREE: {item_id(result)}: {result.reason}"
        if result.contradicts:
            yield f"CONTRADICTS ITS PIN: {item_id(result)}: pinned {result.pinned}, found {result.status}."
    weak = sum("unconfirmed" in pin_words(result) for result in results)
    if weak:
        yield f"{weak} pinned verdicts are unconfirmed at this budget."
    yield false_alarm_line(run_false_alarm(run))
    if run.run.interrupted:
        yield "Interrupted: this is what was decided so far."


def why(result: Result) -> str:
    """The reason of a verdict in one line; a refutation shows its first counterexample."""
    if result.status == "refuted" and (examples := counterexamples(result)):
        first = examples[0]
        point = f"at {show_point(first.parameters)}: " if first.parameters else ""
        return f"{point}left {show_both(first.lhs)}, right {show_both(first.rhs)}"
    return " ".join(result.reason.split())


def mark(status: Status, console: Console) -> str:
    """The mark of a status, in letters that the console can show."""
    return (MARKS if console.encoding.lower().startswith("utf") else ASCII_MARKS)[status]


def amendment_words(result: Result) -> str:
    """The corrected statement's own status; "" where there is none."""
    return f"corrected: {result.amendment.status}" if result.amendment else ""


def _table(status: Status, results: Sequence[Result], console: Console) -> Table:
    title = Text(f"{mark(status, console)} {status} ({len(results)})", style=STYLES[status])
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
    slack = any(result.slack for result in results)
    table.add_column("claim", no_wrap=console.width >= 80, overflow="fold", ratio=None)
    if slack:
        table.add_column("slack", justify="right", no_wrap=True)
    table.add_column("why" if status != "untested" else "reason", ratio=1, overflow="fold")
    for result in results:
        cells = [Text(item_id(result)), *([Text(show_slack(result.slack))] if slack else []), _why_cell(result)]
        table.add_row(*cells)
    return table


def _why_cell(result: Result) -> Text:
    notes = [why(result), _vacuous(result), amendment_words(result)]
    text = Text("; ".join(filter(None, notes)))
    if result.contradicts or result.sources_disagree:
        loud = "sources disagree" if result.sources_disagree else pin_words(result)
        text.append(f"\n{loud}", style="bold red")
    return text


def _plain(results: Sequence[Result]) -> Iterator[str]:
    wide = max((len(item_id(result)) for result in results), default=0)
    for result in results:
        slack = f"slack {show_slack(result.slack)}" if result.slack else ""
        loud = "sources disagree" if result.sources_disagree else pin_words(result) if result.contradicts else ""
        notes = "; ".join(filter(None, [slack, why(result), _vacuous(result), amendment_words(result), loud]))
        yield f"{result.status:<12}  {item_id(result):<{wide}}  {notes}".rstrip()


def _vacuous(result: Result) -> str:
    return "vacuous" if result.vacuous is not None and result.vacuous.value else ""
