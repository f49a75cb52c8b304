"""Epsilon of several runs four times: as printed, from the proof's Renyi bound, exact, and audited from below."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.figure import Figure

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.numbers import show_float
from dpverify.report.style import BLUE, GREEN, LIGHT, ORANGE, VERMILLION, EndLabel, canvas, finish, log_scale

LAYERS = (  # columns, colours, markers and words, from the largest to the smallest value
    ("printed", VERMILLION, "s", "printed"),
    ("proof", ORANGE, "^", "the proof's\nRényi bound"),
    ("exact", BLUE, "o", "exact"),
    ("audited", GREEN, "D", "audited,\nlower bound"),
)

SHAPE = Shape(required=("x", *(name for name, *_ in LAYERS)))


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` numbers of the runs, and their epsilon in each column; an audit that shows nothing is 0, left out.
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
        points = [(at, value) for at, value in zip(x, data[name], strict=True) if value > 0.0]
        if points:
            axes.plot(
                *zip(*points, strict=True), marker=marker, ms=5, mfc="white", mec=color, mew=1.4, ls="none", zorder=3
            )
            labels.append(EndLabel(points[-1][1], words, color, joined=False))
    log_scale(axes, "y", low, high)
    axes.set_xlim(min(x) - 0.5, max(x) + 0.5)
    axes.xaxis.set_ticks(x, [show_float(at) for at in x])
    title = "How much privacy a run has", data.parameters or f"{len(x)} runs"
    return finish(axes, title, ("run", "ε"), labels)


def caption(data: Data) -> str:
    """What the figure shows, with the gaps, and whether the order is as it must be."""
    upset = sum(
        less > larger for (a, *_), (b, *_) in pairwise(LAYERS) for larger, less in zip(data[a], data[b], strict=True)
    )
    gaps = [printed / exact for printed, exact in zip(data["printed"], data["exact"], strict=True) if exact > 0.0]
    order = f"; the order is upset {upset} times" if upset else ""
    return (
        f"Epsilon of {len(data['x'])} runs: the printed value is {show_float(min(gaps))} to {show_float(max(gaps))} "
        f"times the exact one{order}."
    )
