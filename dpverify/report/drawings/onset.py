"""Bounds of a utility theorem over N against the trivial bound, and a table of where each falls below it."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.labels import EndLabel, end_labels
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, BLUE, GREEN, GREY, VERMILLION, canvas, heading, logarithmic, root

KINDS = (
    ("printed", VERMILLION, (5, 2), "printed"),
    ("corrected", GREEN, (), "corrected"),
    ("needed", BLUE, (5, 1.5, 1, 1.5), "corrected,\nleast certified noise"),
)
CELLS = ("cell-d", "cell-epsilon", "cell-printed", "cell-corrected", "cell-needed")
HEADS = ("d", "ε", "printed", "corrected", "least certified noise")
PLACES = (0.06, 0.16, 0.34, 0.56, 0.84)
"""Where the columns of the table stand, as parts of the axes' width."""

SHAPE = Shape(
    required=("x", "printed", "corrected", "needed-x", "needed", *CELLS),
    follows={"needed": "needed-x", **dict.fromkeys(CELLS[1:], CELLS[0]), "needed-x": "needed-x", "cell-d": "cell-d"},
)

LINE = 14.0
"""Height of a row of the table in points."""


def draw(data: Data) -> Figure:
    """The figure.

    Parameters
    ----------
    data : Data
        ``x`` numbers of examples, increasing, with the bounds ``printed`` and ``corrected`` in units of G; ``needed``
        the corrected bound with less noise, over its own ``needed-x``. The columns ``cell-`` are the table: d,
        epsilon, and the N from which each bound is below 1.

    Returns
    -------
    Figure
        Both axes logarithmic, the trivial bound as a black line, the table below.
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
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(data["x"][0], data["x"][-1])
    axes.set_ylim(low, high)
    logarithmic(axes.xaxis, data["x"][0], data["x"][-1])
    logarithmic(axes.yaxis, low, high)
    axes.set_xlabel("N, examples")
    axes.set_ylabel("bound on the gradient / G")
    heading(axes, "From which N on the theorem says something", data.parameters)
    end_labels(axes, labels)
    text = [("below G from N =", 0.0, 0, GREY)]
    text += [(word, place, 1, GREY) for word, place in zip(HEADS, PLACES, strict=True)]
    for number, row in enumerate(rows):
        text += [(_words(value), place, number + 2, BLACK) for value, place in zip(row, PLACES, strict=True)]
    for word, place, line, color in text:
        axes.annotate(
            word,
            (place, 0),
            xytext=(0, -44 - LINE * line),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8.5,
            color=color,
            ha="left" if line == 0 else "center",
        )
    return root(axes)


def caption(data: Data) -> str:
    """What the figure shows, with the onsets of the first row and of the hardest one."""
    hardest = max(range(len(data["cell-d"])), key=lambda row: data["cell-corrected"][row])
    return (
        f"The theorem's bound divided by G over N ({data.parameters}; G = L = R = 1), printed, corrected, and with the "
        "least noise that is certified to be enough. In the hardest row of the table, d = "
        f"{show_float(data['cell-d'][hardest])} and "
        f"ε = {show_float(data['cell-epsilon'][hardest])}, they are below the trivial bound from N = "
        f"{_words(data['cell-printed'][hardest])}, {_words(data['cell-corrected'][hardest])} and "
        f"{_words(data['cell-needed'][hardest])} on."
    )


def _words(value: float) -> str:
    return show_float(float(f"{value:.2g}"))
