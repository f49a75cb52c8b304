"""The figure of an experiment with networks: errors over iterations, a row for each part, a column for each epsilon."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpverify.compare.networks.records import NetworkRow, NetworkTable
from dpverify.report import style
from dpverify.report.numbers import show_float

COLORS = (style.SKY, style.VERMILLION, style.GREEN, style.ORANGE, style.BLUE, style.GREY, style.BLACK)
# inches
HEIGHT = 4.6
LEFT = 0.62
RIGHT = 0.12
TOP = 0.8
BOTTOM = 0.8


def draw(table: NetworkTable) -> Figure:
    """Draw the means over seeds, with the range of the seeds."""
    figure = Figure(figsize=(style.WIDTH, HEIGHT))
    epsilons = list(dict.fromkeys(row.epsilon for row in table.rows if row.epsilon is not None))
    methods = list(dict.fromkeys(row.method for row in table.rows))
    sides = {"left": LEFT / style.WIDTH, "right": 1 - RIGHT / style.WIDTH}
    inner = sides | {"bottom": BOTTOM / HEIGHT, "top": 1 - TOP / HEIGHT}
    panels = figure.subplots(2, len(epsilons), sharex="col", sharey="row", squeeze=False, gridspec_kw=inner)
    lines = dict[str, Line2D]()
    for column, epsilon in enumerate(epsilons):
        for place, axes in enumerate(panels[:, column]):
            for row in (row for row in table.rows if row.epsilon in (epsilon, None)):
                lines[row.method] = _line(axes, row, 1 + place, methods.index(row.method))
        panels[0, column].set_title(f"ε = {show_float(epsilon)}", fontsize=9.0, fontweight="normal")
        panels[1, column].set_xlabel("iterations")
    panels[0, 0].set_ylabel("training error")
    panels[1, 0].set_ylabel("test error")
    figure.legend(lines.values(), list(lines), loc="lower center", ncols=4, frameon=False, fontsize=8.5)
    x = 0.12 / style.WIDTH
    figure.text(x, 1 - 0.2 / HEIGHT, f"{table.network} on {table.data}", fontsize=10.5, fontweight="bold")
    words = f"n = {table.n}, d = {table.d}; means over seeds, with their range"
    figure.text(x, 1 - 0.42 / HEIGHT, words, fontsize=8.5, color=style.GREY)
    return figure


def _line(axes: Axes, row: NetworkRow, column: int, place: int) -> Line2D:
    paths = np.array([run.path for run in row.runs])
    color = COLORS[place % len(COLORS)]
    dash = "-" if place < len(COLORS) else "--"
    steps = paths[0, :, 0]
    errors = paths[:, :, column]
    axes.fill_between(steps, errors.min(axis=0), errors.max(axis=0), color=color, alpha=0.2, linewidth=0)
    return axes.plot(steps, errors.mean(axis=0), color=color, linestyle=dash, linewidth=1.5)[0]


def svg(table: NetworkTable) -> bytes:
    """Draw it as SVG, the same bytes for the same numbers."""
    return style.to_svg(lambda: draw(table), f"Errors over iterations, {table.network} on {table.data}")
