"""Figures of the benchmark page: the time of one call over size, with fitted powers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dpverify.bench.report import words
from dpverify.bench.results import Bench, CaseRecord, form_of, growth, sweeps
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    VERMILLION,
    WIDTH,
    logarithmic,
    to_svg,
)

LEGEND_CHARACTERS = 64  # per line of a legend, so that it fits in its panel
LOOKS = (
    (GREY, "s"),
    (BLUE, "D"),
    (VERMILLION, "o"),
    (GREEN, "^"),
    (ORANGE, "v"),
    (SKY, "P"),
)
"""Colour and marker of each line."""

COLUMNS = 2
HEIGHT = 2.9


def figures(bench: Bench) -> dict[str, tuple[str, bytes]]:
    """Return a dict from group to the caption and content of its figure; groups without a sweep have no figure."""
    figure_of = {}
    for group in bench.groups:
        group_sweeps = sweeps(bench, group)
        if group_sweeps:
            caption = f"Time of one call over size, with fitted powers: {', '.join(group_sweeps)}."
            figure_of[group] = caption, to_svg(partial(_draw, group_sweeps), caption)
    return figure_of


def _draw(group_sweeps: Mapping[str, Sequence[CaseRecord]]) -> Figure:
    rows = -(-len(group_sweeps) // COLUMNS)
    figure = Figure(figsize=(WIDTH, HEIGHT * rows), layout="constrained")
    for place, (name, cases) in enumerate(group_sweeps.items()):
        _plot(figure.add_subplot(rows, COLUMNS, place + 1), name, cases)
    return figure


def _plot(axes: Axes, name: str, cases: Sequence[CaseRecord]) -> None:
    """Plot the median over the passes of each form and their range, with logarithmic axes."""
    over = cases[0].over
    ends = list[float]()
    sizes = [case.parameters[case.over] for case in cases]
    powers = {
        growth_of_form.form: growth_of_form.exponent
        for growth_of_form in growth(cases)
        if growth_of_form.what == "seconds"
    }
    for (form, power), (color, marker) in zip(
        powers.items(), LOOKS * len(powers), strict=False
    ):
        passes = [
            [median(rounds) for rounds in form_of(case, form).samples if rounds]
            for case in cases
        ]
        low = [min(values) for values in passes]
        high = [max(values) for values in passes]
        label = fill(
            f"{form}: power {words.show_interval(power, 'exponent')}", LEGEND_CHARACTERS
        )
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
    for words_of, pairs in cases[0].printed.items():
        axes.plot(
            *zip(*pairs, strict=True),
            "*",
            ms=9,
            mec=BLACK,
            mfc="white",
            label=f"{words_of}, another machine",
        )
        ends += [seconds for _, seconds in pairs]
        sizes = sorted({*sizes, *(size for size, _ in pairs)})
    axes.set(xscale="log", yscale="log", xlabel=over)
    bounds = (
        min(ends) / 1.6,
        max(ends)
        * 1.6
        * (max(ends) / min(ends) + 1.0)
        ** (0.12 * (len(powers) + len(cases[0].printed))),
    )  # leaves room for the legend
    logarithmic(axes.yaxis, *bounds)
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: words.show_bound(value, "seconds"))
    )
    ticks = [
        size
        for place, size in enumerate(sizes)
        if place == 0 or size > 1.05 * sizes[place - 1]
    ]
    axes.xaxis.set_ticks(ticks, [show_float(size) for size in ticks])
    axes.xaxis.set_ticks([], minor=True)
    axes.set_ylim(*bounds)
    axes.set_title(name, pad=6)
    axes.legend(loc="upper left", fontsize=6.5, frameon=False, labelspacing=0.3)
