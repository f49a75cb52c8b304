"""A run of the benchmarks, and a comparison of two, in a terminal; plain lines where a program reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.report.bench.records import Bench, CaseRecord, Comparison, FormRecord, Outcome, TargetRecord, busy
from dpverify.report.bench.targets import all_targets
from dpverify.report.bench.words import about, show_interval, show_memory, show_seconds, show_sizes, show_target
from dpverify.report.numbers import show_float
from dpverify.report.terminal import readable
from dpverify.report.words import plural

STYLES: dict[Outcome, str] = {
    "met": "blue",
    "too close to tell": "yellow",
    "missed": "bold red",
    "not measured": "dim",
}

CHANGES = {"slower": "bold red", "faster": "blue", "no difference seen": "", "too few passes": "dim"}

HEADER = ("case", "form", "time", "ratio to the limit (interval)", "peak memory", "target")


def print_bench(bench: Bench, console: Console) -> None:
    """Print what was measured, then the targets that are not met.

    ``console``: where to. On a terminal it gets tables; elsewhere one line per form, columns two spaces apart.
    """
    for group in bench.groups:
        cases = [case for case in bench.cases if case.group == group]
        rows = [row for case in cases for row in _rows(case)]
        _print(group, HEADER, rows, console)
    for line in _closing(bench):
        _line(line, console)


def print_comparison(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print what became slower or faster, and which change would have been seen."""
    rows = [
        ([f"{each.group}/{each.case}", _form_name(each), *_change(each)], CHANGES[each.change])
        for each in sorted(comparisons, key=lambda each: (each.change not in {"slower", "faster"}, -each.factor))
    ]
    _print(
        "compared with the other run", ("case", "form", "", "change of the ratio (95%)", "p, corrected"), rows, console
    )
    found = [each.change for each in comparisons]
    watched = [word for word in found if word != "too few passes"]
    told = ", ".join(f"{found.count(word)} {word}" for word in CHANGES if word in watched)
    rest = len(found) - len(watched)
    if not found:
        _line("The two runs have nothing in common: nothing is watched.", console)
        return
    _line(f"{plural(len(watched), 'form')} compared{': ' if told else ''}{told}.", console)
    if rest:
        _line(
            f"{plural(rest, 'form')} not watched: too few passes, so that no change of any size would be seen.", console
        )


def _form_name(each: Comparison) -> str:
    """The form; a limit of ours is said with what it is divided by, which is no form of the case."""
    return f"{each.form} (the limit, to {each.to})" if each.of_limit else each.form


def change_words(each: Comparison) -> str:
    """A change in words: ``12% slower (95%: 8% to 17%)``, or what would have been seen."""
    interval = f"({each.level:.0%}: {_percent(each.low)} to {_percent(each.high)})"
    if each.change in {"slower", "faster"}:
        return f"{_percent(each.factor)} {interval}"
    seen = "" if each.would_see is None else f"; {_percent(each.would_see)} would have been seen"
    return f"{_percent(each.factor)} {interval}{seen}"


def _change(each: Comparison) -> list[str]:
    return [each.change, change_words(each), show_float(each.corrected, 2)]


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):+.1f}%".replace("-", "−")


def _rows(case: CaseRecord) -> Iterator[tuple[list[str], str]]:
    """Cells and style of each form of a case."""
    if case.error:
        yield [case.name, "", "", "", "", f"failed: {case.error}"], "bold red"
    for form in case.forms:
        targets = [target for target in case.targets if target.form == form.name]
        worst = max((target.outcome for target in targets), key=list(STYLES).index, default=None)
        yield (
            [
                case.name,
                form.name,
                _time(case, form),
                "the limit" if form.role == "limit" else show_interval(form.ratio),
                show_memory(form),
                "; ".join(_target(case, target) for target in targets),
            ],
            "dim" if form.role != "measured" else STYLES[worst] if worst is not None and worst != "met" else "",
        )


def _time(case: CaseRecord, form: FormRecord) -> str:
    if form.seconds is None:
        return form.missing
    return show_seconds(form.seconds.median / case.work) + (f" a {case.item}" if case.work != 1 else "")


def _target(case: CaseRecord, target: TargetRecord) -> str:
    value = "" if target.kind == "ratio" and target.to == case.limit else f"{about(target)} "
    return f"{value}{show_target(target)}: {target.outcome}"


def _closing(bench: Bench) -> Iterator[str]:
    for fit in bench.fits:
        aim = "" if fit.target is None else f"; {show_target(fit.target)}: {fit.target.outcome}"
        power = show_interval(fit.exponent, "exponent")
        grows = f"{fit.what} of {fit.form} grow as {fit.over} to the power {power}"
        yield f"{fit.group}/{fit.sweep}: {grows}, {show_sizes(fit)}{aim}"
    outcomes = [target.outcome for _, target in all_targets(bench)]
    if outcomes:
        told = ", ".join(f"{outcomes.count(word)} {word}" for word in STYLES if word in outcomes)
        yield f"{plural(len(outcomes), 'target')}: {told}."
    for info in bench.runs:
        others = "" if info.others is None else f" (they kept {show_float(info.others, 2)} cores busy)"
        if busy(info):
            yield f"WARNING: other processes were at work meanwhile{others}; times and spreads are larger for it."
        if info.interrupted:
            yield "The run was interrupted: not all of its passes are here."
        if info.quick:
            yield f"A quick run of {info.passes} passes: its intervals have a level of 75%; without --quick, 99%."


def _print(title: str, header: Sequence[str], rows: Sequence[tuple[Sequence[str], str]], console: Console) -> None:
    if not rows:
        return
    if not console.is_terminal:
        widths = [max(len(cells[place]) for cells, _ in rows) for place in range(len(header))]
        for cells, _ in rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if width)
            _line(f"{title}: {line.rstrip()}", console)
        return
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place in {2, 3} else "left", overflow="fold")
    before = ""
    for cells, style in rows:
        shown = ["" if cells[0] == before else cells[0], *cells[1:]]
        table.add_row(*(Text(readable(cell, console)) for cell in shown), style=style)
        before = cells[0]
    console.print(table)


def _line(text: str, console: Console) -> None:
    console.print(readable(text, console), markup=False, highlight=False, emoji=False, soft_wrap=True)
