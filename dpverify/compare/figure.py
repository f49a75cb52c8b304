"""Figures of comparisons and of experiments: methods side by side, and curves over passes or iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpverify.compare.experiments.experiment import DELTA
from dpverify.compare.experiments.records import (
    DataTable,
    MethodRow,
    NetworkResult,
    NetworkRow,
    NetworkTable,
    TableResult,
)
from dpverify.compare.records import MEASURES, CompareResult
from dpverify.report import style
from dpverify.report.numbers import show_float

COLORS: Final = (
    style.GREY,
    style.BLUE,
    style.VERMILLION,
    style.GREEN,
    style.ORANGE,
    style.SKY,
)
TABLE_COLORS: Final = (
    style.GREEN,
    style.ORANGE,
    style.GREY,
    style.SKY,
    style.VERMILLION,
    style.BLUE,
)
NETWORK_COLORS: Final = (
    style.SKY,
    style.VERMILLION,
    style.GREEN,
    style.ORANGE,
    style.BLUE,
    style.GREY,
    style.BLACK,
)


@dataclass(frozen=True)
class Margins:
    """Height and margins of a figure in inches; ``gap`` separates columns, ``room`` separates rows."""

    height: float
    left: float
    right: float
    top: float
    bottom: float
    gap: float = 0.0
    room: float = 0.0

    def figure(self) -> Figure:
        """Return a figure without axes."""
        return Figure(figsize=(style.WIDTH, self.height))

    def place(self, figure: Figure, row: int, column: int) -> Axes:
        """Add the axes at a row and column of a 2 by 2 grid."""
        width = (style.WIDTH - self.left - self.right - self.gap) / 2
        tall = (self.height - self.top - self.bottom - self.room) / 2
        left = self.left + column * (width + self.gap)
        bottom = self.bottom + (1 - row) * (tall + self.room)
        box = (
            left / style.WIDTH,
            bottom / self.height,
            width / style.WIDTH,
            tall / self.height,
        )
        return figure.add_axes(box)

    def titles(
        self, figure: Figure, heading: str, subtitle: str, **text_options: Any
    ) -> None:
        """Write the heading and the subtitle."""
        x = 0.12 / style.WIDTH
        figure.text(
            x,
            1 - 0.2 / self.height,
            heading,
            fontsize=10.5,
            fontweight="bold",
            **text_options,
        )
        figure.text(
            x,
            1 - 0.42 / self.height,
            subtitle,
            fontsize=8.5,
            color=style.GREY,
            **text_options,
        )


SIDE_BY_SIDE: Final = Margins(5.6, 0.5, 0.15, 0.85, 0.72, 0.55, 0.5)
OVER_PASSES: Final = Margins(5.4, 0.7, 0.15, 0.85, 0.8, 0.7, 0.45)
OVER_ITERATIONS: Final = Margins(4.9, 0.62, 0.12, 0.95, 0.95)


def draw(result: CompareResult) -> Figure:
    """Draw the four measures: seeds as pale dots, the mean as a full dot, its interval as an error bar."""
    figure = SIDE_BY_SIDE.figure()
    for place, measure in enumerate(MEASURES):
        row, column = divmod(place, 2)
        _panel(
            SIDE_BY_SIDE.place(figure, row, column), result, measure, has_names=row == 1
        )
    SIDE_BY_SIDE.titles(
        figure, f"Methods compared on {result.data.name}", subtitle(result), va="center"
    )
    return figure


def _panel(axes: Axes, result: CompareResult, measure: str, *, has_names: bool) -> None:
    for place, method in enumerate(result.methods):
        color = COLORS[place % len(COLORS)]
        values = [float(getattr(outcome, measure)) for outcome in method.outcomes]
        axes.plot(
            [place - 0.22] * len(values),
            values,
            ".",
            color=color,
            alpha=0.3,
            markersize=4,
            clip_on=False,
        )
        mean_interval = method.means[measure]
        if mean_interval.low is not None and mean_interval.high is not None:
            around = [
                [mean_interval.mean - mean_interval.low],
                [mean_interval.high - mean_interval.mean],
            ]
            axes.errorbar(
                [place],
                [mean_interval.mean],
                yerr=around,
                color=color,
                linewidth=1.4,
                capsize=4,
                capthick=1.2,
            )
        axes.plot([place], [mean_interval.mean], "o", color=color, markersize=3)
    axes.set_title(HEADS[measure], fontsize=9.0, fontweight="normal", pad=6)
    names = [method.name if has_names else "" for method in result.methods]
    axes.set_xticks(range(len(result.methods)), names, rotation=40, ha="right")
    axes.tick_params(axis="x", pad=1)
    axes.set_xlim(-0.6, len(result.methods) - 0.4)
    axes.set_ylim(0, 1.06 * max(axes.dataLim.ymax, 1e-12))
    axes.grid(visible=False, axis="x")


def subtitle(result: CompareResult) -> str:
    """Return a subtitle with the sizes of the data, the number of seeds and the privacy."""
    budget = f"ε = {show_float(result.epsilon, 3)}, δ = {show_float(result.delta, 3)}"
    seeds = (
        f"{result.done} seeds: dots; mean, 95% interval"
        if result.done > 1
        else "1 seed, no interval"
    )
    uncertified = " (not certified)" if result.data.standardised else ""
    return f"N = {result.data.n}, d = {result.data.d}; {seeds}; all but nsgd at {budget}{uncertified}"


def svg(result: CompareResult) -> bytes:
    """Return the figure of a comparison as SVG; equal results give equal bytes."""
    title = f"Methods compared on {result.data.name}: gradient norm, training loss and test error"
    return style.to_svg(lambda: draw(result), title)


def draw_table(table: DataTable, noise: str) -> Figure:
    """Draw objective and gradient norm over passes, with a row per measure and a column per epsilon."""
    figure = OVER_PASSES.figure()
    rows = [row for row in table.rows if row.noise == noise]
    names = list(dict.fromkeys(row.method for row in rows))
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    for place, label in enumerate(("objective", "gradient norm")):
        for column, epsilon in enumerate(epsilons):
            axes = OVER_PASSES.place(figure, place, column)
            _curves(axes, [row for row in rows if row.epsilon == epsilon], 1 + place)
            title = "" if place else f"ε = {show_float(epsilon)}"
            axes.set_title(title, fontsize=9.0, fontweight="normal")
            axes.set_ylabel(label)
            axes.set_xlabel("passes over the data" if place else "")
    lines = figure.axes[0].lines
    figure.legend(
        lines, names, loc="lower center", ncols=len(names), frameon=False, fontsize=8.5
    )
    words = f"n = {table.n}, d = {table.d}; noise as {noise} at δ = {show_float(DELTA)}; means over seeds"
    OVER_PASSES.titles(figure, f"Methods of wang2019 on {table.name}", words)
    return figure


def _curves(axes: Axes, rows: Sequence[MethodRow], column: int) -> None:
    """Draw a measure of each method over passes, without the point at 0 passes, since the axis is logarithmic."""
    for row, color in zip(rows, TABLE_COLORS, strict=True):
        mean = np.mean([run.path[1:] for run in row.runs], axis=0)
        axes.plot(
            mean[:, 0],
            mean[:, column],
            color=color,
            linewidth=1.5,
            marker=".",
            markersize=4,
        )
    low, high = axes.dataLim.x0, axes.dataLim.x1
    style.log_scale(axes, "x", 0.9 * low, 1.1 * high)


def table_svg(table: DataTable, noise: str) -> bytes:
    """Return the figure of a table as SVG; equal results give equal bytes."""
    return style.to_svg(
        lambda: draw_table(table, noise), f"Objective and gradient norm on {table.name}"
    )


def draw_network(table: NetworkTable) -> Figure:
    """Draw training and test error over iterations: the mean over seeds and their range."""
    margins = OVER_ITERATIONS
    figure = margins.figure()
    epsilons = list(
        dict.fromkeys(row.epsilon for row in table.rows if row.epsilon is not None)
    )
    methods = list(dict.fromkeys(row.method for row in table.rows))
    sides = {
        "left": margins.left / style.WIDTH,
        "right": 1 - margins.right / style.WIDTH,
    }
    inner = sides | {
        "bottom": margins.bottom / margins.height,
        "top": 1 - margins.top / margins.height,
    }
    panels = figure.subplots(
        2, len(epsilons), sharex="col", sharey="row", squeeze=False, gridspec_kw=inner
    )
    lines = dict[str, Line2D]()
    for column, epsilon in enumerate(epsilons):
        for place, axes in enumerate(panels[:, column]):
            for row in (row for row in table.rows if row.epsilon in (epsilon, None)):
                lines[row.method] = _band(
                    axes, row, 1 + place, methods.index(row.method)
                )
        panels[0, column].set_title(
            f"ε = {show_float(epsilon)}", fontsize=9.0, fontweight="normal"
        )
        panels[1, column].set_xlabel("iterations")
    panels[0, 0].set_ylabel("training error")
    panels[1, 0].set_ylabel("test error")
    figure.legend(
        lines.values(),
        list(lines),
        loc="lower center",
        ncols=4,
        frameon=False,
        fontsize=8.5,
    )
    words = f"n = {table.n}, d = {table.d}; means over seeds, with their range"
    margins.titles(figure, f"{table.network} on {table.data}", words)
    return figure


def _band(axes: Axes, row: NetworkRow, column: int, place: int) -> Line2D:
    paths = np.array([run.path for run in row.runs])
    color = NETWORK_COLORS[place % len(NETWORK_COLORS)]
    dash = "-" if place < len(NETWORK_COLORS) else "--"
    steps = paths[0, :, 0]
    errors = paths[:, :, column]
    axes.fill_between(
        steps,
        errors.min(axis=0),
        errors.max(axis=0),
        color=color,
        alpha=0.2,
        linewidth=0,
    )
    return axes.plot(
        steps, errors.mean(axis=0), color=color, linestyle=dash, linewidth=1.5
    )[0]


def network_svg(table: NetworkTable) -> bytes:
    """Return the figure of a network's table as SVG; equal results give equal bytes."""
    return style.to_svg(
        lambda: draw_network(table),
        f"Errors over iterations, {table.network} on {table.data}",
    )


def experiment_svg(result: TableResult | NetworkResult) -> bytes:
    """Return the figure of the first table of an experiment, at the needed noise, as SVG."""
    if isinstance(result, TableResult):
        return table_svg(result.tables[0], "needed")
    return network_svg(result.tables[0])


HEADS = {
    "gradient_norm": "gradient norm, last",
    "mean_gradient_norm": "gradient norm, mean",
    "loss": "training loss",
    "test_error": "test error",
}
