"""The figure of a comparison: four panels, methods side by side, means and intervals over seeds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.compare.records import MEASURES, CompareResult
from dpverify.compare.words import HEADS
from dpverify.report import style
from dpverify.report.numbers import show_float

HEIGHT = 5.6
# margins in inches
LEFT = 0.5
RIGHT = 0.15
TOP = 0.85
BOTTOM = 0.72
GAP = 0.55
ROOM = 0.5
COLORS = (style.GREY, style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.SKY)


def draw(result: CompareResult) -> Figure:
    """Draw the measures, two by two: every seed as a pale dot, the mean as a full one, its interval as a line."""
    figure = Figure(figsize=(style.WIDTH, HEIGHT))
    width = (style.WIDTH - LEFT - RIGHT - GAP) / 2
    tall = (HEIGHT - TOP - BOTTOM - ROOM) / 2
    for place, measure in enumerate(MEASURES):
        row, column = divmod(place, 2)
        left = LEFT + column * (width + GAP)
        bottom = BOTTOM + (1 - row) * (tall + ROOM)
        axes = figure.add_axes((left / style.WIDTH, bottom / HEIGHT, width / style.WIDTH, tall / HEIGHT))
        _panel(axes, result, measure, named=row == 1)
    heading = f"Methods compared on {result.data.name}"
    figure.text(0.12 / style.WIDTH, 1 - 0.2 / HEIGHT, heading, fontsize=10.5, fontweight="bold", va="center")
    figure.text(0.12 / style.WIDTH, 1 - 0.42 / HEIGHT, subtitle(result), fontsize=8.5, color=style.GREY, va="center")
    return figure


def _panel(axes: Axes, result: CompareResult, measure: str, *, named: bool) -> None:
    for place, (method, color) in enumerate(zip(result.methods, COLORS, strict=True)):
        values = [float(getattr(outcome, measure)) for outcome in method.outcomes]
        axes.plot([place - 0.22] * len(values), values, ".", color=color, alpha=0.3, markersize=4, clip_on=False)
        mean_interval = method.means[measure]
        if mean_interval.low is not None and mean_interval.high is not None:
            around = [[mean_interval.mean - mean_interval.low], [mean_interval.high - mean_interval.mean]]
            axes.errorbar(
                [place], [mean_interval.mean], yerr=around, color=color, linewidth=1.4, capsize=4, capthick=1.2
            )
        axes.plot([place], [mean_interval.mean], "o", color=color, markersize=3)
    axes.set_title(HEADS[measure], fontsize=9.0, fontweight="normal", pad=6)
    names = [method.name if named else "" for method in result.methods]
    axes.set_xticks(range(len(result.methods)), names, rotation=40, ha="right")
    axes.tick_params(axis="x", pad=1)
    axes.set_xlim(-0.6, len(result.methods) - 0.4)
    axes.set_ylim(0, 1.06 * max(axes.dataLim.ymax, 1e-12))
    axes.grid(visible=False, axis="x")


def subtitle(result: CompareResult) -> str:
    """Say in one line what is shown, and what its privacy is."""
    budget = f"ε = {show_float(result.epsilon, 3)}, δ = {show_float(result.delta, 3)}"
    seeds = f"{result.done} seeds: dots; mean, 95% interval" if result.done > 1 else "1 seed, no interval"
    uncertified = " (not certified)" if result.data.standardised else ""
    return f"N = {result.data.n}, d = {result.data.d}; {seeds}; all but nsgd at {budget}{uncertified}"


def svg(result: CompareResult) -> bytes:
    """Draw the comparison as SVG, the same bytes for the same numbers."""
    title = f"Methods compared on {result.data.name}: gradient norm, training loss and test error"
    return style.to_svg(lambda: draw(result), title)
