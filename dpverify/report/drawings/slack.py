"""How far a printed bound is from the exact value: printed / exact over a parameter, with the line at 1."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape, symbol
from dpverify.report.labels import EndLabel, end_labels
from dpverify.report.numbers import show_float
from dpverify.report.style import (
    BLACK,
    BLUE,
    GREEN,
    VERMILLION,
    canvas,
    heading,
    logarithmic,
    root,
)

SHAPE = Shape(required=("x", "ratio"), optional=("corrected",))


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` a parameter or the number of a case; ``ratio`` printed / exact there, positive; ``corrected`` the
    same for the corrected bound. An ``x`` may occur several times. Fixed in size; the ratio on a logarithmic axis.
    """
    axes = canvas(3.4)
    labels = []
    for name, color, marker, text in (
        ("ratio", BLUE, "o", "printed / exact"),
        ("corrected", GREEN, "D", "corrected / exact"),
    ):
        if name in data:
            points = sorted(zip(data["x"], data[name], strict=True))
            lowest = {x: min(y for at, y in points if at == x) for x, _ in points}
            several = len(lowest) < len(points)
            if several:
                axes.plot(
                    *zip(*points, strict=True), marker, ms=3, mfc="none", mec=color, mew=0.7, alpha=0.45, ls="none"
                )
            axes.plot(
                list(lowest), list(lowest.values()), marker=marker, ms=4, mfc="white", mec=color, color=color, lw=1.4
            )
            labels.append(EndLabel(list(lowest.values())[-1], f"{text},\nsmallest" if several else text, color))
    values = [*data["ratio"], *data.get("corrected")]
    low, high = min(0.8, min(values) / 1.3), max(1.5, max(values) * 1.3)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    logarithmic(axes.yaxis, low, high)
    places = data["x"]
    if min(places) > 0 and max(places) > 30 * min(places):
        axes.set_xscale("log")
        logarithmic(axes.xaxis, min(places), max(places))
    axes.axhspan(low, 1, color=VERMILLION, alpha=0.1, lw=0, zorder=0)
    axes.axhline(1, color=BLACK, lw=0.9)
    labels.append(EndLabel(low**0.5, "the bound is false", VERMILLION, joined=False))
    axes.set_xlabel(symbol(data.x_name) or "parameter")
    axes.set_ylabel("bound / exact value")
    heading(axes, "Slack of the bound", data.parameters or f"{len(data['x'])} points")
    end_labels(axes, labels)
    return root(axes)


def caption(data: Data) -> str:
    """What the figure shows, with the extremes."""
    ratio = data["ratio"]
    false = sum(value < 1 for value in ratio)
    where = f"; below 1 at {false} of {len(ratio)} points, where the printed bound is false" if false else ""
    extremes = f"from {show_float(min(ratio))} to {show_float(max(ratio))}"
    return f"Printed bound divided by the exact value, {extremes}{where}."
