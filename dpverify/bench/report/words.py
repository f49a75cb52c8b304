"""Numbers of the benchmarks in words: times, bytes, ratios with their intervals, targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from dpverify.bench.records import BenchInfo, CaseRecord, FormRecord, TargetRecord, busy
from dpverify.bench.report.statistics import LEVEL, JudgedTarget, MedianInterval, Outcome
from dpverify.report.numbers import show_float

MARKS: dict[Outcome, str] = {
    "met": "✓ met",
    "too close to tell": "≈ too close to tell",
    "missed": "✗ **missed**",
    "not measured": "– not measured",
}

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def show_seconds(value: float) -> str:
    """A time in the unit that suits it, with three digits: ``1.23 ms``."""
    unit, name = next((scale for scale in _UNITS if value >= scale[0]), _UNITS[-1])
    return f"{three(value / unit)} {name}"


def show_bytes(value: float) -> str:
    """A number of bytes in the unit that suits it: ``12.5 MiB``."""
    return next((f"{three(value / unit)} {name}" for unit, name in _SIZES if value >= unit), f"{value:.0f} B")


def three(value: float) -> str:
    """Three significant digits, zeros at the end included, so that columns line up: ``1.20``, ``15.3``, ``104``."""
    if value == 0 or not math.isfinite(value):
        return show_float(value)
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return show_float(value, 3) if digits > 6 or abs(value) >= 10**6 else f"{value:.{digits}f}"


def show_value(value: float, kind: str) -> str:
    """A number of a target's kind: a ratio, an exponent, seconds or bytes."""
    if kind == "seconds":
        return show_seconds(value)
    if kind == "memory":
        return show_bytes(value)
    if kind == "ratio":
        return three(value)
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # adding 0 makes a negative zero a plain one


def show_interval(value: MedianInterval | None, kind: str = "ratio") -> str:
    """Median and interval: ``1.12 (1.10 to 1.15)``, or ``(1.10 to 1.15, 75%)`` where it holds the median less often."""
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
    """Sizes of a case: ``N = 1024, T = 65536``."""
    return ", ".join(f"{name} = {show_float(value)}" for name, value in case.parameters.items())


def show_sizes(judged: JudgedTarget) -> str:
    """Sizes that a target is about; of a sweep: ``T = 10 to 1000, 3 sizes``."""
    first, *later_cases = judged.cases
    if not later_cases:
        return show_parameters(first)
    ends = (show_float(case.parameters[case.over]) for case in (first, later_cases[-1]))
    return f"{first.over} = {' to '.join(ends)}, {len(judged.cases)} sizes"


def show_target(target: TargetRecord) -> str:
    """What a target asks for: ``at most 1.2``; in words too, where they say more."""
    bound, word = (target.at_least, "at least") if target.at_most is None else (target.at_most, "at most")
    requirement = f"{word} {show_bound(0.0 if bound is None else bound, target.kind)}"
    return f"{target.words} ({requirement})" if target.words else requirement


def show_bound(value: float, kind: str) -> str:
    """The bound of a target, without zeros at its end."""
    if kind in {"seconds", "memory"}:
        number, _, unit = show_value(value, kind).partition(" ")
        return f"{show_float(float(number))} {unit}" if number.replace(".", "").isdigit() else f"{number} {unit}"
    return show_float(value)


def about(target: TargetRecord) -> str:
    """What a target is about: ``stream / reading``, ``exponent of the time of stream``."""
    return {
        "ratio": f"{target.form} / {target.to}",
        "seconds": f"time of {target.form}",
        "memory": f"memory added by {target.form}",
        "exponent": f"exponent of the time of {target.form}",
        "memory-exponent": f"exponent of the memory of {target.form}",
    }[target.kind]


def show_time(case: CaseRecord, form: FormRecord) -> str:
    """Median time of an item: ``1.23 ms a step``; of a form that was not timed, why."""
    middles = [median(rounds) for rounds in form.samples if rounds]
    per_item = f" a {case.item}" if case.work != 1 else ""
    return show_seconds(median(middles) / case.work) + per_item if middles else form.missing


def show_memory(form: FormRecord) -> str:
    """Memory at the peak: what a call added, or what a child process held."""
    if form.peaks and not form.added:
        return show_bytes(median(form.peaks))
    return f"+{show_bytes(median(form.added))}" if form.added else ""


def warnings(info: BenchInfo) -> Iterator[str]:
    """What a reader should know before trusting a run."""
    if busy(info):
        at = "" if info.others is None else f" ({show_float(info.others, 2)} cores on average)"
        yield f"Other processes were at work on the machine{at}, which makes times and intervals larger."
    if info.interrupted:
        yield "The run was interrupted, so some of its passes are missing."
    if info.quick:
        yield f"A quick run of {info.passes} passes. Its intervals have a level of 75%, and without --quick 99%."
