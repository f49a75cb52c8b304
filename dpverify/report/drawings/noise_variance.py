"""Variance of the noise in the released momentum over the steps: exact law, simulation, printed and corrected bound."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpverify.report.drawings.columns import Data, Shape
from dpverify.report.style import BLACK, BLUE, GREEN, VERMILLION, EndLabel, canvas, finish, log_scale

SHAPE = Shape(
    required=("x", "exact"),
    optional=("simulated-x", "simulated", "low", "high", "printed", "corrected"),
    follows=dict.fromkeys(("simulated", "low", "high"), "simulated-x"),
)

MANY = 200  # with more steps than this the exact law is drawn as dots: its steps would be a black band


def draw(data: Data) -> Figure:
    """The figure.

    ``data``: ``x`` the steps t; ``exact`` the variance of one coordinate at each; ``simulated`` with ``low`` and
    ``high`` the mean over runs and its confidence band, at ``simulated-x`` or else at ``x``; ``printed`` and
    ``corrected`` the bounds.
    """
    axes = canvas(3.9)
    x = data["x"]
    exact = data["exact"]
    if len(x) <= MANY:
        axes.stairs(exact, [x[0] - 0.5, *(t + 0.5 for t in x)], baseline=None, color=BLACK, lw=1.4, zorder=4)
    else:
        axes.plot(x, exact, ".", ms=2.2, mec="none", mfc=BLACK, zorder=4)
    labels = [EndLabel(exact[-1], "exact law", BLACK)]
    if "simulated" in data:
        labels.extend(_simulated(axes, data))
    for name, color, dashes, text in (
        ("printed", VERMILLION, (5, 2), "printed bound"),
        ("corrected", GREEN, (5, 1.5, 1, 1.5), "corrected bound"),
    ):
        if name in data:
            axes.plot(x, data[name], color=color, lw=1.7, dashes=dashes, drawstyle="steps-mid", zorder=3)
            labels.append(EndLabel(data[name][-1], text, color))
    below = _below(data)
    for first, last in stretches(below):
        axes.axvspan(first - 0.5, last + 0.5, color=VERMILLION, alpha=0.16, lw=0, zorder=0)
    _scales(axes, data)
    shaded = "shaded where the printed bound is false" if below else ""
    title = "Noise in the released momentum, step by step", ";  ".join(filter(None, [data.parameters, shaded]))
    return finish(axes, title, ("step t", "variance of one coordinate (gradient units²)"), labels)


def caption(data: Data) -> str:
    """What the figure shows, in one sentence, with what a reader should see in it."""
    below = _below(data)
    words = {"exact": "exact law", "simulated": "simulated mean with its confidence band"}
    words |= {"printed": "printed bound", "corrected": "corrected bound"}
    descriptions = [text for name, text in words.items() if name in data]
    remark = ""
    if "printed" in data:
        steps = f"{len(below)} of {len(data['x'])} steps"
        nowhere = " No step of this run exceeds the printed bound."
        remark = f" The printed bound is below the exact law at {steps}." if below else nowhere
    return f"Variance of the noise in the released momentum over t: {', '.join(descriptions)}.{remark}"


def _simulated(axes: Axes, data: Data) -> list[EndLabel]:
    at = data["simulated-x" if "simulated-x" in data else "x"]
    mean = data["simulated"]
    if "low" in data and "high" in data:
        axes.vlines(at, data["low"], data["high"], color=BLUE, lw=2.6, alpha=0.35, zorder=5)
    axes.plot(at, mean, "o", ms=3.6, mfc="white", mec=BLUE, mew=1.1, zorder=6)
    return [EndLabel(mean[-1], "simulated mean,\nconfidence band", BLUE, joined=False)]


def _below(data: Data) -> list[float]:
    """The steps at which the printed bound is below the exact law."""
    if "printed" not in data:
        return []
    triples = zip(data["x"], data["exact"], data["printed"], strict=True)
    return [t for t, exact, printed in triples if printed < exact]


def stretches(steps: Sequence[float]) -> list[tuple[float, float]]:
    """Steps that follow on one another, as first and last."""
    ranges: list[tuple[float, float]] = []
    for t in steps:
        if ranges and t == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], t)
        else:
            ranges.append((t, t))
    return ranges


def _scales(axes: Axes, data: Data) -> None:
    names = ("exact", "low", "high", "printed", "corrected")
    drawn = [value for name in names if name in data for value in data[name]]
    positive = [value for value in drawn if value > 0]
    x = data["x"]
    axes.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    if positive and max(positive) > 30 * min(positive):
        log_scale(axes, "y", min(positive) / 1.4, max(positive) * 1.6)
    else:
        axes.set_ylim(0, max(positive, default=1.0) * 1.12)
