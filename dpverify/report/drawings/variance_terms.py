"""Variance of the noise in Algorithm 2's momentum over the steps, its five terms apart, each beside its bounds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLACK, GREEN, GREY, VERMILLION, WIDTH, logarithmic

PANELS = (
    ("1", "1  prefix, G"),
    ("2", "2  first window, G"),
    ("3", "3  windows, γ G"),
    ("4", "4  windows, (1−γ) Δ"),
    ("5", "5  drift, r"),
    ("total", "all five"),
)
"""End of the columns' names, and what stands over the panel."""

KINDS = (("printed", VERMILLION, (5, 2)), ("corrected", GREEN, (5, 1.5, 1, 1.5)))

SHAPE = Shape(
    required=("x", *(f"exact-{part}" for part, _ in PANELS)),
    optional=tuple(f"{kind}-{part}" for kind, *_ in KINDS for part, _ in PANELS),
)

LEFT, RIGHT, TOP, BOTTOM, GAP_X, GAP_Y, HEIGHT = 0.7, 0.15, 0.85, 0.5, 0.16, 0.42, 5.0
"""Inches."""


def draw(data: Data) -> Figure:
    """The figure.

    Parameters
    ----------
    data : Data
        ``x`` the steps t; for each of the five terms, and for their sum, ``exact-`` the variance of one coordinate
        at each step, ``printed-`` and ``corrected-`` the bounds.

    Returns
    -------
    Figure
        Six panels with the same axes, the variance on a logarithmic one.
    """
    figure = Figure(figsize=(WIDTH, HEIGHT))
    wide = (WIDTH - LEFT - RIGHT - 2 * GAP_X) / 3
    tall = (HEIGHT - TOP - BOTTOM - GAP_Y) / 2
    low, high = _range(data)
    for place, (part, title) in enumerate(PANELS):
        column, row = place % 3, place // 3
        left, bottom = LEFT + column * (wide + GAP_X), BOTTOM + (1 - row) * (tall + GAP_Y)
        axes = figure.add_axes((left / WIDTH, bottom / HEIGHT, wide / WIDTH, tall / HEIGHT))
        _panel(axes, data, part)
        axes.set_title(title, fontsize=9, pad=4)
        axes.set_ylim(low, high)
        axes.set_yscale("log")
        logarithmic(axes.yaxis, low, high)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        axes.tick_params(labelleft=column == 0, labelbottom=row == 1)
        if row == 1:
            axes.set_xlabel("step t")
    figure.text(
        0.1 / WIDTH,
        1 - 0.1 / HEIGHT,
        "Noise in the momentum of Algorithm 2, term by term",
        va="top",
        fontsize=10.5,
        fontweight="bold",
    )
    lines = "variance of one coordinate;  black: exact, red: printed, green: corrected"
    figure.text(
        0.1 / WIDTH,
        1 - 0.32 / HEIGHT,
        ";  ".join(filter(None, [lines, data.parameters])),
        va="top",
        fontsize=8.5,
        color=GREY,
    )
    return figure


def caption(data: Data) -> str:
    """What the figure shows, with the room that the bounds leave at most."""
    told = []
    for part, _ in PANELS:
        if f"printed-{part}" in data:
            pairs = zip(data[f"printed-{part}"], data[f"exact-{part}"], strict=True)
            least = min((bound / exact for bound, exact in pairs if exact > 0), default=0.0)
            told.append(f"{'all five' if part == 'total' else f'term {part}'} {show_float(least)}")
    room = f" Printed bound divided by the largest exact value: {', '.join(told)}." if told else ""
    return f"Variance of the noise in Algorithm 2's momentum over t, its five terms apart.{room}"


def _panel(axes: Axes, data: Data, part: str) -> None:
    x, exact = data["x"], data[f"exact-{part}"]
    shown = [(t, value) for t, value in zip(x, exact, strict=True) if value > 0]
    if shown:
        axes.plot(*zip(*shown, strict=True), ".", ms=2.4, mec="none", mfc=BLACK, zorder=4)
    for kind, color, dashes in KINDS:
        if (name := f"{kind}-{part}") in data:
            axes.plot(x, data[name], color=color, lw=1.5, dashes=dashes, zorder=3)
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)


def _range(data: Data) -> tuple[float, float]:
    """From a thousandth of the largest exact total, or less where a whole term is smaller, to above all bounds."""
    tops = [max(data[f"exact-{part}"]) for part, _ in PANELS]
    lowest = min([top for top in tops if top > 0], default=1.0)
    highest = max(
        [*tops, *(max(data[f"{kind}-{part}"]) for kind, *_ in KINDS for part, _ in PANELS if f"{kind}-{part}" in data)]
    )
    return min(lowest / 10, max(tops) / 1000) if highest > 0 else 0.1, max(highest, 1e-300) * 2
