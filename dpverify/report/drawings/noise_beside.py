"""The noise of a method that builds on its last estimate, over the steps, beside that of one that draws it afresh."""

from __future__ import annotations

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREY, ORANGE, VERMILLION, WIDTH, log_scale

LINES = (  # end of the columns' names, colour, dashes, words
    ("srm", BLUE, (1, 0), "DP-SRM"),
    ("wide", VERMILLION, (5, 2), "DP-SGD, batches of 2b"),
    ("long", ORANGE, (5, 1.5, 1, 1.5), "DP-SGD, twice the steps on b"),
)
PANELS = (("one", "of one estimate"), ("mean", "of the mean of all so far"))
SHAPE = Shape(required=("x", *(f"{panel}-{line}" for panel, _ in PANELS for line, *_ in LINES)))
# inches
HEIGHT = 3.6
LEFT = 0.85
RIGHT = 0.15
BOTTOM = 0.95
TOP = 0.95
GAP = 0.2


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` the steps t of DP-SRM; of each method, after as many gradients, ``one-`` the variance of a
    coordinate of the noise in its last estimate, and ``mean-`` in the mean of all its estimates, in units of G^2.
    """
    figure = Figure(figsize=(WIDTH, HEIGHT))
    wide = (WIDTH - LEFT - RIGHT - GAP) / 2
    drawn = [value for name in SHAPE.required[1:] for value in data[name]]
    for place, (panel, title) in enumerate(PANELS):
        left = (LEFT + place * (wide + GAP)) / WIDTH
        axes = figure.add_axes((left, BOTTOM / HEIGHT, wide / WIDTH, (HEIGHT - BOTTOM - TOP) / HEIGHT))
        for line, color, dashes, words in LINES:
            axes.plot(data["x"], data[f"{panel}-{line}"], color=color, lw=1.6, dashes=dashes, label=words)
        axes.set_title(title, fontsize=9, pad=4)
        axes.set_xlabel("step t of DP-SRM")
        log_scale(axes, "x", data["x"][0], data["x"][-1])
        log_scale(axes, "y", min(drawn) / 1.5, max(drawn) * 1.5)
        axes.tick_params(labelleft=place == 0)
        if place == 0:
            axes.set_ylabel("variance of a coordinate (G²)")
            figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False, fontsize=8.5)
    x = 0.1 / WIDTH
    title = "Noise at the same number of gradients and the same privacy"
    figure.text(x, 1 - 0.1 / HEIGHT, title, va="top", fontsize=10.5, fontweight="bold")
    figure.text(x, 1 - 0.32 / HEIGHT, data.parameters, va="top", fontsize=8.5, color=GREY)
    return figure


def caption(data: Data) -> str:
    """What the figure shows: the noise at the end as multiples of DP-SGD's, of one estimate and of the mean of all."""
    ends = {name: data[name][-1] for name in SHAPE.required[1:]}
    least = {panel: min(ends[f"{panel}-wide"], ends[f"{panel}-long"]) for panel, _ in PANELS}
    single, mean = (show_float(ends[f"{panel}-srm"] / least[panel], 3) for panel, _ in PANELS)
    return (
        f"Noise variance of DP-SRM and of two forms of DP-SGD over the steps, each with the least certified noise "
        f"({data.parameters}). After {show_float(data['x'][-1])} steps of DP-SRM, the variance of its last estimate is "
        f"{single} times that of the better DP-SGD. For the mean of all estimates the factor is {mean}."
    )
