"""A run of the benchmarks, and a comparison of two, in a terminal: one line for each form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from dpverify.bench.records import Bench, CaseRecord, SpeedChange
from dpverify.bench.report.statistics import JudgedTarget, Outcome, counted, judged_targets, ratio_of
from dpverify.bench.report.words import about, show_interval, show_memory, show_sizes, show_target, show_time, warnings
from dpverify.report.numbers import show_float
from dpverify.report.terminal import readable
from dpverify.report.text.tables import table
from dpverify.report.words import plural

STYLES: dict[Outcome, str] = {
    "met": "",
    "too close to tell": "yellow",
    "missed": "bold red",
    "not measured": "dim",
}

COLUMNS = ("case", "form", "time", "ratio", "memory", "target")

CHANGES = {"slower": "bold red", "faster": "blue", "no difference seen": "", "too few passes": "dim"}


def print_bench(bench: Bench, console: Console) -> None:
    """Print what was measured, then what grows how, and how many targets are met."""
    targets = list(judged_targets(bench))
    for group in bench.groups:
        cases = [case for case in bench.cases if case.group == group]
        rows = [row for case in cases for row in _rows(case, [target for target in targets if target.cases == [case]])]
        _print(group, COLUMNS, rows, console)
    for line in _closing(bench, targets):
        _line(line, console)


def print_comparison(changes: Sequence[SpeedChange], console: Console) -> None:
    """Print what became slower or faster, worst first, then the rest."""
    rows = [
        (
            [f"{change.group}/{change.case}", f"{change.form} / {change.to}", change.change, *_sizes(change)],
            CHANGES[change.change],
        )
        for change in sorted(changes, key=lambda change: (change.change not in {"slower", "faster"}, -change.factor))
    ]
    _print("compared with the other run", ("case", "form", "change", "factor", "p-value"), rows, console)
    change_words = [change.change for change in changes]
    few = change_words.count("too few passes")
    counts_text = ", ".join(f"{change_words.count(word)} {word}" for word in list(CHANGES)[:3] if word in change_words)
    if not change_words:
        _line("The two runs have nothing in common: nothing is watched.", console)
        return
    _line(f"{plural(len(change_words) - few, 'form')} compared{': ' if counts_text else ''}{counts_text}.", console)
    if few:
        _line(f"{plural(few, 'form')} not watched: too few passes, so that no change of any size is seen.", console)


def _sizes(change: SpeedChange) -> tuple[str, str]:
    factor, low, high = (
        f"{100 * (value - 1):+.1f}%".replace("-", "−") for value in (change.factor, change.low, change.high)
    )
    interval = "" if change.change == "too few passes" else f" ({low} to {high})"
    return f"{factor}{interval}", f"p = {show_float(change.corrected, 2)}"


def _rows(case: CaseRecord, targets: Sequence[JudgedTarget]) -> Iterator[tuple[list[str], str]]:
    """Cells and style of each form of a case."""
    if case.error:
        yield [case.name, "", "", "", "", f"failed: {case.error}"], "bold red"
    for form in case.forms:
        form_targets = [target for target in targets if target.target.form == form.name]
        worst = max((STYLES[target.outcome] for target in form_targets), key=list(STYLES.values()).index, default="")
        ratio = "the limit" if form.role == "limit" else show_interval(ratio_of(case, form.name))
        due = "; ".join(_target(case, target) for target in form_targets)
        cells = [case.name, form.name, show_time(case, form), ratio, show_memory(form), due]
        if form.role != "yardstick":
            yield cells, worst if form.role == "measured" else "dim"


def _target(case: CaseRecord, judged: JudgedTarget) -> str:
    target = judged.target
    value = "" if target.kind == "ratio" and target.to == case.limit else f"{about(target)} "
    return f"{value}{show_target(target)}: {judged.outcome}"


def _closing(bench: Bench, targets: Sequence[JudgedTarget]) -> Iterator[str]:
    for judged in targets:
        if len(judged.cases) > 1:
            where = f"{judged.cases[0].group}/{judged.cases[0].sweep}: {about(judged.target)}, {show_sizes(judged)}"
            measured = show_interval(judged.value, judged.target.kind)
            yield f"{where}: {measured}; {show_target(judged.target)}: {judged.outcome}"
    if targets:
        yield f"{plural(len(targets), 'target')}: {counted(targets, STYLES)}."
    for info in bench.runs:
        yield from warnings(info)


def _print(title: str, columns: Sequence[str], rows: Sequence[tuple[Sequence[str], str]], console: Console) -> None:
    """Print a table in a terminal; for a program one line per row, without the columns that are empty throughout."""
    if console.is_terminal and rows:
        console.print(Text(readable(title, console), style="bold"))
        styled = [[Text(readable(cell, console), style=style) for cell in cells] for cells, style in rows]
        console.print(table(columns, styled, console))
        console.print()
        return
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in rows), strict=True)]
    for cells, style in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if width)
        _line(f"{title}: {line.rstrip()}", console, style)


def _line(text: str, console: Console, style: str = "") -> None:
    console.print(Text(readable(text, console)), style=style, soft_wrap=True)
