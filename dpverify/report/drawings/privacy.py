"""Drawings of epsilon: the values of several runs, and the values of several noises.

- Four values of epsilon for several runs: as printed, from the proof's Renyi bound, exact, and audited from below.
- The epsilon of several noises of an algorithm at several settings: lower and upper bounds, and the requested value.
"""

from __future__ import annotations

from itertools import groupby, pairwise

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    ORANGE,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
)

# columns, colours, markers and labels, from the largest to the smallest value
LAYERS = (
    ("printed", VERMILLION, "s", "printed"),
    ("proof", ORANGE, "^", "the proof's\nRényi bound"),
    ("exact", BLUE, "o", "exact"),
    ("audited", GREEN, "D", "audited,\nlower bound"),
)

EPSILON_SHAPE = Shape(required=("x", *(name for name, *_ in LAYERS)))


def draw_epsilon(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has the numbers of the runs, and the other columns have their epsilons. An epsilon of 0, from an
    audit without a bound, is not drawn.
    """
    axes = canvas(3.6)
    x = data["x"]
    labels = []
    values = [value for name, *_ in LAYERS for value in data[name] if value > 0.0]
    low = min(values) / 1.5
    high = max(values) * 1.5
    for at in x:
        axes.axvline(at, color=LIGHT, lw=1.0, zorder=0)
    for name, color, marker, words in LAYERS:
        points = [
            (at, value) for at, value in zip(x, data[name], strict=True) if value > 0.0
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                marker=marker,
                ms=5,
                mfc="white",
                mec=color,
                mew=1.4,
                ls="none",
                zorder=3,
            )
            labels.append(EndLabel(points[-1][1], words, color, is_joined=False))
    log_scale(axes, "y", low, high)
    axes.set_xlim(min(x) - 0.5, max(x) + 0.5)
    axes.xaxis.set_ticks(x, [show_float(at) for at in x])
    title = "How much privacy a run has", data.parameters or f"{len(x)} runs"
    return finish(axes, title, ("run", "ε"), labels)


def epsilon_caption(data: Data) -> str:
    """Return the caption, with the ratios of printed and exact epsilon, and a remark if the order is violated."""
    upset = sum(
        less > larger
        for (a, *_), (b, *_) in pairwise(LAYERS)
        for larger, less in zip(data[a], data[b], strict=True)
    )
    gaps = [
        printed / exact
        for printed, exact in zip(data["printed"], data["exact"], strict=True)
        if exact > 0.0
    ]
    order = f"; the order is upset {upset} times" if upset else ""
    return (
        f"Epsilon of {len(data['x'])} runs: the printed value is {show_float(min(gaps))} to {show_float(max(gaps))} "
        f"times the exact one{order}."
    )


NOISES = (  # columns, colour, label, and horizontal offset from the tick
    ("box", VERMILLION, "the box's noise", -0.22),
    ("theorem", BLUE, "the theorem's noise", 0.0),
    ("needed", GREEN, "the least certified", 0.22),
)
BOUGHT_SHAPE = Shape(
    required=(
        "x",
        "n",
        "batch",
        "asked",
        *(f"{name}-{end}" for name, *_ in NOISES for end in ("low", "high")),
    )
)
BAR_WIDTH = 4.5  # of a bar, in points


def draw_bought(data: Data) -> Figure:
    """Draw the figure.

    In ``data``, ``x`` has the numbers 1, 2, ... of the settings, and ``n``, ``batch`` and ``asked`` have their sizes,
    batch sizes and requested epsilons. For each noise, a bar is drawn from ``-low``, an epsilon that is attained on
    some data, to ``-high``, an epsilon that holds for all data.
    """
    axes = canvas(3.9, bottom=0.95)
    labels = []
    for name, color, words, aside in NOISES:
        low = data[f"{name}-low"]
        high = data[f"{name}-high"]
        axes.vlines(
            [at + aside for at in data["x"]],
            low,
            high,
            color=color,
            lw=BAR_WIDTH,
            zorder=3,
        )
        labels.append(
            EndLabel((low[-1] * high[-1]) ** 0.5, words, color, is_joined=False)
        )
    groups = [
        list(rows)
        for _, rows in groupby(
            range(len(data["x"])), lambda at: (data["n"][at], data["asked"][at])
        )
    ]
    for rows in groups:
        first = data["x"][rows[0]]
        last = data["x"][rows[-1]]
        requested = data["asked"][rows[0]]
        axes.hlines(requested, first - 0.45, last + 0.45, color=BLACK, lw=1.0, zorder=2)
        words = f"n = {show_float(data['n'][rows[0]])}\nε = {show_float(requested)}"
        axes.annotate(
            words,
            ((first + last) / 2.0, 0.0),
            (0, -19),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8.5,
            color=GREY,
        )
    labels.append(EndLabel(data["asked"][-1], "asked for", BLACK, is_joined=False))
    ends = [
        value
        for name, *_ in NOISES
        for end in ("low", "high")
        for value in data[f"{name}-{end}"]
    ]
    log_scale(axes, "y", min(ends) / 1.4, max(*ends, *data["asked"]) * 1.3)
    axes.set_xlim(data["x"][0] - 0.6, data["x"][-1] + 0.6)
    axes.xaxis.set_ticks(data["x"], [show_float(batch) for batch in data["batch"]])
    title = "What the printed noise buys", data.parameters
    figure = finish(axes, title, ("", "ε, from below and from above"), labels)
    axes.annotate(
        "batch",
        (0.0, 0.0),
        (-8, -7),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
        color=GREY,
    )
    return figure


def bought_caption(data: Data) -> str:
    """Return the caption, with the ratios of the resulting and the requested epsilon, and the widest bar."""
    ranges = []
    for name, _, words, _ in NOISES[:2]:
        parts = [
            high / requested
            for high, requested in zip(data[f"{name}-high"], data["asked"], strict=True)
        ]
        ranges.append(
            f"{show_float(min(parts), 2)} to {show_float(max(parts), 2)} with {words}"
        )
    widest = max(
        high / low
        for name, *_ in NOISES
        for low, high in zip(data[f"{name}-low"], data[f"{name}-high"], strict=True)
    )
    return (
        f"The exact ε of {len(data['x'])} settings with each noise lies in the bar ({data.parameters}). The lower end "
        "is the ε of one data set, and the upper end holds for all data. The upper end is at most "
        f"{show_float(widest, 3)} times the lower end. Divided by the requested ε it is {' and '.join(ranges)}."
    )
