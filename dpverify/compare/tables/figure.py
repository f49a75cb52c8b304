"""The figure of an experiment on a data set: objective and gradient norm over passes, as in Figures 1 and 2."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.compare.tables.records import DataTable, MethodRow
from dpverify.compare.tables.settings import DELTA, EPSILONS
from dpverify.report import style
from dpverify.report.numbers import show_float

HEIGHT = 5.4
# margins in inches
LEFT = 0.7
RIGHT = 0.15
TOP = 0.85
BOTTOM = 0.8
GAP = 0.7
ROOM = 0.45
COLORS = {
    "dp-gd": style.GREEN,
    "dp-agd": style.ORANGE,
    "rrpsgd": style.GREY,
    "dp-sgd": style.SKY,
    "dp-srm": style.VERMILLION,
    "ddp-srm": style.BLUE,
}


def draw(table: DataTable, noise: str) -> Figure:
    """Draw two by two panels: a row for each measure, a column for each epsilon."""
    figure = Figure(figsize=(style.WIDTH, HEIGHT))
    width = (style.WIDTH - LEFT - RIGHT - GAP) / 2
    tall = (HEIGHT - TOP - BOTTOM - ROOM) / 2
    for place in range(4):
        row, column = divmod(place, 2)
        left = LEFT + column * (width + GAP)
        bottom = BOTTOM + (1 - row) * (tall + ROOM)
        axes = figure.add_axes((left / style.WIDTH, bottom / HEIGHT, width / style.WIDTH, tall / HEIGHT))
        rows = [one for one in table.rows if (one.noise, one.epsilon) == (noise, EPSILONS[column])]
        _panel(axes, rows, 1 + row)
        axes.set_title(f"ε = {show_float(EPSILONS[column])}" if row == 0 else "", fontsize=9.0, fontweight="normal")
        axes.set_ylabel(("objective", "gradient norm")[row])
        axes.set_xlabel("passes over the data" if row else "")
    names = dict(zip(COLORS, figure.axes[0].lines, strict=False))
    figure.legend(names.values(), list(names), loc="lower center", ncols=len(names), frameon=False, fontsize=8.5)
    x = 0.12 / style.WIDTH
    figure.text(x, 1 - 0.2 / HEIGHT, f"Methods of wang2019 on {table.name}", fontsize=10.5, fontweight="bold")
    words = f"n = {table.n}, d = {table.d}; noise as {noise} at δ = {show_float(DELTA)}; means over seeds"
    figure.text(x, 1 - 0.42 / HEIGHT, words, fontsize=8.5, color=style.GREY)
    return figure


def _panel(axes: Axes, rows: list[MethodRow], column: int) -> None:
    """Draw a measure of each method from its first look on: passes are on a logarithmic axis."""
    for name, color in COLORS.items():
        (row,) = (candidate for candidate in rows if candidate.method == name)
        mean = np.mean([run.path[1:] for run in row.runs], axis=0)
        axes.plot(mean[:, 0], mean[:, column], color=color, linewidth=1.5, marker=".", markersize=4)
    low, high = axes.dataLim.x0, axes.dataLim.x1
    style.log_scale(axes, "x", 0.9 * low, 1.1 * high)


def svg(table: DataTable, noise: str) -> bytes:
    """Draw it as SVG, the same bytes for the same numbers."""
    return style.to_svg(lambda: draw(table, noise), f"Objective and gradient norm on {table.name}")
