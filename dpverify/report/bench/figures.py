"""Figures of the benchmarks: one per sweep, and one more where its memory was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Literal

from dpverify.report.bench import sweep as bench_sweep
from dpverify.report.bench.records import Bench, CaseRecord, FitRecord, FormRecord
from dpverify.report.bench.sweep import Line
from dpverify.report.bench.words import show_value
from dpverify.report.numbers import show_float
from dpverify.report.style import to_svg

What = Literal["seconds", "memory"]

UNITS: dict[What, str] = {"seconds": "time of one call", "memory": "memory added at the peak"}


@dataclass(frozen=True)
class Picture:
    """A figure of the page."""

    group: str  # what it shows
    sweep: str
    file: str  # its file in ``figures``
    caption: str  # what it says
    svg: bytes  # the picture


def pictures(bench: Bench) -> list[Picture]:
    """All figures of a run."""
    sweeps: dict[tuple[str, str], list[CaseRecord]] = {}
    for case in bench.cases:
        if case.sweep:
            sweeps.setdefault((case.group, case.sweep), []).append(case)
    found = []
    for (group, sweep), cases in sweeps.items():
        fits = [fit for fit in bench.fits if (fit.group, fit.sweep) == (group, sweep)]
        for what in ("seconds", "memory"):
            picture = _picture(group, sweep, cases, fits, "seconds" if what == "seconds" else "memory")
            if picture is not None:
                found.append(picture)
    return found


def _picture(
    group: str, sweep: str, cases: Sequence[CaseRecord], fits: Sequence[FitRecord], what: What
) -> Picture | None:
    powers = {fit.form: fit.exponent for fit in fits if fit.what == what}
    lines = list(_lines(cases, what, {name: power.median for name, power in powers.items()}))
    if not lines:
        return None
    title, over = cases[0].title, cases[0].over
    first = cases[0].parameters
    fixed = {name: value for name, value in first.items() if all(case.parameters[name] == value for case in cases)}
    subtitle = ", ".join(f"{name} = {show_float(value)}" for name, value in fixed.items())
    caption = bench_sweep.caption(
        title, over, UNITS[what], {name: (power.median, power.low, power.high) for name, power in powers.items()}
    )
    draw = partial(bench_sweep.draw, title, subtitle, over, what, UNITS[what], lines)
    end = "" if what == "seconds" else "-memory"
    return Picture(group, sweep, f"bench-{group}-{sweep}{end}.svg", caption, to_svg(draw, caption))


def _lines(cases: Sequence[CaseRecord], what: What, powers: dict[str, float]) -> Iterator[Line]:
    over = cases[0].over
    for name in dict.fromkeys(form.name for case in cases for form in case.forms):
        points = []
        for case in cases:
            form = next((each for each in case.forms if each.name == name), None)
            values = _values(form, what) if form is not None else []
            if values:
                points.append((case.parameters[over], median(values), min(values), max(values)))
        if len(points) > 1:
            sizes, middles, low, high = zip(*points, strict=True)
            grows = f"\n{over} to the power {show_value(powers[name], 'exponent')}" if name in powers else ""
            yield Line(f"{name}{grows}", sizes, middles, low, high)


def _values(form: FormRecord, what: What) -> list[float]:
    """One value a pass; what adds no memory at all is drawn as one page, which a logarithmic axis can show."""
    if what == "seconds":
        return [median(rounds) for rounds in form.samples if rounds]
    return [float(max(each, 4096)) for each in form.added]
