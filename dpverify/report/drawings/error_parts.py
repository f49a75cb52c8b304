"""Error of the momentum over the steps in parts, each on the worst problem known for it and beside its bounds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, GREEN, GREY, VERMILLION, WIDTH, logarithmic

PANELS = (
    ("start-up", "start-up bias"),
    ("sampling", "sampling noise"),
    ("drift", "drift from anchors"),
    ("lag", "lag of the momentum"),
    ("reconstruction", "reconstruction bias"),
    ("noise", "privacy noise"),
)
"""End of the columns' names, and what stands over the panel."""

KINDS = (("printed", VERMILLION, (5, 2)), ("corrected", GREEN, (5, 1.5, 1, 1.5)))

SHAPE = Shape(
    required=("x", *(f"{kind}-{part}" for part, _ in PANELS for kind in ("attained", "corrected"))),
    optional=tuple(f"printed-{part}" for part, _ in PANELS),
)

LEFT, RIGHT, TOP, BOTTOM, GAP_X, GAP_Y, HEIGHT = 0.7, 0.15, 1.0, 0.5, 0.16, 0.42, 5.15
"""Inches."""

DEEP = 500.0
"""How far the axes go down below the largest bound."""


def draw(data: Data) -> Figure:
    """The figure.

    Parameters
    ----------
    data : Data
        ``x`` the steps t; for each part ``attained-`` its size on that problem, ``corrected-`` its bound, and
        ``printed-`` the printed bound where there is one, in units of the gradient.

    Returns
    -------
    Figure
        Six panels with the same axes, the error on a logarithmic one.
    """
    figure = Figure(figsize=(WIDTH, HEIGHT))
    wide = (WIDTH - LEFT - RIGHT - 2 * GAP_X) / 3
    tall = (HEIGHT - TOP - BOTTOM - GAP_Y) / 2
    high = 2 * max(max(data.get(f"{kind}-{part}"), default=0.0) for kind, *_ in KINDS for part, _ in PANELS)
    high = high if high > 0 else 1.0
    for place, (part, title) in enumerate(PANELS):
        column, row = place % 3, place // 3
        left, bottom = LEFT + column * (wide + GAP_X), BOTTOM + (1 - row) * (tall + GAP_Y)
        axes = figure.add_axes((left / WIDTH, bottom / HEIGHT, wide / WIDTH, tall / HEIGHT))
        _panel(axes, data, part)
        axes.set_title(title, fontsize=9, pad=4)
        axes.set_ylim(high / DEEP, high)
        axes.set_yscale("log")
        logarithmic(axes.yaxis, high / DEEP, high)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        axes.tick_params(labelleft=column == 0, labelbottom=row == 1)
        if row == 1:
            axes.set_xlabel("step t")
    title = "Error of the momentum, part by part"
    figure.text(0.1 / WIDTH, 1 - 0.1 / HEIGHT, title, va="top", fontsize=10.5, fontweight="bold")
    lines = "in units of G;  black: attained, red: printed bound, green: corrected"
    for line, words in enumerate((lines, data.parameters)):
        figure.text(0.1 / WIDTH, 1 - (0.32 + 0.18 * line) / HEIGHT, words, va="top", fontsize=8.5, color=GREY)
    return figure


def caption(data: Data) -> str:
    """What the figure shows, with the room that the corrected bounds leave at least, and a part without a print."""
    told = []
    for part, title in PANELS:
        pairs = zip(data[f"corrected-{part}"], data[f"attained-{part}"], strict=True)
        told.append(f"{title} {show_float(min((b / a for b, a in pairs if a > 0), default=0.0), 3)}")
    missing = [title for part, title in PANELS if f"printed-{part}" not in data]
    without = f" No bound is printed for {' and '.join(missing)}." if missing else ""
    return (
        f"Error of the momentum over t, each part exactly on the worst problem known for it (sampling and "
        "reconstruction as root mean squares). Corrected bound divided "
        f"by the largest part: {', '.join(told)}.{without}"
    )


def _panel(axes: Axes, data: Data, part: str) -> None:
    x, attained = data["x"], data[f"attained-{part}"]
    shown = [(t, value) for t, value in zip(x, attained, strict=True) if value > 0]
    if shown:
        axes.plot(*zip(*shown, strict=True), ".", ms=2.4, mec="none", mfc=BLACK, zorder=4)
    for kind, color, dashes in KINDS:
        if (name := f"{kind}-{part}") in data:
            axes.plot(x, data[name], color=color, lw=1.5, dashes=dashes, zorder=3)
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
