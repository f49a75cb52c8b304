"""Format benchmarks as text: times, bytes, ratios with intervals, targets, and tables for a terminal.

A table shows a run or the comparison of two runs, with one line per form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Console
from rich.text import Text

from dpverify.bench.results import (
    LEVEL,
    Bench,
    BenchInfo,
    CaseRecord,
    FormRecord,
    JudgedTarget,
    MedianInterval,
    Outcome,
    SpeedChange,
    TargetRecord,
    busy,
    counted,
    judged_targets,
    ratio_of,
)
from dpverify.report.numbers import show_float
from dpverify.report.text.console import readable, table
from dpverify.report.words import plural

MARKS: dict[Outcome, str] = {
    "met": "✓ met",
    "too close to tell": "≈ too close to tell",
    "missed": "✗ **missed**",
    "not measured": "– not measured",
}

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def show_seconds(value: float) -> str:
    """Format a time in a suitable unit with three digits: ``1.23 ms``."""
    unit, name = next((scale for scale in _UNITS if value >= scale[0]), _UNITS[-1])
    return f"{three(value / unit)} {name}"


def show_bytes(value: float) -> str:
    """Format a number of bytes in a suitable unit: ``12.5 MiB``."""
    return next(
        (f"{three(value / unit)} {name}" for unit, name in _SIZES if value >= unit),
        f"{value:.0f} B",
    )


def three(value: float) -> str:
    """Format a number with three significant digits, including trailing zeros: ``1.20``, ``15.3``, ``104``."""
    if value == 0 or not math.isfinite(value):
        return show_float(value)
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return (
        show_float(value, 3)
        if digits > 6 or abs(value) >= 10**6
        else f"{value:.{digits}f}"
    )


def show_value(value: float, kind: str) -> str:
    """Format a value by the kind of its target: a ratio, an exponent, seconds or bytes."""
    if kind == "seconds":
        return show_seconds(value)
    if kind == "memory":
        return show_bytes(value)
    if kind == "ratio":
        return three(value)
    # adding 0 removes the sign of a negative zero
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def show_interval(value: MedianInterval | None, kind: str = "ratio") -> str:
    """Format median and interval: ``1.12 (1.10 to 1.15)``, or ``(1.10 to 1.15, 75%)`` if the level is below 95%."""
    if value is None:
        return ""
    if value.passes == 1:
        return f"{show_value(value.median, kind)} (one run, no interval)"
    low = show_value(value.low, kind)
    high = show_value(value.high, kind)
    unit = low.partition(" ")[2]
    if unit and unit == high.partition(" ")[2]:
        low = low.partition(" ")[0]
    level = f", {value.level:.0%}" if value.level < LEVEL else ""
    return f"{show_value(value.median, kind)} ({low} to {high}{level})"


def show_parameters(case: CaseRecord) -> str:
    """Format the parameters of a case: ``N = 1024, T = 65536``."""
    return ", ".join(
        f"{name} = {show_float(value)}" for name, value in case.parameters.items()
    )


def show_sizes(judged: JudgedTarget) -> str:
    """Format the sizes of a target; for a sweep: ``T = 10 to 1000, 3 sizes``."""
    first, *later_cases = judged.cases
    if not later_cases:
        return show_parameters(first)
    ends = (show_float(case.parameters[case.over]) for case in (first, later_cases[-1]))
    return f"{first.over} = {' to '.join(ends)}, {len(judged.cases)} sizes"


def show_target(target: TargetRecord) -> str:
    """Format the bound of a target: ``at most 1.2``, after its description if it has one."""
    bound, word = (
        (target.at_least, "at least")
        if target.at_most is None
        else (target.at_most, "at most")
    )
    requirement = f"{word} {show_bound(0.0 if bound is None else bound, target.kind)}"
    return f"{target.words} ({requirement})" if target.words else requirement


def show_bound(value: float, kind: str) -> str:
    """Format the bound of a target without trailing zeros."""
    if kind in {"seconds", "memory"}:
        number, _, unit = show_value(value, kind).partition(" ")
        return (
            f"{show_float(float(number))} {unit}"
            if number.replace(".", "").isdigit()
            else f"{number} {unit}"
        )
    return show_float(value)


def about(target: TargetRecord) -> str:
    """Return the quantity of a target: ``stream / reading``, ``exponent of the time of stream``."""
    return {
        "ratio": f"{target.form} / {target.to}",
        "seconds": f"time of {target.form}",
        "memory": f"memory added by {target.form}",
        "exponent": f"exponent of the time of {target.form}",
        "memory-exponent": f"exponent of the memory of {target.form}",
    }[target.kind]


def show_time(case: CaseRecord, form: FormRecord) -> str:
    """Format the median time per item: ``1.23 ms a step``; for a form that was not timed, return the reason."""
    middles = [median(rounds) for rounds in form.samples if rounds]
    per_item = f" a {case.item}" if case.work != 1 else ""
    return (
        show_seconds(median(middles) / case.work) + per_item
        if middles
        else form.missing
    )


def show_memory(form: FormRecord) -> str:
    """Format the peak memory: that added by a call, or that of a child process."""
    if form.peaks and not form.added:
        return show_bytes(median(form.peaks))
    return f"+{show_bytes(median(form.added))}" if form.added else ""


def warnings(info: BenchInfo) -> Iterator[str]:
    """Yield warnings about the reliability of a run."""
    if busy(info):
        at = (
            ""
            if info.others is None
            else f" ({show_float(info.others, 2)} cores on average)"
        )
        yield f"Other processes were at work on the machine{at}, which makes times and intervals larger."
    if info.interrupted:
        yield "The run was interrupted, so some of its passes are missing."
    if info.quick:
        yield f"A quick run of {info.passes} passes. Its intervals have a level of 75%, and without --quick 99%."


STYLES: dict[Outcome, str] = {
    "met": "",
    "too close to tell": "yellow",
    "missed": "bold red",
    "not measured": "dim",
}

COLUMNS = ("case", "form", "time", "ratio", "memory", "target")

CHANGES = {
    "slower": "bold red",
    "faster": "blue",
    "no difference seen": "",
    "too few passes": "dim",
}


def print_bench(bench: Bench, console: Console) -> None:
    """Print the measurements, then the growth over sweeps and the number of targets met."""
    targets = list(judged_targets(bench))
    for group in bench.groups:
        cases = [case for case in bench.cases if case.group == group]
        rows = [
            row
            for case in cases
            for row in _rows(
                case, [target for target in targets if target.cases == [case]]
            )
        ]
        _print(group, COLUMNS, rows, console)
    for line in _closing(bench, targets):
        _line(line, console)


def print_comparison(changes: Sequence[SpeedChange], console: Console) -> None:
    """Print the slower and faster forms, worst first, then the other forms."""
    rows = [
        (
            [
                f"{change.group}/{change.case}",
                f"{change.form} / {change.to}",
                change.change,
                *_sizes(change),
            ],
            CHANGES[change.change],
        )
        for change in sorted(
            changes,
            key=lambda change: (
                change.change not in {"slower", "faster"},
                -change.factor,
            ),
        )
    ]
    _print(
        "compared with the other run",
        ("case", "form", "change", "factor", "p-value"),
        rows,
        console,
    )
    change_words = [change.change for change in changes]
    few = change_words.count("too few passes")
    counts_text = ", ".join(
        f"{change_words.count(word)} {word}"
        for word in list(CHANGES)[:3]
        if word in change_words
    )
    if not change_words:
        _line("The two runs have nothing in common: nothing is watched.", console)
        return
    _line(
        f"{plural(len(change_words) - few, 'form')} compared{': ' if counts_text else ''}{counts_text}.",
        console,
    )
    if few:
        _line(
            f"{plural(few, 'form')} not watched: too few passes, so that no change of any size is seen.",
            console,
        )


def _sizes(change: SpeedChange) -> tuple[str, str]:
    factor, low, high = (
        f"{100 * (value - 1):+.1f}%".replace("-", "−")
        for value in (change.factor, change.low, change.high)
    )
    interval = "" if change.change == "too few passes" else f" ({low} to {high})"
    return f"{factor}{interval}", f"p = {show_float(change.corrected, 2)}"


def _rows(
    case: CaseRecord, targets: Sequence[JudgedTarget]
) -> Iterator[tuple[list[str], str]]:
    """Yield the cells and style of each form of a case."""
    if case.error:
        yield [case.name, "", "", "", "", f"failed: {case.error}"], "bold red"
    for form in case.forms:
        form_targets = [target for target in targets if target.target.form == form.name]
        worst = max(
            (STYLES[target.outcome] for target in form_targets),
            key=list(STYLES.values()).index,
            default="",
        )
        ratio = (
            "the limit"
            if form.role == "limit"
            else show_interval(ratio_of(case, form.name))
        )
        due = "; ".join(_target(case, target) for target in form_targets)
        cells = [
            case.name,
            form.name,
            show_time(case, form),
            ratio,
            show_memory(form),
            due,
        ]
        if form.role != "yardstick":
            yield cells, worst if form.role == "measured" else "dim"


def _target(case: CaseRecord, judged: JudgedTarget) -> str:
    target = judged.target
    value = (
        ""
        if target.kind == "ratio" and target.to == case.limit
        else f"{about(target)} "
    )
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


def _print(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str], str]],
    console: Console,
) -> None:
    """Print a table in a terminal; otherwise one line per row without empty columns, for programs."""
    if console.is_terminal and rows:
        console.print(Text(readable(title, console), style="bold"))
        styled = [
            [Text(readable(cell, console), style=style) for cell in cells]
            for cells, style in rows
        ]
        console.print(table(columns, styled, console))
        console.print()
        return
    widths = [
        max(map(len, column))
        for column in zip(*(cells for cells, _ in rows), strict=True)
    ]
    for cells, style in rows:
        line = "  ".join(
            cell.ljust(width)
            for cell, width in zip(cells, widths, strict=True)
            if width
        )
        _line(f"{title}: {line.rstrip()}", console, style)


def _line(text: str, console: Console, style: str = "") -> None:
    console.print(Text(readable(text, console)), style=style, soft_wrap=True)
