"""Figures of the benchmarks: one per group, with a small plot of time over size for each of its sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dpverify.report.bench.records import Bench, CaseRecord
from dpverify.report.bench.statistics import form_of, growth, sweeps
from dpverify.report.bench.words import show_bound, show_value
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREEN, GREY, ORANGE, SKY, VERMILLION, WIDTH, logarithmic, to_svg

LOOKS = ((GREY, "s"), (BLUE, "D"), (VERMILLION, "o"), (GREEN, "^"), (ORANGE, "v"), (SKY, "P"))
"""Colour and marker of each line."""

COLUMNS, HEIGHT = 2, 2.9


def figures(bench: Bench) -> dict[str, tuple[str, bytes]]:
    """Group to what its figure says, and the figure; groups without a sweep have none."""
    found = {}
    for group in bench.groups:
        here = sweeps(bench, group)
        if here:
            caption = f"Time of one call over size, with fitted powers: {', '.join(here)}."
            found[group] = caption, to_svg(partial(_draw, here), caption)
    return found


def _draw(here: Mapping[str, Sequence[CaseRecord]]) -> Figure:
    rows = -(-len(here) // COLUMNS)
    figure = Figure(figsize=(WIDTH, HEIGHT * rows), layout="constrained")
    for place, (name, cases) in enumerate(here.items()):
        _plot(figure.add_subplot(rows, COLUMNS, place + 1), name, cases)
    return figure


def _plot(axes: Axes, name: str, cases: Sequence[CaseRecord]) -> None:
    """Median of the passes of each form, and the range of all of them, both axes logarithmic."""
    over, ends, sizes = cases[0].over, list[float](), [case.parameters[case.over] for case in cases]
    powers = {each.form: each.exponent.median for each in growth(cases) if each.what == "seconds"}
    for (form, power), (color, marker) in zip(powers.items(), LOOKS * len(powers), strict=False):
        passes = [[median(rounds) for rounds in form_of(case, form).samples if rounds] for case in cases]
        low, high = [min(values) for values in passes], [max(values) for values in passes]
        label = f"{form}: power {show_value(power, 'exponent')}"
        axes.fill_between(sizes, low, high, color=color, alpha=0.18, lw=0)
        axes.plot(
            sizes,
            [median(values) for values in passes],
            marker=marker,
            ms=4,
            mfc="white",
            mec=color,
            color=color,
            lw=1.4,
            label=label,
        )
        ends += [*low, *high]
    axes.set(xscale="log", yscale="log", xlabel=over)
    bounds = min(ends) / 1.6, max(ends) * 1.6 * (max(ends) / min(ends) + 1.0) ** (0.12 * len(powers))  # room for names
    logarithmic(axes.yaxis, *bounds)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: show_bound(value, "seconds")))
    told = [size for place, size in enumerate(sizes) if place == 0 or size > 1.05 * sizes[place - 1]]
    axes.xaxis.set_ticks(told, [show_float(size) for size in told])
    axes.xaxis.set_ticks([], minor=True)
    axes.set_ylim(*bounds)
    axes.set_title(name, pad=6)
    axes.legend(loc="upper left", fontsize=6.5, frameon=False, labelspacing=0.3)
