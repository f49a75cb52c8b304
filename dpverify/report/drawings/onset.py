"""Bounds of a utility theorem over N against the trivial bound, and a table of where each falls below it."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINE,
    VERMILLION,
    EndLabel,
    canvas,
    finish,
    log_scale,
    write_below,
)

KINDS = (
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (), "corrected"),
    ("needed", BLUE, (5, 1.5, 1, 1.5), "corrected,\nthe noise needed"),
)
CELLS = (
    "cell-d", "cell-epsilon", "cell-delta", "cell-L", "cell-R",
    "cell-printed", "cell-corrected", "cell-needed", "cell-least",
)  # fmt: skip
HEADS = ("d", "ε", "δ", "L/G", "R/G", "printed", "corrected", "the noise needed")
PLACES = (0.04, 0.13, 0.23, 0.33, 0.43, 0.57, 0.73, 0.91)  # columns of the table, as parts of the width

SHAPE = Shape(
    required=("x", "printed", "corrected", "needed-x", "needed", *CELLS),
    follows={"needed": "needed-x", **dict.fromkeys(CELLS[1:], CELLS[0]), "needed-x": "needed-x", "cell-d": "cell-d"},
)

SETTINGS = 5  # so many columns of the table say what is asked; their most common values are grey


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` numbers of examples, increasing, with the bounds ``printed`` and ``corrected`` in units of G;
    ``needed`` the corrected bound with less noise, over its own ``needed-x``. The columns ``cell-`` are the table: d,
    epsilon, delta, L/G, R/G, and the N from which each bound is below 1: with the noise needed for an upper and for a
    lower bound of it. Both axes logarithmic, the trivial bound as a black line, the table below.
    """
    rows = list(zip(*(data[name] for name in CELLS), strict=True))
    axes = canvas(3.9 + (len(rows) + 2) * LINE / 72, bottom=0.75 + (len(rows) + 2) * LINE / 72)
    values = [value for name, *_ in KINDS for value in data[name]]
    low, high = min(*values, 1.0) / 1.5, max(values) * 1.5
    labels = [EndLabel(1.0, "trivial bound G", BLACK)]
    for name, color, dashes, words in KINDS:
        x = data["needed-x"] if name == "needed" else data["x"]
        axes.plot(x, data[name], color=color, lw=1.6, dashes=dashes or (1, 0), zorder=3)
        if name == "needed":
            end = (x[-1], data[name][-1])
            axes.plot(*end, ".", ms=6, color=color, zorder=3)
            axes.annotate(
                words, end, (-7, 1), textcoords="offset points", color=color, fontsize=8.5, ha="right", va="top"
            )
        else:
            labels.append(EndLabel(data[name][-1], words, color))
    axes.axhline(1.0, color=BLACK, lw=1.0, zorder=2)
    log_scale(axes, "x", data["x"][0], data["x"][-1])
    log_scale(axes, "y", low, high)
    title = "From which N on the theorem says something", data.parameters
    figure = finish(axes, title, ("N, examples", "bound on the gradient / G"), labels)
    write_below(axes, [("below G from N =", PLACES[SETTINGS] - 0.06, 0, GREY)], down=44, ha="left")
    text = [(word, place, 1, GREY) for word, place in zip(HEADS, PLACES, strict=True)]
    usual = [max(data[name], key=list(data[name]).count) for name in CELLS[:SETTINGS]]
    for number, row in enumerate(rows):
        shown = [*(_words(value) for value in row[:-2]), _range(row[-1], row[-2])]
        for column, (word, place) in enumerate(zip(shown, PLACES, strict=True)):
            common = column < SETTINGS and row[column] == usual[column]
            text.append((word, place, number + 2, GREY if common else BLACK))
    write_below(axes, text, down=44)
    return figure


def caption(data: Data) -> str:
    """What the figure shows, with the onsets of the hardest row."""
    hardest = max(range(len(data["cell-d"])), key=lambda row: data["cell-corrected"][row])
    d, epsilon, delta, smooth, gap, printed, corrected, needed, least = (data[name][hardest] for name in CELLS)
    return (
        f"The theorem's bound divided by G over N ({data.parameters}; G = L = R = 1), printed, corrected, and with "
        "just the noise that the accountant asks for. The bounds scale with G, L and R together: only L/G and "
        f"R/G matter. In the hardest row of the table, d = {show_float(d)}, ε = {show_float(epsilon)}, "
        f"δ = {show_float(delta)}, L/G = {show_float(smooth)} and R/G = {show_float(gap)}, they are below the trivial "
        f"bound from N = {_words(printed)}, {_words(corrected)} and {_range(least, needed)} on."
    )


def _range(low: float, high: float) -> str:
    """One number where both are the same, else both."""
    return _words(high) if low == high else f"{_words(low)} to {_words(high)}"


def _words(value: float) -> str:
    return show_float(float(f"{value:.2g}"))
