"""What privacy each noise of an algorithm buys at several settings: both ends of epsilon, beside what is asked for."""

from __future__ import annotations

from itertools import groupby

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, BLUE, GREEN, GREY, VERMILLION, EndLabel, canvas, finish, log_scale

NOISES = (  # columns, colour, words, and where beside the tick it is drawn
    ("box", VERMILLION, "the box's noise", -0.22),
    ("theorem", BLUE, "the theorem's noise", 0.0),
    ("needed", GREEN, "the least certified", 0.22),
)
SHAPE = Shape(
    required=("x", "n", "batch", "asked", *(f"{name}-{end}" for name, *_ in NOISES for end in ("low", "high")))
)
THICK = 4.5  # of a bar, in points


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` numbers of the settings, 1, 2, ..; ``n``, ``batch`` and ``asked``, the epsilon, of each; and for
    each noise a bar from its epsilon's ``-low``, reached on some data, to ``-high``, which holds for all data.
    """
    axes = canvas(3.9, bottom=0.95)
    labels = []
    for name, color, words, aside in NOISES:
        low = data[f"{name}-low"]
        high = data[f"{name}-high"]
        axes.vlines([at + aside for at in data["x"]], low, high, color=color, lw=THICK, zorder=3)
        labels.append(EndLabel((low[-1] * high[-1]) ** 0.5, words, color, joined=False))
    groups = [list(rows) for _, rows in groupby(range(len(data["x"])), lambda at: (data["n"][at], data["asked"][at]))]
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
    labels.append(EndLabel(data["asked"][-1], "asked for", BLACK, joined=False))
    ends = [value for name, *_ in NOISES for end in ("low", "high") for value in data[f"{name}-{end}"]]
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


def caption(data: Data) -> str:
    """What the figure shows, with the parts of epsilon that the printed noises buy, and the widest bar."""
    ranges = []
    for name, _, words, _ in NOISES[:2]:
        parts = [high / requested for high, requested in zip(data[f"{name}-high"], data["asked"], strict=True)]
        ranges.append(f"{show_float(min(parts), 2)} to {show_float(max(parts), 2)} with {words}")
    widest = max(
        high / low for name, *_ in NOISES for low, high in zip(data[f"{name}-low"], data[f"{name}-high"], strict=True)
    )
    return (
        f"The exact ε of {len(data['x'])} settings with each noise lies in the bar ({data.parameters}). The lower end "
        "is the ε of one data set, and the upper end holds for all data. The upper end is at most "
        f"{show_float(widest, 3)} times the lower end. Divided by the requested ε it is {' and '.join(ranges)}."
    )
